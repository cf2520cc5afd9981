"""The command line. Importing it loads no torch: each command imports what it needs when it runs."""

from __future__ import annotations

import io
import sys

import typer

from csad.cli.app import app
from csad.cli.console import echo, echo_traceback


def main() -> None:
    """Run the command that the user typed. A mistake in the command itself is one sentence, too."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack a letter, and a file's name may be no text
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] or ["--help"]
    try:
        code = typer.main.get_command(app).main(words, prog_name="csad", standalone_mode=False)
    except typer.Abort:
        code = 130
    except Exception as error:
        if hasattr(error, "format_message"):
            echo(f"csad: {error.format_message()} See csad --help.", err=True)
            code = 2
        else:
            echo_traceback(error)
            code = 1
    sys.exit(code)


__all__ = ["app", "main"]
