"""A run's folder: when it may be begun, what it refuses, and a task as plain values."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.atomic import write_whole
from csad.auditing.of_run import AUDIT_FILE as AUDIT
from csad.cli.commands.report import PAGE
from csad.data.pairs import Related
from csad.data.samples import Classes, Number, Task
from csad.runs.best_epoch import EPOCHS
from csad.runs.build import describe, task_from
from csad.runs.digests import ROWS_FILE as ROWS
from csad.runs.folder import OURS, REPORTS, TRAIN_ALIKE, Folder
from csad.runs.listeners import FOLDER as TENSORBOARD
from csad.runs.parse import toml
from csad.sweeps.tuning.tune import FILE as CHOICE
from tests.support.messages import refused

CONFIG: dict[str, Any] = {
    "csad": "0.1.0",
    "seed": 0,
    "train": {"epochs": 3, "rate": 0.1},
    "net": {"head": (), "backbone": "mlp"},
}


def begun(place: Path) -> Folder:
    folder = Folder(place)
    assert folder.begin(CONFIG, resume=False, force=False) is False
    (place / "log.jsonl").write_text("{}\n")
    return folder


def contents(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


def test_a_new_run_makes_its_folder_and_writes_its_config(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "some" / "where" / "run")
    assert folder.begin(CONFIG, resume=False, force=False) is False
    wanted = CONFIG | {"net": {"head": [], "backbone": "mlp"}}
    assert folder.read_config() == wanted
    assert list(contents(folder.path)) == ["config.toml"]


def test_an_empty_folder_may_be_begun_in(tmp_path: Path) -> None:
    assert Folder(tmp_path).begin(CONFIG, resume=False, force=False) is False
    assert Folder(tmp_path).read_config()["seed"] == 0


def test_an_existing_run_is_never_overwritten_unasked(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    before = contents(folder.path)
    with refused("run-exists-already", folder=folder.path):
        folder.begin(CONFIG, resume=False, force=False)
    assert contents(folder.path) == before


def test_force_begins_anew_over_a_run(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    folder.checkpoint.parent.mkdir()
    folder.checkpoint.write_text("old")
    assert folder.begin(CONFIG | {"seed": 5}, resume=False, force=True) is False
    assert list(contents(folder.path)) == ["config.toml"]
    assert folder.read_config()["seed"] == 5


def test_force_begins_anew_through_a_link_and_leaves_what_links_point_at(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("kept")
    (folder.path / "to").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(folder.path)
    Folder(tmp_path / "link").begin(CONFIG, resume=False, force=True)
    assert list(contents(folder.path)) == ["config.toml"]
    assert (tmp_path / "elsewhere" / "kept").read_text() == "kept"


def test_resume_and_force_together_are_refused(tmp_path: Path) -> None:
    with refused("resume-and-force"):
        Folder(tmp_path / "run").begin(CONFIG, resume=True, force=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("resume", "force"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("name", ["notes.txt", "config.toml"])
def test_a_folder_that_is_no_run_is_refused_even_with_force(
    tmp_path: Path, name: str, resume: bool, force: bool
) -> None:
    (tmp_path / name).write_text("title = 'mine'\n")
    with refused("folder-not-a-run"):
        Folder(tmp_path).begin(CONFIG, resume=resume, force=force)
    assert contents(tmp_path) == {name: "title = 'mine'\n"}


@pytest.mark.parametrize("force", [False, True])
def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path, force: bool) -> None:
    (tmp_path / "run").write_text("mine")
    with refused("folder-not-a-run"):
        Folder(tmp_path / "run").begin(CONFIG, resume=False, force=force)
    with refused("out-not-writable", reason="Not a directory"):
        Folder(tmp_path / "run" / "deeper").begin(CONFIG, resume=False, force=force)
    assert contents(tmp_path) == {"run": "mine"}


@pytest.mark.parametrize("force", [False, True])
def test_a_run_whose_config_is_broken_is_not_overwritten(tmp_path: Path, force: bool) -> None:
    (tmp_path / "config.toml").write_bytes(b"csad = \xff\n")
    with refused("run-config-unreadable", file=tmp_path / "config.toml"):
        Folder(tmp_path).begin(CONFIG, resume=False, force=force)
    assert (tmp_path / "config.toml").read_bytes() == b"csad = \xff\n"


def test_a_run_that_is_begun_anew_leaves_what_csad_did_not_write(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    (folder.path / "plots").mkdir()
    (folder.path / "plots" / "a.png").write_bytes(b"mine")
    (folder.path / "notes.txt").write_text("mine")
    for name in OURS[1:]:
        path = folder.path / name
        path.mkdir(exist_ok=True) if "." not in name else path.write_text("ours")
    folder.begin(CONFIG, resume=False, force=True)
    assert {entry.name for entry in folder.path.iterdir()} == {"plots", "notes.txt", "config.toml"}
    assert (folder.path / "plots" / "a.png").read_bytes() == b"mine"


def test_resume_goes_on_with_a_run_of_the_same_settings(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    before = contents(folder.path)
    assert folder.begin(CONFIG, resume=True, force=False) is True
    assert contents(folder.path) == before


def test_a_run_that_does_not_tell_how_it_holds_pixels_is_gone_on_with(tmp_path: Path) -> None:
    """As runs of earlier times do not: that their data are the same is for the fingerprint to say."""
    folder = Folder(tmp_path / "run")
    folder.begin(CONFIG | {"about": {"fingerprint": "1a"}}, resume=False, force=False)
    now = {"fingerprint": "1a", "pixels": "bytes"}
    assert folder.begin(CONFIG | {"about": now}, resume=True, force=False) is True
    with refused("run-settings-changed", settings="about.words"):
        folder.begin(CONFIG | {"about": now | {"words": 2}}, resume=True, force=False)
    with refused("training-data-changed"):
        folder.begin(CONFIG | {"about": now | {"fingerprint": "1b"}}, resume=True, force=False)


def test_resume_without_a_run_is_an_input_error_that_makes_nothing(tmp_path: Path) -> None:
    with refused("no-run-to-resume"):
        Folder(tmp_path / "run").begin(CONFIG, resume=True, force=False)
    assert not (tmp_path / "run").exists()


def test_resume_with_other_settings_names_all_that_changed(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    other = {
        "csad": "0.1.0",
        "seed": 1,
        "train": {"epochs": 4, "rate": 0.1, "fresh": 1},
        "net": {"backbone": "mlp"},
        "more": {"a": 1},
    }
    changed = "more.a, net.head, seed, train.epochs, train.fresh"
    with refused("run-settings-changed", folder=folder.path, settings=changed):
        folder.begin(other, resume=True, force=False)
    assert folder.read_config()["seed"] == 0


def test_resume_takes_a_run_of_a_version_that_trains_alike_and_of_no_other(tmp_path: Path) -> None:
    assert csad.__version__ in TRAIN_ALIKE
    folder = begun(tmp_path / "run")
    assert folder.begin(CONFIG | {"csad": "0.2.0"}, resume=True, force=False)
    with refused("run-settings-changed", settings="csad"):
        folder.begin(CONFIG | {"csad": "9.0"}, resume=True, force=False)


def test_a_folder_without_a_config_is_no_run(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with refused("run-config-missing", folder=place):
            Folder(place).read_config()


@pytest.mark.parametrize("text", ["seed = ", "[train\n", "a = 1\na = 2\n", "\x00"])
def test_a_broken_config_is_an_input_error_of_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with refused("run-config-unreadable", file=tmp_path / "config.toml") as caught:
        Folder(tmp_path).read_config()
    assert "\n" not in str(caught.value)


def test_a_result_is_read_once_it_is_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.read_result() is None
    folder.result.write_text(json.dumps({"metrics": {}}))
    assert folder.read_result() == {"metrics": {}}


def test_a_broken_result_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"metrics": ')
    with refused("run-result-unreadable", file=tmp_path / "result.json"):
        Folder(tmp_path).read_result()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.txt", "first")
    write_whole(tmp_path / "a.txt", "σ²")
    assert contents(tmp_path) == {"a.txt": "σ²"}


TASKS = [
    Task("table", (8,), Classes(2, ("no", "yes")), (Classes(3, ("a", "b", "c")), Classes(2)), ("race", "sex")),
    Task("image", (3, 8, 8), Classes(10), (Classes(8),) * 3, ("r", "g", "b"), Related("near_bias", (1, 1, 0.5))),
    Task(
        "age", (2, 4), Number(), (Number(), Classes(2, ('the "one"', "σ²"))), ("height", "sex"), Related("same_sample")
    ),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_comes_back_from_its_description(task: Task) -> None:
    assert task_from(describe(task)) == task
    assert task_from(tomllib.loads(toml({"about": describe(task)}))["about"]) == task


def test_a_task_of_numpys_numbers_and_lists_comes_back_plain() -> None:
    counts = np.array([2, 3])
    task = Task("own", [4], Classes(counts[0]), (Classes(counts[1]),), ["b"], Related("near_bias", (np.float64(1.5),)))  # type: ignore[arg-type]
    found = task_from(tomllib.loads(toml({"about": describe(task)}))["about"])
    assert found == Task("own", (4,), Classes(2), (Classes(3),), ("b",), Related("near_bias", (1.5,)))


def test_all_that_commands_write_into_a_run_is_known(kept: csad.Run) -> None:
    assert kept.folder is not None
    assert {entry.name for entry in kept.folder.iterdir()} <= set(OURS)
    assert {ROWS, CHOICE, EPOCHS, TENSORBOARD, AUDIT, PAGE, *REPORTS} <= set(OURS)
    place = Folder(Path("run"))
    files = (
        place.config,
        place.preparation,
        place.log,
        place.checkpoint.parent,
        place.result,
        place.row_predictions("x").parent,
    )
    assert {file.name for file in files} <= set(OURS)


def test_several_runs_are_not_kept_in_one(tmp_path: Path) -> None:
    folder = begun(tmp_path / "run")
    with refused("out-is-a-run", folder=folder.path):
        folder.check_home()
    Folder(tmp_path).check_home()
    Folder(tmp_path / "new").check_home()
