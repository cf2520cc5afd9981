from __future__ import annotations

from pathlib import Path

import pytest

from csad.data.local_files import find_local_files, read_csv, read_local_file
from tests.support.messages import Refusal, refused


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "people.csv"
    path.write_text(text, encoding=encoding)
    return path


def test_files_are_found_in_their_folder_or_beside_it_under_any_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set").mkdir()
    inside, beside = tmp_path / "set" / "a.csv", tmp_path / "b.zip"
    for path in (inside, beside):
        path.touch()
    wanted = (("a.csv",), ("b", "b.zip"))
    assert find_local_files(wanted, "set", "a friend", tmp_path) == [inside, beside]
    monkeypatch.setenv("CSAD_DATA", str(tmp_path))
    assert find_local_files(wanted, "set", "a friend") == [inside, beside]


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with refused("file-unreadable"):
        read_local_file(tmp_path / "wiki.mat")


def test_all_that_is_missing_is_told_at_once_with_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CSAD_DATA", raising=False)
    with refused("dataset-files-missing") as error:
        find_local_files((("a.csv",), ("b", "b.zip")), "set", "a friend", tmp_path)
    assert str(error.value) == (
        f"a.csv, b or b.zip are not in {tmp_path / 'set'}: get the data from a friend, put them into FOLDER/set, "
        "and give --data-root FOLDER or set CSAD_DATA=FOLDER."
    )
    with refused("dataset-files-missing", files="a.csv is") as error:
        find_local_files([("a.csv",)], "set", "a friend")
    assert "no data folder" in error.value.facts["problem"]
    with refused("data-folder-missing", folder=tmp_path / "nowhere"):
        find_local_files([("a.csv",)], "set", "a friend", tmp_path / "nowhere")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_is_read_with_or_without_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    table = read_csv(written(tmp_path, 'name, age\r\n\r\n"Ada, L.", 36 \r\n,\r\nBob,\r\n', encoding))
    assert table["name"] == ["Ada, L.", "Bob"]
    assert table["age"] == ["36", ""]
    assert table.lines == [3, 5]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", Refusal("file-damaged", problem="holds no rows")),
        ("name,age\n\n", Refusal("file-damaged", problem="holds no rows")),
        (
            "name,age\nAda,36\nBob\n",
            Refusal("file-damaged", problem="has 1 values in line 3, but its header names 2 columns"),
        ),
        (
            "name,age\nAda,36,x\n",
            Refusal("file-damaged", problem="has 3 values in line 2, but its header names 2 columns"),
        ),
        ("name,age\n" + "x" * 200_000 + ",1\n", Refusal("not-a-csv-file")),
    ],
)
def test_a_broken_table_is_an_input_error(tmp_path: Path, text: str, complaint: Refusal) -> None:
    path = written(tmp_path, text)
    with refused(complaint) as error:
        read_csv(path)
    assert str(error.value).startswith(str(path))


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with refused("file-unreadable", reason="Is a directory"):
        read_csv(tmp_path)


def test_a_missing_column_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "gender,age\nf,36\n"))
    with refused("column-not-in-file", column="gendr", nearest=" Nearest: gender."):
        table["gendr"]
    with refused("column-not-in-file", column="xyz"):
        table["xyz"]
    wrong = table.wrong("age", 0, "a word")
    Refusal("file-damaged", file=table.path, problem="has '36' as age in line 2, but it must be a word").check(wrong)
