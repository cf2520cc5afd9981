from __future__ import annotations

import hashlib
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from csad.data.download import find_or_fetch
from tests.support.messages import refused

RIGHT = b"the right bytes" * 1000
FILES = {"rows.gz": hashlib.sha256(RIGHT).hexdigest()}


@pytest.fixture(autouse=True)
def nothing_at_hand(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSAD_DATA", raising=False)


def nobody_listens() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def everything_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_the_first_mirror_that_has_the_right_bytes_is_taken(mirror: Any, cache: Path) -> None:
    mirror.pages |= {"/second/rows.gz": b"wrong bytes", "/third/rows.gz": RIGHT}
    mirrors = tuple(f"{mirror.url}/{name}" for name in ("first", "second", "third"))
    found = find_or_fetch(FILES, "rows", mirrors, None)
    assert found == {"rows.gz": cache / "rows" / "rows.gz"}
    assert found["rows.gz"].read_bytes() == RIGHT
    assert mirror.asked == ["/first/rows.gz", "/second/rows.gz", "/third/rows.gz"]
    assert everything_in(cache) == ["rows.gz"]


def test_what_is_in_the_cache_is_not_fetched_again_unless_it_broke(mirror: Any, cache: Path) -> None:
    mirror.pages["/rows.gz"] = RIGHT
    path = find_or_fetch(FILES, "rows", (mirror.url,), None)["rows.gz"]
    find_or_fetch(FILES, "rows", (mirror.url,), None)
    assert len(mirror.asked) == 1
    path.write_bytes(RIGHT[:-1])
    find_or_fetch(FILES, "rows", (mirror.url + "/",), None)
    assert len(mirror.asked) == 2
    assert path.read_bytes() == RIGHT


def test_when_all_mirrors_fail_one_sentence_names_them_and_what_to_do(mirror: Any, cache: Path) -> None:
    mirror.pages["/wrong/rows.gz"] = b"wrong bytes"
    closed = nobody_listens()
    sources = (
        f"{mirror.url}/none/rows.gz (HTTP 404), {mirror.url}/wrong/rows.gz (wrong checksum), "
        f"{closed}/rows.gz (no connection)"
    )
    with refused("download-failed", file="rows.gz", sources=sources) as error:
        find_or_fetch(FILES, "rows", (f"{mirror.url}/none", f"{mirror.url}/wrong", closed), None)
    for words in ("FOLDER/rows", "--data-root FOLDER", "CSAD_DATA=FOLDER"):
        assert words in error.value.facts["advice"]
    assert everything_in(cache) == []


def test_a_download_that_breaks_off_leaves_nothing(mirror: Any, cache: Path) -> None:
    class Short(bytes):
        def __len__(self) -> int:
            return super().__len__() + 10

    mirror.pages["/rows.gz"] = Short(RIGHT)
    with refused("download-failed"):
        find_or_fetch(FILES, "rows", (mirror.url,), None)
    assert everything_in(cache) == []


@pytest.mark.parametrize("place", ["rows/rows.gz", "rows.gz", "rows/rows", "rows"])
@pytest.mark.parametrize("by_variable", [False, True])
def test_files_under_the_data_root_are_used_where_they_lie(
    tmp_path: Path, place: str, by_variable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine" / place
    path.parent.mkdir(parents=True)
    path.write_bytes(RIGHT)
    if by_variable:
        monkeypatch.setenv("CSAD_DATA", str(tmp_path / "mine"))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert find_or_fetch(FILES, "rows", (), None if by_variable else tmp_path / "mine") == {"rows.gz": path}


def test_a_broken_file_under_the_data_root_is_named_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "rows.gz").write_bytes(RIGHT[:1000])
    with refused("file-damaged", problem=re.compile(r"\(1,000 bytes\)")):
        find_or_fetch(FILES, "rows", (), tmp_path)
    assert (tmp_path / "rows.gz").read_bytes() == RIGHT[:1000]


def test_a_data_root_that_does_not_exist_is_an_input_error(tmp_path: Path) -> None:
    with refused("data-folder-missing", folder=tmp_path / "nowhere"):
        find_or_fetch(FILES, "rows", (), tmp_path / "nowhere")


@pytest.mark.parametrize("cache_named", [False, True])
def test_without_pooch_the_error_says_so(monkeypatch: pytest.MonkeyPatch, cache_named: bool) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    if not cache_named:
        monkeypatch.delenv("CSAD_CACHE")
    with refused("pooch-not-installed", advice=re.compile("FOLDER/rows")):
        find_or_fetch(FILES, "rows", (nobody_listens(),), None)


def test_a_cache_that_cannot_be_made_is_an_input_error(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with refused("download-folder-not-writable", folder=cache / "rows"):
        find_or_fetch(FILES, "rows", (nobody_listens(),), None)
