"""A user's own data, whatever is wrong with them: one clear sentence and exit code 2, or what was meant, told."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from csad.cli import app
from tests.support.commands import contents
from tests.support.messages import holds
from tests.support.own_case import PREDICT, Case
from tests.support.own_cases import CASES, TRAIN
from tests.support.own_file_cases import FILE_CASES
from tests.support.own_homes import moved_home, trained_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("home"), "run")


@pytest.fixture
def here(home: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, where the user stands."""
    place = moved_home(home, tmp_path / "here")
    monkeypatch.chdir(place)
    monkeypatch.delenv("CSAD_DATA", raising=False)
    return place


@pytest.mark.parametrize("case", [*CASES, *FILE_CASES], ids=lambda case: case.name.replace(" ", "-"))
def test_bad_data_give_one_sentence_and_change_nothing(
    case: Case, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case.before(here)
    before = contents(here)
    result = CliRunner().invoke(app, [*case.words, *(["--quiet"] if not case.works else [])])
    assert result.exit_code == (0 if case.works else 2), result.output + repr(result.exception)
    assert holds(result.stderr, case.says), result.stderr
    after = contents(here)
    assert {name: after.get(name, "gone") for name in before} == before
    assert not (here / "executed").exists()
    assert capfd.readouterr() == ("", "")
    if not case.works:
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("csad: ")
        assert len(result.stderr) < 600
        assert after == before


def test_every_case_has_a_name_of_its_own_and_there_are_many() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 80


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """While this lasts no file can grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("words", "size"), [(TRAIN, 100), (TRAIN, 4000), (PREDICT, 100)], ids=["train, config", "train, weights", "predict"]
)
def test_a_disk_that_is_full_is_one_sentence_too(here: Path, words: list[str], size: int) -> None:
    before = contents(here)
    with full_disk(size):
        result = CliRunner().invoke(app, [*words, "--quiet"])
    assert result.exit_code in (1, 2), repr(result.exception)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "(File too large)" in result.stderr
    after = contents(here)
    assert {name: after.get(name) for name in before} == before
    assert not (here / "predictions.csv").exists()
