"""The command that tells which decoded pictures are kept, and removes those that nobody needs any longer."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import Json, Quiet
from csad.errors import InputError

if TYPE_CHECKING:
    from csad.data.image_cache import ImageCache


@one_sentence
def cache(
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Remove what is kept under that name; 'photos-*': all that begin so, '*': all."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Which decoded pictures are kept, what room they take, and how to be rid of them."""
    from csad.data import image_cache
    from csad.data.images import kept_in

    console = Console(as_json, quiet)
    place = kept_in()
    kept = image_cache.caches_in(place)
    gone = _named(kept, remove, place) if remove else []
    left = [one for one in kept if one not in gone]
    freed = sum(one.bytes_kept() for one in gone)
    image_cache.remove(gone)
    total, told = sum(one.bytes_kept() for one in left), [_told(one) for one in left]
    removed = [one.folder.name for one in gone]
    answer = {"folder": str(place), "bytes": total, "kept": told, "removed": removed, "freed": freed}

    def show() -> None:
        if removed:
            echo(f"Removed: {', '.join(removed)} ({image_cache.room(freed)}).")
        if not told:
            echo(f"No decoded pictures are kept in {place}.")
            return
        columns = ["name", "pictures", "size", "last used", "state", "from"]
        console.table(f"Decoded pictures in {place}", columns, [_row(one) for one in told])
        echo(f"{image_cache.room(total)} in all. To remove some: csad cache --remove NAME")

    console.answer(answer, show)


def _named(kept: list[ImageCache], names: list[str], place: Path) -> list[ImageCache]:
    """Those of the names, each of which must name one."""
    for name in names:
        if not any(_is_called(one, name) for one in kept):
            raise InputError(f"No decoded pictures called '{name}' are kept in {place}: csad cache lists what is.")
    return [one for one in kept if any(_is_called(one, name) for name in names)]


def _is_called(one: ImageCache, name: str) -> bool:
    from fnmatch import fnmatchcase

    own = one.folder.name
    return own == name or fnmatchcase(own, name)  # its own name may hold [ and ], which stand for others


def _told(one: ImageCache) -> dict[str, Any]:
    return {
        "name": one.folder.name, "pictures": one.decoded() if one.source else None, "bytes": one.bytes_kept(),
        "used": one.used(), "state": _state(one), "source": one.source,
    }  # fmt: skip


def _row(told: dict[str, Any]) -> list[str]:
    from csad.data.image_cache import room

    count = "" if told["pictures"] is None else f"{told['pictures']:,}"
    day = date.fromtimestamp(told["used"]).isoformat()
    return [told["name"], count, room(told["bytes"]), day, told["state"], told["source"]]


def _state(one: ImageCache) -> str:
    if not one.source:
        return "of another csad"
    if _is_gone(Path(one.source)):
        return "source gone"
    return "whole" if one.is_whole() else "unfinished"


def _is_gone(source: Path) -> bool:
    try:
        return not source.exists()
    except OSError:  # nobody may look there: it may well be there
        return False
