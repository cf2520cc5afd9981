"""Links that a stranger put into a folder: csad writes through none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import csad
from csad.training.log import Log
from tests.support.commands import SHORT, typed
from tests.support.messages import refused

# What csad writes into a run folder that is read, and so through a link that a stranger put there.
LINKS = {
    "audit.json.new": ["audit", "good"],
    "audit.json": ["audit", "good"],
    "report.html.new": ["report", "good"],
    "model.safetensors.new.safetensors": ["export", "good", "--format", "safetensors", "--no-data"],
}


@pytest.mark.parametrize("name", LINKS)
def test_nothing_is_written_through_a_link_in_a_strangers_folder(here: Path, name: str) -> None:
    (here / "precious").write_text("mine")
    (here / "good" / name).symlink_to(here / "precious")
    result = typed(*LINKS[name])
    assert result.exit_code == 0, result.stderr
    assert (here / "precious").read_text() == "mine"
    assert (here / "good" / name.partition(".new")[0]).is_file()


def test_going_on_does_not_write_through_a_link_either(here: Path) -> None:
    (here / "precious").write_text("mine")
    (here / "good" / "log.jsonl").unlink()
    (here / "good" / "log.jsonl").symlink_to(here / "precious")
    (here / "good" / "result.json").unlink()
    result = typed("train", "toy-table", "--method", "vanilla", *SHORT, "--out", "good", "--resume", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert (here / "precious").read_text() == "mine"
    assert (here / "good" / "log.jsonl").is_file()


def test_a_sweep_does_not_write_through_a_link_among_what_its_runs_share(here: Path) -> None:
    settings = {"train.target_epochs": 1, "train.epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1}
    csad.sweep("toy-table", seeds=[0, 1], settings=settings, shared=here / "shared", out=here / "once")
    logs = [path.relative_to(here / "shared") for path in (here / "shared").rglob("*.jsonl")]
    assert logs
    (here / "precious").write_text("mine")
    for log in logs:
        (here / "linked" / log).parent.mkdir(parents=True, exist_ok=True)
        (here / "linked" / log).symlink_to(here / "precious")
    csad.sweep("toy-table", seeds=[0, 1], settings=settings, shared=here / "linked", out=here / "again")
    assert (here / "precious").read_text() == "mine"


def test_a_log_is_not_added_to_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "log.jsonl").symlink_to(tmp_path / "precious")
    with refused("path-is-symlink"):
        Log(tmp_path / "log.jsonl").write({"step": 0})
    assert (tmp_path / "precious").read_text() == "mine"
