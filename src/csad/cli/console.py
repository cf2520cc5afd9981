"""Output for the user: progress and advice on stderr, one answer on stdout, each error as one sentence."""

from __future__ import annotations

import errno
import functools
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer

from csad.data.events import listen
from csad.errors import Diverged, InputError, Interrupted
from csad.messages import message
from csad.printable import printable
from csad.runs.listeners import Listener

if TYPE_CHECKING:
    from rich.progress import Progress

    from csad.methods.method import Stage
    from csad.training.checkpoint import Place

P = ParamSpec("P")
R = TypeVar("R")
NO_MEMORY = ("can't allocate memory", "out of memory")  # torch's words, for the CPU and for a GPU
# Errors of a disk that is full, broken or read-only: the program cannot help it.
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
PLAIN_EVERY = 5.0  # seconds between lines of progress, if stderr is no terminal


def echo(text: str, *, err: bool = False) -> None:
    """Print a line. All output goes through here or a table: otherwise a name in a file could hide or forge it."""
    typer.echo(printable(text), err=err)


def echo_traceback(error: BaseException) -> None:
    """Print the traceback of an error that csad did not expect; its message stays on one line."""
    chain = [traceback.TracebackException.from_exception(error)]
    while cause := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__):
        chain.append(cause)
    for part in reversed(chain):
        echo("Traceback (most recent call last):", err=True)
        for line in "".join(part.stack.format()).splitlines():
            echo(line, err=True)
        echo("".join(part.format_exception_only()).rstrip("\n"), err=True)


def one_sentence(command: Callable[P, R]) -> Callable[P, R]:
    """Wrap a command to print its errors as one sentence. Exit code: 2 for wrong input, 130 for Ctrl-C, else 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except InputError as error:
            raise _fail(str(error), 2, kwargs) from None
        except KeyboardInterrupt as stop:
            raise _fail(f"Stopped. {stop if isinstance(stop, Interrupted) else ''}".strip(), 130, kwargs) from None
        except Diverged as error:
            raise _fail(str(error), 1, kwargs) from None
        except (MemoryError, RuntimeError) as error:
            if not isinstance(error, MemoryError) and not any(words in str(error) for words in NO_MEMORY):
                raise
            raise _fail(message("memory-too-small"), 2, kwargs) from None
        except OSError as error:
            if error.errno not in DISK:
                raise
            place = error.filename or "The output"
            full = error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM)
            facts = {"place": place, "reason": error.strerror}
            sentence = message("disk-failed", **facts) if full else message("output-not-permitted", **facts)
            raise _fail(sentence, 1 if full else 2, kwargs) from None

    return guarded


def _fail(sentence: str, code: int, options: Mapping[str, Any]) -> typer.Exit:
    sentence = " ".join(sentence.splitlines())
    echo(f"csad: {sentence}", err=True)
    if options.get("as_json"):
        echo(json.dumps({"error": sentence, "exit": code}))
    return typer.Exit(code)


class Console(Listener):
    """Show a command's progress and answer as the user chose: as text, as JSON, or quietly."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.title = ""
        self._bar: Progress | None = None
        self._said = 0.0
        listen(progress=self.message)  # of long work on data

    def message(self, text: str) -> None:
        """Show a line of progress."""
        if not self.quiet:
            echo(text, err=True)

    def notice(self, text: str) -> None:
        """Show what the user may not expect, even with --quiet, unless the JSON answer has it."""
        if not (self.quiet and self.as_json):
            echo(text, err=True)

    def answer(self, value: Mapping[str, Any], show: Callable[[], None]) -> None:
        """Print the command's result: the value as one JSON object, or what ``show`` prints."""
        if self.as_json:
            echo(json.dumps(value))
        else:
            show()

    def tell_lost(self, runs: Sequence[str]) -> None:
        """If runs diverged, name them and exit with 1, because the result is incomplete."""
        if runs:
            lost = message("runs-lost", runs=", ".join(runs))
            echo(f"csad: {lost}", err=True)
            raise typer.Exit(1)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table on stdout, with columns of numbers aligned to the right."""
        from rich.console import Console as Rich
        from rich.table import Table

        table = Table(title=printable(title), title_justify="left", title_style="bold", header_style="bold")
        for k, column in enumerate(columns):
            numbers = all(_is_number(row[k]) for row in rows)
            table.add_column(printable(column), justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(printable, row))
        # A pipe has no width: a table there is as wide as it needs to be.
        Rich(width=None if sys.stdout.isatty() else 160, markup=False, emoji=False).print(table)

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """Show a bar in a terminal, or a line every few seconds elsewhere."""
        if self.quiet:
            return
        done = place.step + 1
        figures = "  ".join(f"{name} {value:.3f}" for name, value in losses.items())
        if sys.stderr.isatty():
            self._show_bar(stage.name, done, steps, figures)
        elif time.monotonic() - self._said > PLAIN_EVERY or done == steps:
            self._said = time.monotonic()
            self.message(f"{self.title} {stage.name} {done}/{steps}  {figures}")

    def _show_bar(self, stage: str, done: int, steps: int, figures: str) -> None:
        from rich.console import Console as Rich
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        title = printable(self.title)
        if self._bar is None:
            # No forecast: a step of one stage may cost twenty times one of another. Losses are cut off first.
            self._bar = Progress(
                TextColumn(
                    "{task.description}", table_column=Column(no_wrap=True, min_width=len(title) + 12), markup=False
                ),
                BarColumn(bar_width=16),
                MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=len(f"{steps}/{steps}"))),
                TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
                TextColumn(
                    "{task.fields[figures]}",
                    table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
                    markup=False,
                ),
                console=Rich(stderr=True),
                expand=True,
            )
            self._bar.add_task(title, total=steps, figures="")
            self._bar.start()
        description = f"{title} · {stage}"
        self._bar.update(self._bar.task_ids[0], completed=done, total=steps, description=description, figures=figures)
        if done >= steps:
            self.ended()

    def started(self, title: str) -> None:
        """Name the training in the lines that follow."""
        self.title = title

    def ended(self) -> None:
        """Stop the bar and restore the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def warn(self, text: str) -> None:
        """Show advice."""
        echo(f"{self.title}: warning: {text}", err=True)


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True
