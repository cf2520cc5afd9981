"""What the user sees: progress and advice on stderr, one answer on stdout, errors as one sentence."""

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

from csad.data.progress import listener
from csad.errors import Diverged, InputError, Interrupted
from csad.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from csad.methods.method import Stage
    from csad.training.checkpoint import Place

P = ParamSpec("P")
R = TypeVar("R")
# What a disk answers that is full, broken or not to be written to: no fault of the program's.
NO_MEMORY = ("can't allocate memory", "out of memory")  # as torch says it, of the processor's and of a GPU's
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
PLAIN_EVERY = 5.0  # seconds between progress lines where there is no terminal


def echo(text: str, *, err: bool = False) -> None:
    """Print a line. All that csad prints goes through here, or through a table: a name in a file could else hide what
    csad says, or say something in its place.
    """
    typer.echo(printable(text), err=err)


def echo_traceback(error: BaseException) -> None:
    """Print the traceback of an error that csad did not expect; its message stays on one line."""
    told = traceback.TracebackException.from_exception(error)
    chain = [told]
    while cause := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__):
        chain.append(cause)
    for part in reversed(chain):
        echo("Traceback (most recent call last):", err=True)
        for line in "".join(part.stack.format()).splitlines():
            echo(line, err=True)
        echo("".join(part.format_exception_only()).rstrip("\n"), err=True)


def one_sentence(command: Callable[P, R]) -> Callable[P, R]:
    """The command with its failures told in a sentence: exit code 2 for the user's input, 130 for Ctrl-C, else 1."""

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
            advice = "take smaller settings: of the net, of train.batch_size, or fewer or shorter rows"
            raise _fail(f"There is not enough memory for this: {advice}.", 2, kwargs) from None
        except OSError as error:
            if error.errno not in DISK:
                raise
            place = error.filename or "What there is to keep"
            full = error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM)
            advice = "make room, or give another place" if full else "give another place"
            raise _fail(f"{place} cannot be written ({error.strerror}): {advice}.", 1 if full else 2, kwargs) from None

    return guarded


def _fail(sentence: str, code: int, options: Mapping[str, Any]) -> typer.Exit:
    sentence = " ".join(sentence.splitlines())
    echo(f"csad: {sentence}", err=True)
    if options.get("as_json"):
        echo(json.dumps({"error": sentence, "exit": code}))
    return typer.Exit(code)


class Console:
    """Shows a command's progress and its answer as the user asked: for people, as JSON, or quietly."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.title = ""
        self._bar: Progress | None = None
        self._said = 0.0
        listener.set(self.say)  # long work on data is told as all else is

    def say(self, text: str) -> None:
        """A line of progress."""
        if not self.quiet:
            echo(text, err=True)

    def notice(self, text: str) -> None:
        """What the user may not expect: no progress, so that quiet ones hear it too, unless JSON tells them."""
        if not (self.quiet and self.as_json):
            echo(text, err=True)

    def answer(self, value: Mapping[str, Any], show: Callable[[], None]) -> None:
        """The command's result: the value as one JSON object, or what ``show`` prints."""
        if self.as_json:
            echo(json.dumps(value))
        else:
            show()

    def tell_lost(self, runs: Sequence[str]) -> None:
        """Names the runs that diverged, if any: what was asked for is then not whole, which the exit code says."""
        if runs:
            echo(f"csad: Lost, since they diverged: {', '.join(runs)}.", err=True)
            raise typer.Exit(1)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Prints a table on stdout; a column of numbers stands to the right."""
        from rich.console import Console as Rich
        from rich.table import Table

        table = Table(title=printable(title), title_justify="left", title_style="bold", header_style="bold")
        for k, column in enumerate(columns):
            numbers = all(_is_number(row[k]) for row in rows)
            table.add_column(printable(column), justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(printable, row))
        # A pipe has no width of its own: a table there is as wide as it needs to be.
        Rich(width=None if sys.stdout.isatty() else 160, markup=False, emoji=False).print(table)

    def progress(self, stage: Stage, place: Place, steps: int, losses: dict[str, float]) -> None:
        """A bar in a terminal, a line now and then elsewhere."""
        if self.quiet:
            return
        done = place.step + 1
        figures = "  ".join(f"{name} {value:.3f}" for name, value in losses.items())
        if sys.stderr.isatty():
            self._show_bar(stage.name, done, steps, figures)
        elif time.monotonic() - self._said > PLAIN_EVERY or done == steps:
            self._said = time.monotonic()
            self.say(f"{self.title} {stage.name} {done}/{steps}  {figures}")

    def _show_bar(self, stage: str, done: int, steps: int, figures: str) -> None:
        from rich.console import Console as Rich
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        title = printable(self.title)
        if self._bar is None:
            # No forecast: a step of one stage may cost twenty times that of another. Losses give way first.
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
            self.close()

    def close(self) -> None:
        """Leaves the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def warn(self, text: str) -> None:
        """A piece of advice."""
        echo(f"{self.title}: warning: {text}", err=True)


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True
