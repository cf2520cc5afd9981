"""Files in folders and archives: in which order they lie, and one of them alone, or why it cannot be read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from picture_files import KINDS, as_zip, stored

from csad.data.archives import open_archive, read_first
from csad.errors import InputError


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
    said = r"cut\.tar is cut short or not what its name says .*: download it again\.$"
    with pytest.raises(InputError, match=said), open_archive(tmp_path / "cut.tar", []):
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
    with pytest.raises(InputError, match=r"^.*some\.zip/a\.txt is cut short or not what its name says .*: download it"):
        read_first(source, ["a.txt"])
