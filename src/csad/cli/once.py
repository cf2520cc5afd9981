"""A command of which each option that takes one value may be given once: a second one would take its place unseen."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption


class Once(TyperCommand):
    """A command that refuses what else would be overridden without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words as options, unless one of them is given again."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(given).items():
            single = isinstance(param, TyperOption) and not (param.multiple or param.is_flag)
            if single and times > 1 and not ctx.resilient_parsing:  # as while a shell completes
                ctx.fail(f"{param.opts[0]} is given {times} times, but takes one value: give it once.")
        return super().parse_args(ctx, args)
