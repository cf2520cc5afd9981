"""TensorBoard hears what the log holds, of one run or of many, and a run that goes on leaves no doubles."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from csad.cli import app
from csad.errors import InputError

WORDS = [
    "train", "toy-table", "--method", "vanilla", "--set", "train.target_epochs=2", "--set", "train.epochs=2",
    "--device", "cpu", "--quiet",
]  # fmt: skip


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, [*WORDS, *words])


def events(run: Path) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of every scalar, as TensorBoard itself reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    found.Reload()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def logged(run: Path) -> dict[str, list[tuple[int, float]]]:
    """The same as the log has it."""
    told = defaultdict(list)
    for text in (run / "log.jsonl").read_text().splitlines():
        line = json.loads(text)
        for kind in ("losses", "validation"):
            for name, value in line.get(kind, {}).items():
                told[f"{kind}/{name}"].append((line["step"], pytest.approx(value, rel=1e-6)))
    return dict(told)


def test_losses_and_validation_figures_are_those_of_the_log(tmp_path: Path) -> None:
    result = typed("--tensorboard", "--out", str(tmp_path / "run"))
    assert result.exit_code == 0, result.output
    found = events(tmp_path / "run")
    assert set(found) == {"losses/target", "validation/accuracy"}
    assert len(found["validation/accuracy"]) == 2
    assert found == logged(tmp_path / "run")


def test_each_run_of_a_sweep_has_its_own(tmp_path: Path) -> None:
    result = typed("--tensorboard", "--seed", "0,1", "--out", str(tmp_path / "many"))
    assert result.exit_code == 0, result.output
    runs = sorted(path.parent for path in (tmp_path / "many").rglob("log.jsonl"))
    assert len(runs) == 2
    for run in runs:
        assert events(run) == logged(run)
    assert events(runs[0]) != events(runs[1])


def test_without_the_option_there_are_no_event_files(tmp_path: Path) -> None:
    assert typed("--out", str(tmp_path / "run")).exit_code == 0
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_a_run_that_goes_on_tells_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from csad.training import fit

    run, save = tmp_path / "run", fit.Training._save

    def stop_after_first_stage(training: Any) -> None:
        save(training)
        raise KeyboardInterrupt

    monkeypatch.setattr(fit.Training, "_save", stop_after_first_stage)
    assert typed("--tensorboard", "--out", str(run)).exit_code == 130
    first = events(run)
    monkeypatch.setattr(fit.Training, "_save", save)
    result = typed("--tensorboard", "--resume", "--out", str(run))
    assert result.exit_code == 0, result.output
    assert 0 < len(first["losses/target"]) < len(events(run)["losses/target"])
    assert events(run) == logged(run)


def test_without_the_package_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    result = typed("--tensorboard", "--out", str(tmp_path / "run"))
    assert result.exit_code == 2
    assert result.stderr == f"csad: {InputError('tensorboard-not-installed')}\n"
    assert not (tmp_path / "run").exists()


def test_events_in_a_folder_that_a_link_leads_to_stay(tmp_path: Path) -> None:
    run, others = tmp_path / "run", tmp_path / "others"
    assert typed("--out", str(run)).exit_code == 0
    others.mkdir()
    (others / "events.out.tfevents.1").write_text("mine")
    (run / "tensorboard").symlink_to(others)
    (run / "result.json").unlink()
    (run / "checkpoint" / "state.safetensors").unlink()
    assert typed("--out", str(run), "--resume", "--tensorboard").exit_code == 0
    assert [path.name for path in others.iterdir()] == ["events.out.tfevents.1"]
    assert events(run) == logged(run)
