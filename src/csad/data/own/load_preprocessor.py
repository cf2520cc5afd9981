"""Loads the preprocessor of a run, of whatever kind, from the plain values that it was kept as."""

from __future__ import annotations

from typing import Any

from csad.data.own.linked_files import PicturePreprocessor
from csad.data.own.preprocessor import AnyPreprocessor, Preprocessor
from csad.data.own.series import SeriesPreprocessor, WideSeries

KINDS: dict[str, type[PicturePreprocessor | SeriesPreprocessor | WideSeries]] = {
    "pictures": PicturePreprocessor, "series": SeriesPreprocessor, "wide": WideSeries,
}  # by the key that only their values have  # fmt: skip


def load_preprocessor(values: Any) -> AnyPreprocessor:
    """The preprocessor of the values that its ``to_dict`` gave, from JSON or as they are.

    Args:
        values: The values. Other ones are input errors.
    """
    keys = values if isinstance(values, dict) else {}
    kind = next((kind for key, kind in KINDS.items() if key in keys), Preprocessor)
    return kind.from_dict(values)
