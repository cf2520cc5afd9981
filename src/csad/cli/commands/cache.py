"""The command that lists the caches of decoded pictures, and removes them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import Json, Quiet
from csad.errors import InputError

if TYPE_CHECKING:
    from csad.data.images.cache import ImageCache


@one_sentence
def cache(
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Remove the pictures of this name. 'photos-*' removes all names that begin so, '*' all.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the decoded pictures that are cached, with their size, or remove some."""
    from csad.data.images import cache
    from csad.data.images.read import images_folder

    console = Console(as_json, quiet)
    place = images_folder()
    caches = cache.caches_in(place)
    unwanted = _select(caches, remove, place) if remove else []
    left = [each for each in caches if each not in unwanted]
    freed = sum(each.bytes_on_disk() for each in unwanted)
    cache.remove(unwanted)
    total, entries = sum(each.bytes_on_disk() for each in left), [_describe(each) for each in left]
    removed = [each.folder.name for each in unwanted]
    answer = {"folder": str(place), "bytes": total, "kept": entries, "removed": removed, "freed": freed}

    def show() -> None:
        if removed:
            echo(f"Removed: {', '.join(removed)} ({cache.room(freed)}).")
        if not entries:
            echo(f"{place} holds no decoded pictures.")
            return
        columns = ["name", "pictures", "size", "last used", "state", "from"]
        console.table(f"Decoded pictures in {place}", columns, [_row(entry) for entry in entries])
        echo(f"Total: {cache.room(total)}. To remove some: csad cache --remove NAME")

    console.answer(answer, show)


def _select(caches: list[ImageCache], names: list[str], place: Path) -> list[ImageCache]:
    """The caches of these names; raise InputError if a name matches neach."""
    for name in names:
        if not any(_is_called(each, name) for each in caches):
            raise InputError("unknown-image-cache", name=name, folder=place)
    return [each for each in caches if any(_is_called(each, name) for name in names)]


def _is_called(each: ImageCache, name: str) -> bool:
    from fnmatch import fnmatchcase

    whole = each.folder.name
    return whole == name or fnmatchcase(whole, name)  # the name itself may hold [ and ], which are wildcards too


def _describe(each: ImageCache) -> dict[str, Any]:
    return {
        "name": each.folder.name, "pictures": each.decoded() if each.source else None, "bytes": each.bytes_on_disk(),
        "used": each.used(), "state": _state(each), "source": each.source,
    }  # fmt: skip


def _row(entry: dict[str, Any]) -> list[str]:
    from csad.data.images.cache import room

    count = "" if entry["pictures"] is None else f"{entry['pictures']:,}"
    day = date.fromtimestamp(entry["used"]).isoformat()
    return [entry["name"], count, room(entry["bytes"]), day, entry["state"], entry["source"]]


def _state(each: ImageCache) -> str:
    if not each.source:
        return "from another csad version"
    if _is_gone(Path(each.source)):
        return "source gone"
    return "whole" if each.is_whole() else "unfinished"


def _is_gone(source: Path) -> bool:
    try:
        return not source.exists()
    except OSError:  # without the right to look, it may well exist
        return False
