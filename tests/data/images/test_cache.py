"""Pictures are decoded once: whatever stops it, whoever else is at it, and only as long as they are the same ones."""

from __future__ import annotations

import contextvars
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from csad.data import events
from csad.data.images import decode
from csad.data.images.cache import DECODED, ImageCache
from csad.data.images.decode import Decoder
from csad.data.images.read import Images, ImageWarning, read_images
from csad.messages import message
from tests.support.messages import refused, warned
from tests.support.picture_files import as_folder, as_zip, picture, pictures, stored

COUNT = 60
NAMES = list(pictures(COUNT))
# Reads pictures in a process of its own, which writes a line for each that it decodes; told to, it dies at the tenth.
ALONE = """
import os, sys, time, zlib
from pathlib import Path
from csad.data.images import decode as decoding
from csad.data.images.read import read_images

source, log, names, dies = Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(), sys.argv[4] == "dies"
decode, done = decoding.Decoder.__call__, []
decoding.MOST_AT_ONCE, decoding.THREADS = 4, 1

def noted(self, data):
    done.append(data)
    if dies and len(done) == 10:
        os.kill(os.getpid(), 9)
    with open(log, "a") as stream:
        stream.write("decoded\\n")
    time.sleep(0.005)
    return decode(self, data)

decoding.Decoder.__call__ = noted
print(zlib.crc32(read_images(source, names, size=4).pixels.tobytes()))
"""


@pytest.fixture(autouse=True)
def place(cache: Path) -> Path:
    return cache / "images"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return as_zip(tmp_path / "pictures.zip", pictures(COUNT))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every file that is decoded from here on."""
    return watched(monkeypatch, lambda count: None)


def watched(monkeypatch: pytest.MonkeyPatch, happens: Callable[[int], None]) -> list[bytes]:
    done: list[bytes] = []
    decode = Decoder.__call__

    def noted(self: Decoder, data: bytes) -> np.ndarray:
        happens(len(done))
        done.append(data)
        return decode(self, data)

    monkeypatch.setattr(Decoder, "__call__", noted)
    return done


def same(one: Images, other: Images) -> bool:
    return (
        bool((one.pixels == other.pixels).all() and (one.places == other.places).all()) and one.broken == other.broken
    )


def in_another_cache(source: Path, folder: Path) -> Images:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CSAD_CACHE", str(folder))
        return read_images(source, NAMES, size=4)


def alone(source: Path, log: Path, dies: bool = False) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", ALONE, str(source), str(log), " ".join(NAMES), "dies" if dies else ""]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_picture_is_decoded_once_however_often_it_is_asked_for(source: Path, decoded: list[bytes]) -> None:
    first = read_images(source, NAMES, size=4)
    assert len(decoded) == COUNT
    assert same(read_images(source, NAMES, size=4), first)
    assert len(decoded) == COUNT


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
@pytest.mark.parametrize("stop", [0, 1, 17, COUNT - 1])
def test_what_was_interrupted_goes_on_where_it_was(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, kind: str, stop: int
) -> None:
    def stops(count: int) -> None:
        if count == stop:
            raise KeyboardInterrupt

    source = stored(kind, tmp_path, pictures(COUNT))
    monkeypatch.setattr(decode, "THREADS", 1)
    with monkeypatch.context() as patched:
        watched(patched, stops)
        with pytest.raises(KeyboardInterrupt):
            read_images(source, NAMES, size=4)
    (folder,) = place.iterdir()
    assert not (folder / "pixels").exists()
    half = ImageCache(folder, COUNT, (3, 4, 4))
    assert not half.is_whole()
    assert (half.marks() == DECODED).sum() == stop
    rest = watched(monkeypatch, lambda count: None)
    found = read_images(source, NAMES, size=4)
    assert len(rest) == COUNT - stop
    assert same(found, in_another_cache(source, tmp_path / "another"))


def test_with_many_threads_what_was_interrupted_ends_in_the_same_pixels(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(count: int) -> None:
        if count == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(decode, "THREADS", 4)
    with monkeypatch.context() as patched:
        watched(patched, stops)
        with pytest.raises(KeyboardInterrupt):
            read_images(source, NAMES, size=4)
    rest = watched(monkeypatch, lambda count: None)
    found = read_images(source, NAMES, size=4)
    assert len(rest) >= COUNT - 30
    assert same(found, in_another_cache(source, tmp_path / "another"))


def test_a_process_that_is_killed_leaves_what_it_saved_and_nothing_that_looks_whole(
    source: Path, place: Path, tmp_path: Path, decoded: list[bytes]
) -> None:
    with alone(source, tmp_path / "log", dies=True) as killed:
        assert killed.wait() == -9
    (folder,) = place.iterdir()
    assert not (folder / "pixels").exists()
    found = read_images(source, NAMES, size=4)
    assert len(decoded) == COUNT - 8  # it saved twice, four each time
    assert same(found, in_another_cache(source, tmp_path / "another"))


def test_two_processes_at_once_decode_each_picture_once_between_them(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with alone(source, log) as one, alone(source, log) as other:
        answers = [running.communicate() for running in (one, other)]
    assert [errors for _, errors in answers] == ["", ""]
    assert answers[0] == answers[1]
    assert len(log.read_text().splitlines()) == COUNT


def test_who_has_to_wait_for_another_is_told(source: Path, place: Path) -> None:
    said: list[str] = []
    found: list[Images] = []
    arrived = threading.Event()
    context = contextvars.copy_context()
    context.run(events.listen, progress=lambda text: (said.append(text), arrived.set()))
    read_images(source, NAMES[:1], size=4)
    (folder,) = place.iterdir()
    (folder / "pixels").unlink()
    with ImageCache(folder, 1, (3, 4, 4)).locked():
        waiting = threading.Thread(target=lambda: found.append(context.run(read_images, source, NAMES[:1], size=4)))
        waiting.start()
        assert arrived.wait(10)
        assert not found
    waiting.join(10)
    assert len(found) == 1
    assert said == [message("waiting-for-decoding", folder=folder)]


@pytest.mark.parametrize("file", ["pixels", "marks"])
@pytest.mark.parametrize("change", [-1, 1, -(10**9)])
def test_a_cache_of_a_wrong_length_is_made_again(
    source: Path, place: Path, decoded: list[bytes], file: str, change: int
) -> None:
    before = read_images(source, NAMES, size=4).pixels.copy()
    (folder,) = place.iterdir()
    os.truncate(folder / file, max(0, (folder / file).stat().st_size + change))
    assert (read_images(source, NAMES, size=4).pixels == before).all()
    assert len(decoded) == 2 * COUNT
    read_images(source, NAMES, size=4)
    assert len(decoded) == 2 * COUNT


@pytest.mark.parametrize("file", ["pixels", "marks"])
def test_a_cache_of_which_a_file_is_gone_is_made_again(source: Path, place: Path, file: str) -> None:
    before = read_images(source, NAMES, size=4).pixels.copy()
    (folder,) = place.iterdir()
    (folder / file).unlink()
    assert (read_images(source, NAMES, size=4).pixels == before).all()


def test_other_names_sizes_and_crops_have_pixels_of_their_own(source: Path, decoded: list[bytes]) -> None:
    read_images(source, NAMES, size=4)
    assert (read_images(source, NAMES[::-1], size=4).pixels == read_images(source, NAMES, size=4).pixels[::-1]).all()
    assert len(decoded) == 2 * COUNT
    read_images(source, NAMES, size=5)
    read_images(source, NAMES, size=4, crop=0.5)
    assert len(decoded) == 4 * COUNT
    read_images(source, NAMES, size=4, crop=(0.5, 0.5))  # the same thing in other words
    assert len(decoded) == 4 * COUNT


def test_a_source_that_has_changed_is_decoded_anew(tmp_path: Path, source: Path, decoded: list[bytes]) -> None:
    read_images(source, NAMES, size=4)
    as_zip(source, pictures(COUNT) | {NAMES[3]: picture(99, width=31)})
    assert (read_images(source, NAMES, size=4).pixels[3] == Decoder(4, (1.0, 1.0))(picture(99, width=31))).all()
    folder = as_folder(tmp_path / "folder", pictures(COUNT))
    before = len(decoded)
    read_images(folder, NAMES, size=4)
    (folder / "not asked for.png").write_bytes(picture(1))
    read_images(folder, NAMES, size=4)
    assert len(decoded) == before + COUNT
    (folder / NAMES[3]).write_bytes(picture(99, width=31))
    assert (read_images(folder, NAMES, size=4).pixels[3] == Decoder(4, (1.0, 1.0))(picture(99, width=31))).all()


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_a_source_of_the_same_size_but_another_time_is_decoded_anew(tmp_path: Path, kind: str) -> None:
    old, new = ({"a.bmp": picture(seed, kind="BMP")} for seed in (1, 2))
    source = stored(kind, tmp_path, old)
    changed = source / "a.bmp" if kind == "folder" else source
    size, time = changed.stat().st_size, changed.stat().st_mtime_ns
    read_images(source, ["a.bmp"], size=4)
    stored(kind, tmp_path, new)
    os.utime(changed, ns=(time + 1000, time + 1000))
    assert changed.stat().st_size == size
    assert (read_images(source, ["a.bmp"], size=4).pixels[0] == Decoder(4, (1.0, 1.0))(new["a.bmp"])).all()


def test_broken_pictures_are_known_from_the_first_time_and_told_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {f"{n}.png": picture(n % 9) for n in range(300)}
    source = as_folder(tmp_path / "p", good | {"bad.png": b"", "worse.png": b""})
    names = ["bad.png", *good, "worse.png"]

    def stops(count: int) -> None:
        if count == 290:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        watched(patched, stops)
        patched.setattr(decode, "THREADS", 1)
        with pytest.raises(KeyboardInterrupt):
            read_images(source, names, size=4)
    rest = watched(monkeypatch, lambda count: None)
    for _ in range(2):
        with warned(ImageWarning, "images-left-out", names="bad.png, worse.png"):
            found = read_images(source, names, size=4)
    assert len(rest) == 12
    assert found.broken == ("bad.png", "worse.png")
    assert (found.pixels == np.stack([Decoder(4, (1.0, 1.0))(data) for data in good.values()])).all()


def test_nothing_is_kept_where_too_many_are_broken_and_mended_files_are_read(tmp_path: Path, place: Path) -> None:
    source = as_folder(tmp_path / "p", {"a.png": b"", "b.png": picture(1)})
    with refused("too-many-broken-images", broken=1, total=2, names="a.png"):
        read_images(source, ["a.png", "b.png"], size=4)
    assert [path.name for path in place.rglob("*") if path.is_file()] == ["lock"]
    as_folder(source, {"a.png": picture(2)})
    assert read_images(source, ["a.png", "b.png"], size=4).broken == ()


def test_the_rest_is_not_decoded_once_too_many_are_broken(
    tmp_path: Path, decoded: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "MOST_AT_ONCE", 10)
    files = {f"{n}.png": b"" for n in range(100)}
    with refused("too-many-broken-images", broken=10, total=100, names="0.png, 1.png, 2.png, …"):
        read_images(as_folder(tmp_path / "p", files), list(files), size=4)
    assert len(decoded) == 10


def test_pictures_that_an_earlier_sitting_found_broken_count_among_those_that_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(count: int) -> None:
        if count == 50:
            raise KeyboardInterrupt

    files = {f"{n:03}.png": b"" if n in (3, 7, 190) else picture(n % 9) for n in range(200)}
    source = as_folder(tmp_path / "p", files)
    monkeypatch.setattr(decode, "MOST_AT_ONCE", 10)
    monkeypatch.setattr(decode, "THREADS", 1)
    with monkeypatch.context() as patched:
        watched(patched, stops)
        with pytest.raises(KeyboardInterrupt):
            read_images(source, list(files), size=4)
    names = "003.png, 007.png, 190.png"
    with refused("too-many-broken-images", broken=3, total=200, names=names, tolerated=0.01):
        read_images(source, list(files), size=4)


def test_a_disk_without_room_is_told_before_anything_is_decoded(
    source: Path, decoded: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, 10_000_000))
    with refused("image-cache-not-writable", reason=re.compile(r"^45\.0 GB .* 10\.0 MB ")):
        read_images(source, NAMES * 250, size=1000)
    assert decoded == []


def test_a_cache_that_cannot_be_written_is_told(source: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with refused("image-cache-not-writable", reason="Not a directory"):
        in_another_cache(source, tmp_path / "taken")


def test_progress_is_told_to_whoever_listens(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(events, "EVERY", 0.0)
    monkeypatch.setattr(decode, "MOST_AT_ONCE", 25)
    context = contextvars.copy_context()
    context.run(events.listen, progress=said.append)
    context.run(read_images, source, NAMES, size=4)
    assert [line.rpartition(": ")[2] for line in said] == ["25 of 60", "50 of 60", "60 of 60"]
    assert said[0].startswith("Decoding images into ")


def test_work_that_is_over_soon_says_nothing(source: Path) -> None:
    said: list[str] = []
    context = contextvars.copy_context()
    context.run(events.listen, progress=said.append)
    context.run(read_images, source, NAMES[:5], size=4)
    assert said == []
