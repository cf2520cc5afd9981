"""Files in folders and archives: in which order they lie, and one of them alone, or why it cannot be read."""

from __future__ import annotations

import gzip
import re
import struct
import zipfile
from pathlib import Path

import pytest

from csad.data.archives import open_archive, read_first
from csad.data.datasets.mpower import TapFiles
from csad.data.images.read import read_images
from csad.data.own.read_series import read_series
from csad.errors import InputError
from tests.support.messages import Refusal, refused
from tests.support.picture_files import KINDS, as_tar, as_zip, pictures, stored


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_of_several_files_is_read_from_wherever_they_lie(tmp_path: Path, kind: str) -> None:
    source = stored(kind, tmp_path, {"a.txt": b"top", "deep/a.txt": b"deep"})
    assert read_first(source, ["none.txt", "deep/a.txt", "a.txt"]) == (source / "deep/a.txt", b"deep")
    assert read_first(source, ["deep", "a.txt"]) == (source / "a.txt", b"top")
    assert read_first(source, ["none.txt", "deep"]) is None


@pytest.mark.parametrize("kind", KINDS[1:])
def test_files_of_an_archive_are_placed_in_the_order_in_which_they_lie(tmp_path: Path, kind: str) -> None:
    names = ["m.txt", "a.txt", "z/b.txt", "k.txt", "b.txt"]
    source = stored(kind, tmp_path, {name: name.encode() * 300 for name in names})
    with open_archive(source, names) as archive:
        assert sorted(sorted(names), key=archive.place) == names


@pytest.mark.parametrize("cut", [1024, 1024 + 100, 1024 + 512, 1024 + 1024])
def test_a_tar_that_was_cut_between_two_files_is_not_taken_for_a_smaller_one(tmp_path: Path, cut: int) -> None:
    """Before, within and after the second of two headers, of files of one block each; and without the end alone."""
    whole = stored(".tar", tmp_path, {"a.txt": b"words", "b.txt": b"more"}).read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:cut])
    with refused("archive-unreadable", file=tmp_path / "cut.tar"), open_archive(tmp_path / "cut.tar", []):
        pass
    (tmp_path / "cut.tar").write_bytes(whole[: 2 * 1024 + 512])  # tar itself is content with one block of zeros
    with open_archive(tmp_path / "cut.tar", ["a.txt", "b.txt"]):
        pass


def test_a_file_of_an_archive_that_was_damaged_is_named(tmp_path: Path) -> None:
    source = as_zip(tmp_path / "some.zip", {"a.txt": b"words" * 20})
    with zipfile.ZipFile(source) as archive:
        place = archive.getinfo("a.txt").header_offset + 50
    data = bytearray(source.read_bytes())
    data[place : place + 5] = b"other"
    source.write_bytes(data)
    with refused("archive-unreadable", file=source / "a.txt"):
        read_first(source, ["a.txt"])


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_that_was_damaged_is_told_however_it_was_packed(tmp_path: Path, method: int) -> None:
    source = tmp_path / "some.zip"
    with zipfile.ZipFile(source, "w", method) as archive:
        for name in ("12.json", "a.csv"):
            archive.writestr(name, b"1,2\n" * 500)
    data = bytearray(source.read_bytes())
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            data[start + 12 : start + info.compress_size] = b"Z" * (info.compress_size - 12)
    source.write_bytes(data)
    with refused("archive-unreadable", file=source / "12.json"):
        read_first(source, ["12.json"])
    assert str(read_series(source, ["a.csv"])["a.csv"]).startswith("it cannot be unpacked: ")
    with refused("tap-file-unreadable", file=re.compile(r"12\.json$")), TapFiles(source) as taps:
        taps.read("12")


def test_a_zip_that_holds_a_change_instead_of_a_file_is_told(tmp_path: Path) -> None:
    source = listed_as(as_zip(tmp_path / "some.zip", {"12.json": b"[]"}), 8, 0x20)
    with refused("archive-unreadable"):
        read_first(source, ["12.json"])
    with refused("tap-file-unreadable", file=re.compile(r"12\.json$")), TapFiles(source) as taps:
        taps.read("12")


def listed_as(source: Path, place: int, value: int) -> Path:
    """The .zip, in whose directory all files have another number at this place: 8 has the flags, 10 the method."""
    data = bytearray(source.read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<H", data, at + place, value)
        at = data.find(b"PK\x01\x02", at + 1)
    source.write_bytes(data)
    return source


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (8, 1, Refusal("archive-encrypted", file=re.compile(r"some\.zip$"))),
        (
            10,
            9,
            Refusal(
                "archive-compression-unsupported", file=re.compile(r"some\.zip$"), method=re.compile("^method 9, '.*'$")
            ),
        ),
    ],
)
def test_a_zip_that_is_whole_but_cannot_be_read_is_not_called_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, value: int, said: Refusal
) -> None:
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    files = {"12.json": b"[]", "a.csv": b"1,2", **pictures(3)}
    source = listed_as(as_zip(tmp_path / "some.zip", files), place, value)
    with refused(said):
        read_first(source, ["12.json"])
    with refused(said):
        read_series(source, ["a.csv"])
    with refused(said):
        read_images(source, list(pictures(3)), size=4)
    with refused(said), TapFiles(source) as taps:
        taps.read("12")


DAMAGED = Refusal("archive-unreadable", file=re.compile(r"some\.zip"))


def test_a_zip_with_a_damaged_name_is_told(tmp_path: Path) -> None:
    source = as_zip(tmp_path / "some.zip", {"größe.png": b"1", "a.csv": b"2"})
    whole = source.read_bytes()
    at = whole.rindex("ö".encode())
    for damaged in (whole[:at] + b"\xff" + whole[at + 1 :], _nameless(whole, "größe.png")):
        source.write_bytes(damaged)
        with refused(DAMAGED):
            read_first(source, ["a.csv"])


def test_a_zip_with_an_empty_name_is_told_or_does_no_harm(tmp_path: Path) -> None:
    """Python's older versions take no empty name, its newer ones do."""
    source = as_zip(tmp_path / "some.zip", {"ß": b"1", "a.csv": b"2"})
    source.write_bytes(_nameless(source.read_bytes(), "ß"))
    try:
        found = str(read_first(source, ["a.csv"]))
    except InputError as error:
        found = error.code
    assert re.search(rf"^{DAMAGED.code}$|a\.csv.*b'2'", found)


def _nameless(whole: bytes, name: str) -> bytes:
    """A .zip that says that a name has no letters: what stands there is taken for something else."""
    listed = whole.rindex(b"PK\x01\x02", 0, whole.rindex(name.encode()))
    damaged = bytearray(whole)
    struct.pack_into("<HH", damaged, listed + 28, 0, len(name.encode()))
    return bytes(damaged)


@pytest.mark.parametrize("cut", [1024, 1024 + 100])
def test_a_tar_gz_of_a_tar_that_was_cut_is_not_taken_for_a_smaller_one(tmp_path: Path, cut: int) -> None:
    """As what gzip makes of the words of a tar that was stopped: its checksum is right."""
    whole = stored(".tar", tmp_path, {"a.txt": b"words", "b.txt": b"more"}).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(gzip.compress(whole[:cut]))
    with refused("archive-unreadable", file=re.compile(r"cut\.tar\.gz$"), reason=re.compile("end marker is missing")):
        read_first(tmp_path / "cut.tar.gz", ["b.txt"])


@pytest.mark.parametrize("cut", [0, 1, 8])
def test_a_tar_gz_that_was_cut_or_damaged_anywhere_is_told(tmp_path: Path, cut: int) -> None:
    """Without its last bytes, the checksum and the length, or with a byte in a file that became another one."""
    source = as_tar(tmp_path / "some.tar.gz", {"a.csv": b"-0.132", "b.csv": b"2"})
    whole = source.read_bytes()
    plain = gzip.decompress(whole)
    damaged = gzip.compress(plain.replace(b"-0.132", b"-9.132"), mtime=0)[:-8] + gzip.compress(plain, mtime=0)[-8:]
    source.write_bytes(whole[:-cut] if cut else damaged)
    with refused("archive-unreadable", file=re.compile(r"some\.tar\.gz$")):
        read_first(source, ["a.csv"])
