"""Export a trained run as one file for use elsewhere, and load it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.export.export import export_run as export_run
    from csad.export.formats import load_exported as load_exported

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "export_run": "csad.export.export.export_run",
        "load_exported": "csad.export.formats.load_exported",
    },
)
