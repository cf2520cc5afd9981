"""csad cache as a user types it: which decoded pictures are kept, and how they are removed."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from csad.data.events import listen
from csad.data.images import cache, decode
from csad.data.images.cache import ImageCache
from csad.data.images.decode import Decoder
from csad.data.images.read import read_images
from csad.messages import message
from tests.support.commands import contents, typed
from tests.support.picture_files import as_zip, pictures

COUNT = 30
NAMES = list(pictures(COUNT))


@pytest.fixture(autouse=True)
def place(cache: Path) -> Path:
    return cache / "images"


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    return as_zip(tmp_path / "faces.zip", pictures(COUNT))


@pytest.fixture
def leaves(tmp_path: Path) -> Path:
    return as_zip(tmp_path / "leaves.zip", pictures(COUNT))


def told(*words: str) -> Any:
    result = typed("cache", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*words: str) -> str:
    result = typed("cache", *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return str(result.stderr)


def test_where_nothing_is_kept_that_is_said(place: Path) -> None:
    assert typed("cache").stdout == f"{place} holds no decoded pictures.\n"
    assert told() == {"folder": str(place), "bytes": 0, "kept": [], "removed": [], "freed": 0}
    assert not place.exists()


def test_what_is_kept_is_listed_with_its_source_and_its_size(faces: Path, leaves: Path, place: Path) -> None:
    read_images(faces, NAMES, size=16)
    read_images(leaves, NAMES[:7], size=32)
    one, other = told()["kept"]
    assert one["name"].startswith("faces-16px-")
    assert [one["source"], other["source"]] == [str(faces), str(leaves)]
    assert [one["pictures"], other["pictures"]] == [COUNT, 7]
    assert [one["state"], other["state"]] == ["whole", "whole"]
    assert one["bytes"] >= COUNT * 3 * 16 * 16
    assert one["bytes"] == sum(file.stat().st_size for file in (place / one["name"]).iterdir())
    shown = typed("cache").stdout
    assert one["name"] in shown
    assert other["name"] in shown


def test_pictures_that_were_decoded_in_part_or_whose_source_is_gone_are_told(
    faces: Path, leaves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_images(leaves, NAMES, size=8)
    leaves.unlink()
    decode_one, done = Decoder.__call__, []

    def stops(self: Decoder, data: bytes) -> Any:
        if len(done) == 9:
            raise KeyboardInterrupt
        done.append(data)
        return decode_one(self, data)

    monkeypatch.setattr(decode, "THREADS", 1)
    monkeypatch.setattr(Decoder, "__call__", stops)
    with pytest.raises(KeyboardInterrupt):
        read_images(faces, NAMES, size=8)
    assert [(one["state"], one["pictures"]) for one in told()["kept"]] == [("unfinished", 9), ("source gone", COUNT)]


def test_what_another_csad_keeps_in_another_way_is_told_and_can_be_removed(
    faces: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(cache, "FORMAT", "0")
        read_images(faces, NAMES, size=8)
    assert [(one["state"], one["pictures"]) for one in told()["kept"]] == [("from another csad version", None)]
    told("--remove", "*")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("change", [{"images": -1}, {"images": 1e999}, {"shape": [3, -8, 8]}, {"shape": 3}])
def test_words_on_a_cache_that_make_no_sense_are_those_of_another_csad(
    faces: Path, place: Path, change: dict[str, Any]
) -> None:
    read_images(faces, NAMES, size=8)
    (about,) = place.glob("*/about")
    about.write_text(json.dumps(json.loads(about.read_text()) | change))
    assert [one["state"] for one in told()["kept"]] == ["from another csad version"]


def test_a_source_where_nobody_may_look_is_not_called_gone(faces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_images(faces, NAMES, size=8)
    look = Path.stat

    def forbidden(self: Path, **options: Any) -> Any:
        if self == faces:
            raise PermissionError(13, "Permission denied")
        return look(self, **options)

    monkeypatch.setattr(Path, "stat", forbidden)
    assert [one["state"] for one in told()["kept"]] == ["whole"]


def test_caches_where_nobody_may_look_are_not_listed(
    faces: Path, leaves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in (faces, leaves):
        read_images(source, NAMES, size=8)
    look = Path.stat

    def forbidden(self: Path, **options: Any) -> Any:
        if self.parent.name.startswith("faces-"):
            raise PermissionError(13, "Permission denied")
        return look(self, **options)

    monkeypatch.setattr(Path, "stat", forbidden)
    assert [one["source"] for one in told()["kept"]] == [str(leaves)]


@pytest.mark.parametrize("error", [PermissionError(13, "no rights"), NotImplementedError("no rights")])
def test_what_may_not_be_removed_is_told_as_that(
    faces: Path, place: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Nor a cache on a disk that cannot lock files, the second of these."""
    read_images(faces, NAMES, size=8)
    (folder,) = place.iterdir()
    before = contents(place)

    def forbidden(self: Path, **_: Any) -> None:
        raise error

    monkeypatch.setattr(Path, "touch", forbidden)
    said = refused("--remove", "*")
    assert said == f"csad: {message('image-cache-not-removable', folder=folder, reason='no rights')}\n"
    assert contents(place) == before


def test_what_is_named_is_removed_and_nothing_else(faces: Path, leaves: Path, place: Path) -> None:
    for size in (8, 16):
        read_images(faces, NAMES, size=size)
        read_images(leaves, NAMES, size=size)
    before = told()
    names = [one["name"] for one in before["kept"]]
    found = told("--remove", names[0], "--remove", "leaves-16*")
    gone = [names[0], names[3]] if names[3].startswith("leaves-16") else [names[0], names[2]]
    assert found["removed"] == gone
    assert found["freed"] == sum(one["bytes"] for one in before["kept"] if one["name"] in gone)
    assert found["kept"] == [one for one in before["kept"] if one["name"] not in gone]
    assert found["bytes"] == sum(one["bytes"] for one in found["kept"])
    assert sorted(folder.name for folder in place.iterdir()) == sorted(set(names) - set(gone))
    assert faces.exists()


def test_what_was_removed_is_decoded_again_when_it_is_asked_for(faces: Path) -> None:
    before = read_images(faces, NAMES, size=8).pixels.copy()
    told("--remove", "*")
    assert (read_images(faces, NAMES, size=8).pixels == before).all()


def test_a_name_may_hold_what_else_stands_for_many(tmp_path: Path, place: Path) -> None:
    source = as_zip(tmp_path / "faces[1].zip", pictures(COUNT))
    read_images(source, NAMES, size=8)
    (name,) = (one["name"] for one in told()["kept"])
    assert name.startswith("faces[1]-8px-")
    assert told("--remove", name)["removed"] == [name]


def test_to_list_what_is_kept_is_not_to_use_it(faces: Path, place: Path) -> None:
    read_images(faces, NAMES, size=8)
    (folder,) = place.iterdir()
    for file in folder.iterdir():
        os.utime(file, (10**9, 10**9))
    assert [told()["kept"][0]["used"] for _ in range(2)] == [10**9, 10**9]
    assert "2001-09-09" in typed("cache").stdout


def test_files_that_are_not_csads_stay(faces: Path, place: Path) -> None:
    read_images(faces, NAMES, size=8)
    (folder,) = place.iterdir()
    (folder / "notes.txt").write_text("mine")
    (place / "mine").mkdir()
    (place / "mine" / "about").write_bytes(b"mine")
    assert [one["name"] for one in told()["kept"]] == [folder.name]
    told("--remove", "*")
    assert contents(place) == {
        folder.name: None,
        f"{folder.name}/notes.txt": b"mine",
        "mine": None,
        "mine/about": b"mine",
    }


def test_a_name_that_names_nothing_is_refused_and_nothing_removed(faces: Path, place: Path) -> None:
    read_images(faces, NAMES, size=8)
    before = contents(place)
    said = refused("--remove", "*", "--remove", "leafs-*")
    assert said == f"csad: {message('unknown-image-cache', folder=place, name='leafs-*')}\n"
    assert contents(place) == before


def test_what_another_process_is_decoding_is_not_removed_nor_anything_with_it(
    faces: Path, leaves: Path, place: Path
) -> None:
    read_images(faces, NAMES, size=8)
    read_images(leaves, NAMES, size=8)
    folder = next(place.glob("leaves-*"))
    before = contents(place)
    busy, done = threading.Event(), threading.Event()

    def holds() -> None:
        with ImageCache(folder, COUNT, (3, 8, 8)).locked():
            busy.set()
            done.wait(30)

    other = threading.Thread(target=holds)
    other.start()
    busy.wait(30)
    said = refused("--remove", "*")
    done.set()
    other.join()
    assert said == f"csad: {message('images-being-decoded', folder=folder)}\n"
    assert contents(place) == before


def test_who_waits_for_a_cache_that_is_removed_meanwhile_makes_it_anew(
    faces: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_images(faces, NAMES, size=8).pixels.copy()
    (folder,) = place.iterdir()
    (folder / "marks").write_bytes(bytes(COUNT))
    waits = threading.Event()
    found: list[Any] = []

    def reads() -> None:
        listen(progress=lambda _: waits.set())  # the first that is told is that another process is waited for
        found.append(read_images(faces, NAMES, size=8))

    other = threading.Thread(target=reads)
    discard = ImageCache.discard

    def slowly(self: ImageCache) -> None:
        if not other.is_alive():
            other.start()
        assert waits.wait(30)
        discard(self)

    with monkeypatch.context() as patched:
        patched.setattr(ImageCache, "discard", slowly)
        told("--remove", "*")
    other.join(60)
    assert (found[0].pixels == before).all()
    assert contents(folder)["pixels"] == before.tobytes()
