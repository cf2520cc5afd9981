"""What x is made of where the user says so, pictures or series, and which options then go together."""

from __future__ import annotations

from collections.abc import Collection

from csad.errors import InputError

SOURCES = {"image": "pictures", "series": "series", "series_columns": "series"}


def check_sources(named: Collection[str]) -> None:
    """Nothing, or an error where options do not go together once x is made of files, or of some columns alone."""
    sources = [option for option in SOURCES if option in named]
    if len(sources) > 1:
        raise InputError(f"{' and '.join(map(typed, sources))} each say what x is made of: give one of them.")
    for option in ("drop", "keep_bias"):
        if sources and option in named:
            what = SOURCES[sources[0]]
            raise InputError(
                f"{typed(option)} means nothing with {typed(sources[0])}, as x is made of {what}: leave it out."
            )
    for place, column, what in (("images", "image", "pictures"), ("series_in", "series", "series")):
        if place in named and column not in named:
            told = f"{typed(column)} COLUMN too, the column that names them"
            raise InputError(f"{typed(place)} says where {what} lie: give {told}.")


def typed(option: str) -> str:
    """The option as it is typed."""
    return f"--{option.replace('_', '-')}"
