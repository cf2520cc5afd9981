"""The command line: one app of all commands, each of which has a file of its own."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from csad import __version__
from csad.cli.commands.audit import audit
from csad.cli.commands.cache import cache
from csad.cli.commands.demo import demo
from csad.cli.commands.doctor import doctor
from csad.cli.commands.evaluate import evaluate
from csad.cli.commands.export import export
from csad.cli.commands.list import list_
from csad.cli.commands.predict import predict
from csad.cli.commands.report import report
from csad.cli.commands.reproduce import reproduce
from csad.cli.commands.simulate import simulate
from csad.cli.commands.train import train
from csad.cli.console import echo


class Once(TyperCommand):
    """A command that refuses an option given twice, where the later value would silently replace the earlier one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, unless an option that takes one value occurs again."""
        _, _, parsed = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(parsed).items():
            single = isinstance(param, TyperOption) and not (param.multiple or param.is_flag)
            if single and times > 1 and not ctx.resilient_parsing:  # a shell that completes parses resiliently
                ctx.fail(f"{param.opts[0]} is given {times} times, but takes one value. Give it once.")
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Train models that do not lean on a known bias, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(requested: bool) -> None:
    if requested:
        echo(f"csad {__version__}")
        raise typer.Exit


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the file and the line of code that Python would add."""
    echo(f"csad: warning: {message}", err=True)


@app.callback()
def csad(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Train models that do not lean on a known bias, and prove it."""
    warnings.showwarning = _show_warning


command = partial(app.command, cls=Once)
for each in (demo, train, audit, report, predict, export, evaluate, reproduce, simulate, cache, doctor):
    command()(each)
command("list")(list_)
