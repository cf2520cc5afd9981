from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from csad.data.datasets.face_metadata import FIELDS, Faces, ages, clean, people
from tests.support.face_files import NAN, cells, day, faces_of, record, saved
from tests.support.messages import refused


def kept(*rows: dict[str, Any], folder: Path, **rules: Any) -> list[str]:
    rules = {"least_score": 1.0, "second_face": False, "oldest": 100} | rules
    return [str(path) for path in clean(faces_of(saved(folder / "a.mat", record(*rows))), **rules).paths]


@pytest.mark.parametrize(
    ("born", "taken", "age"),
    [
        ((1981, 5, 5), 2009, 28),  # the first photo of WIKI
        ((1980, 6, 30), 2010, 30),  # the last who has had a birthday by the middle of the year
        ((1980, 7, 1), 2010, 29),
        ((1980, 12, 31), 2010, 29),
        ((1981, 1, 1), 2010, 29),
        ((1980, 2, 29), 2009, 29),  # born on a leap day
        ((1980, 2, 29), 2012, 32),
        ((2000, 2, 29), 2000, 0),
        ((1900, 2, 28), 1940, 40),  # 1900 had no leap day
        ((1900, 3, 1), 1940, 40),
        ((1895, 10, 4), 1935, 39),
        ((1864, 6, 1), 1940, 76),
        ((1582, 7, 2), 1950, 367),
        ((12, 2, 29), 1950, 1938),
        ((2015, 7, 1), 2015, -1),  # not born yet
    ],
)
def test_ages_are_counted_to_the_middle_of_the_year(born: tuple[int, int, int], taken: int, age: int) -> None:
    assert ages(np.array([float(day(*born))]), np.array([float(taken)])).tolist() == [age]


def test_the_first_days_of_matlabs_calendar_are_in_the_year_0() -> None:
    assert ages(np.array([1.0, 182, 183, 366, 367]), np.full(5, 1.0)).tolist() == [1, 1, 0, 0, 0]


def test_an_age_is_unknown_where_a_date_is() -> None:
    born = np.array([NAN, np.inf, -np.inf, 1e300, day(1980, 1, 1), day(1980, 1, 1)])
    taken = np.array([2000.0, 2000, 2000, 2000, NAN, 2000])
    assert np.isnan(ages(born, taken)).tolist() == [True] * 5 + [False]


def test_a_slow_count_with_pythons_dates_agrees() -> None:
    rng = np.random.default_rng(0)
    born, taken = rng.integers(day(1850, 1, 1), day(2015, 1, 1), 2000), rng.integers(1930, 2016, 2000)
    slow = []
    for number, year in zip(born.tolist(), taken.tolist(), strict=True):
        birth, middle = datetime.date.fromordinal(number - 366), (6, 30)
        slow.append(year - birth.year - ((birth.month, birth.day) > middle))
    assert ages(born.astype(float), taken.astype(float)).tolist() == slow


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = [{}, {"path": "48/ünü_1925-04-04.jpg", "gender": NAN, "score": -np.inf, "second": 2.5}, {"gender": 0.0}]
    faces = faces_of(saved(tmp_path / "imdb.mat", record(*rows), "imdb"), "imdb")
    assert faces.paths.tolist() == ["00/0.jpg", "48/ünü_1925-04-04.jpg", "02/2.jpg"]
    assert faces.age.tolist() == [20, 20, 20]
    assert np.array_equal(faces.gender, [1, NAN, 0], equal_nan=True)
    assert np.array_equal(faces.score, [3, -np.inf, 3])
    assert np.array_equal(faces.second_score, [NAN, 2.5, NAN], equal_nan=True)


def test_a_file_of_one_photo_can_be_read(tmp_path: Path) -> None:
    assert faces_of(saved(tmp_path / "wiki.mat", record({}))).paths.tolist() == ["00/0.jpg"]


@pytest.mark.parametrize(
    ("row", "stays"),
    [
        ({"score": 1.0}, True),
        ({"score": 0.99}, False),
        ({"score": NAN}, False),
        ({"score": -np.inf}, False),
        ({"score": np.inf}, False),
        ({"second": 0.1}, False),
        ({"second": -np.inf}, False),
        ({"gender": 0.0}, True),
        ({"gender": NAN}, False),
        ({"gender": 2.0}, False),
        ({"born": (2000, 6, 30), "taken": 2000}, True),
        ({"born": (2000, 7, 1), "taken": 2000}, False),
        ({"born": (1900, 6, 30), "taken": 2000}, True),
        ({"born": (1899, 6, 30), "taken": 2000}, False),
    ],
)
def test_a_photo_stays_only_if_every_rule_lets_it(tmp_path: Path, row: dict[str, Any], stays: bool) -> None:
    assert kept({"path": "it"}, {"path": "other"} | row, folder=tmp_path) == (["it", "other"] if stays else ["it"])


def test_the_rules_can_be_set(tmp_path: Path) -> None:
    rows = [{"score": 2.0}, {"second": 4.0}, {"born": (1899, 1, 1)}]
    assert kept(*rows, folder=tmp_path) == ["00/0.jpg"]
    assert kept(*rows, folder=tmp_path, least_score=2.5) == []
    assert kept(*rows, folder=tmp_path, second_face=True) == ["00/0.jpg", "01/1.jpg"]
    assert kept(*rows, folder=tmp_path, oldest=101) == ["00/0.jpg", "02/2.jpg"]
    assert kept(*rows, folder=tmp_path, oldest=19) == []


def test_a_picture_that_is_listed_twice_is_taken_once(tmp_path: Path) -> None:
    rows = [{"path": "b"}, {"path": "a", "score": 0.0}, {"path": "b", "gender": 0.0}, {"path": "a"}]
    assert kept(*rows, folder=tmp_path) == ["b", "a"]
    photos = clean(faces_of(tmp_path / "a.mat"), least_score=1, second_face=False, oldest=100)
    assert photos.male.tolist() == [1, 1]


def test_photos_are_of_one_person_if_their_names_begin_alike() -> None:
    paths = [
        "17/10000217_1981-05-05_2009.jpg", "17/10000217_1981-05-05_2011.jpg", "48/10000548_1925-04-04_1964.jpg",
        "01/nm0000001_rm124825600_1899-5-10_1968.jpg", "99/10000217_1981-05-05_2012.jpg", "1000.jpg", "10000.jpg",
    ]  # fmt: skip
    assert people(np.array(paths, dtype=object)).tolist() == [2, 2, 3, 4, 2, 0, 1]


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    fields = record({}, {})
    del fields[field]
    with refused("file-damaged", problem=f"has no {field} in its 'wiki'"):
        faces_of(saved(tmp_path / "a.mat", fields))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (record({}, {}) | {"dob": np.array([[1]])}, "has 2 paths, but 1 values of dob"),
        (record({}, {}) | {"gender": cells(["male", "female"])}, "has a gender .* not numbers"),
        (record({}, {}) | {"full_path": np.array([[1, 2]])}, "has a full_path that is not a list"),
        (record({}, {}) | {"full_path": cells(["a", np.array([[3]])])}, "has a full_path .* in row 1"),
        (record({}, {}) | {"full_path": cells(["a", ""])}, "has a full_path .* in row 1"),
        (record(), "has a full_path that is not a list"),
        (np.array([[1.0, 2.0]]), "has a 'wiki' that is not one struct"),
        ("wiki", "has a 'wiki' that is not one struct"),
        (np.array([(1.0,), (2.0,)], dtype=[("dob", float)]), "has a 'wiki' that is not one struct"),
    ],
)
def test_a_file_of_another_layout_is_told(tmp_path: Path, fields: Any, complaint: str) -> None:
    with refused("file-damaged", problem=re.compile(complaint)):
        faces_of(saved(tmp_path / "a.mat", fields))


def test_the_metadata_of_the_sister_set_are_told(tmp_path: Path) -> None:
    with refused("file-damaged", problem="has no variable 'imdb'"):
        faces_of(saved(tmp_path / "a.mat", record({})), "imdb")


@pytest.mark.parametrize("data", [b"", b"\0" * 200, b"<html>Not found</html>" * 20, b"PK\3\4" + bytes(range(256)) * 8])
def test_what_is_no_matlab_file_is_told(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "wiki.mat"
    path.write_bytes(data)
    with refused("file-damaged", problem=re.compile("MATLAB file of version 5|no variable 'wiki'")):
        faces_of(path)


def test_a_file_of_matlab_7_3_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wiki.mat"
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    path.write_bytes(head.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with refused("file-damaged", problem=re.compile(r"MATLAB 7\.3 file, .* version 5")):
        faces_of(path)


def test_a_file_that_is_cut_short_anywhere_is_told(tmp_path: Path) -> None:
    whole = saved(tmp_path / "whole.mat", record({}, {}, {})).read_bytes()
    path = tmp_path / "wiki.mat"
    for size in range(0, len(whole) - 1, 23):
        path.write_bytes(whole[:size])
        with refused("file-damaged", file=path, problem=re.compile("^(is not a complete|has )")):
            faces_of(path)


def test_a_packed_file_with_a_wrong_byte_anywhere_is_told(tmp_path: Path) -> None:
    path = saved(tmp_path / "wiki.mat", record({}, {}, {}), packed=True)
    whole = path.read_bytes()
    assert faces_of(path).age.tolist() == [20, 20, 20]
    for place in range(136, len(whole)):  # after the header and the length
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 0x55,)) + whole[place + 1 :])
        with refused("file-damaged", file=path, problem="is not a complete MATLAB file of version 5"):
            faces_of(path)


def test_the_files_made_here_look_like_the_real_one(tmp_path: Path, wiki_root: Path) -> None:
    real = loadmat(wiki_root / "wiki" / "wiki.mat")["wiki"]
    made = loadmat(saved(tmp_path / "wiki.mat", record({}, {})))["wiki"]
    assert made.shape == real.shape == (1, 1)
    assert made.dtype.names == real.dtype.names
    for field in real.dtype.names:
        mine, theirs = made[0, 0][field], real[0, 0][field]
        assert (mine.dtype, mine.shape[0], mine.ndim) == (theirs.dtype, theirs.shape[0], theirs.ndim), field
        if theirs.dtype == object:
            assert mine[0, 0].dtype.kind == theirs[0, 0].dtype.kind
            assert mine[0, 0].shape == theirs[0, 0].shape


@pytest.fixture(scope="session")
def wiki_faces(wiki_root: Path) -> Faces:
    return faces_of(wiki_root / "wiki" / "wiki.mat")


def test_wiki_has_62328_photos_and_38138_clean_ones(wiki_faces: Faces) -> None:
    assert len(wiki_faces.paths) == len(set(wiki_faces.paths)) == 62_328
    photos = clean(wiki_faces, least_score=1, second_face=False, oldest=100)
    assert len(photos.paths) == 38_138
    counts = {
        (male, old): int(((photos.male == male) & (photos.age >= 40 if old else photos.age < 30)).sum())
        for male in (0, 1)
        for old in (False, True)
    }
    assert counts == {(0, False): 4580, (0, True): 2797, (1, False): 10_941, (1, True): 11_701}


def test_wikis_ages_agree_with_the_dates_in_its_file_names(wiki_faces: Faces) -> None:
    for path, age in zip(wiki_faces.paths[:5000], wiki_faces.age[:5000], strict=True):
        birth, taken = path.removesuffix(".jpg").split("_")[1:]
        year, month = map(int, birth.split("-")[:2])
        assert age == int(taken) - year - (month >= 7), path
