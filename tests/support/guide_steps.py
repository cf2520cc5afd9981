"""The steps of a guide, taken in order: its Python is run, its commands are typed."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from typer.testing import CliRunner

from csad.cli import app
from csad.registry import Registry
from tests.support.paths import GUIDES

BLOCK = re.compile(r"```(python)?\n(.*?)```", flags=re.S)


def follow(guide: str, *, smaller: Callable[[str], str], shorter: Callable[[list[str]], Sequence[str]]) -> list[str]:
    """Does what a guide says, in the present folder, and gives the commands' names; each must end well.

    ``smaller`` changes the text of a block, ``shorter`` gives more words for a command, so that it all takes seconds.
    """
    done = []
    for language, text in BLOCK.findall((GUIDES / guide).read_text(encoding="utf-8")):
        text = smaller(text)
        if language:
            exec(compile(text, guide, "exec"), {"__name__": "guide"})
            continue
        for line in text.splitlines():
            name, *words = shlex.split(line, comments=True)
            assert name == "csad", line
            result = CliRunner().invoke(app, [*words, *shorter(words), "--quiet"])
            assert result.exit_code == 0, f"{line}\n{result.output}"
            done.append(words[0])
    return done


def built_in(registry: Registry) -> dict[str, Any]:
    """The class or function of each name, but for those that an example in a document has registered."""
    found = {}
    for name in registry.names():
        made: Any = registry[name]
        while hasattr(made, "func"):  # a variant with other defaults
            made = made.func
        if made.__module__.startswith("csad."):
            found[name] = made
    return found


def training_words(**settings: object) -> list[str]:
    """Settings of training as words of the command line."""
    return [word for name, value in settings.items() for word in ("--set", f"train.{name}={value}")]


BRIEF = training_words(target_epochs=1, bias_epochs=1, estimator_epochs=1, epochs=1, batch_size=32)


def fewer(*changes: tuple[str, str]) -> Callable[[str], str]:
    """What makes the blocks of a guide smaller; the first block must have the first of what is replaced."""
    seen: list[str] = []

    def change(block: str) -> str:
        assert seen or changes[0][0] in block
        seen.append(block)
        for old, new in changes:
            block = block.replace(old, new)
        return block

    return change


def brief(words: list[str]) -> list[str]:
    """What makes a training short, and an audit quick: the steps stay the same."""
    if words[0] == "train":
        named = words[words.index("--method") + 1] if "--method" in words else "csad"
        inner = ["--set", "inner_steps=1"] if named == "csad" else []
        return [*BRIEF, *inner, "--device", "cpu"]
    return ["--rows", "150"] if words[0] == "audit" else []
