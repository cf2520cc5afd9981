"""The command line. Importing it loads neither torch nor the rooms: each command fetches what it needs."""

from csad.cli.app import app


def main() -> None:
    """Runs the command that the user typed."""
    app(prog_name="csad")


__all__ = ["app", "main"]
