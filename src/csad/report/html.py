"""A template of this folder as one HTML file, its styles in it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from csad.printable import printable


def rendered(template: str, styles: Sequence[str], **parts: Any) -> str:
    """The page: what is put in is escaped, and a part that the template asks for and does not get is an error."""
    from jinja2 import Environment, StrictUndefined

    def read(name: str) -> str:
        return files("csad.report").joinpath(name).read_text(encoding="utf-8")

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(read(template)).render(css="\n".join(map(read, styles)), **parts)
    return printable(page.strip(), keep="\n\t") + "\n"
