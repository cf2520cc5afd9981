"""Pretraining that runs share: done once, kept by all that made it, and the same as if each run had done its own."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import csad
from csad.runs.build import build, plan_run, read_dataset
from csad.runs.planned_run import run_config
from csad.sweeps.shared_pretraining import common_stages, pretraining_key
from csad.sweeps.sweep import sweep as sweep_anywhere

sweep = partial(sweep_anywhere, device="cpu")
QUICK = {
    "train.target_epochs": 2,
    "train.bias_epochs": 1,
    "train.estimator_epochs": 1,
    "train.epochs": 1,
    "train.batch_size": 16,
    "data.rows": 48,
}
CSAD = QUICK | {"inner_steps": 2}


def word(method: str = "csad", stages: int = 1, seed: int = 0, task: str = "toy-table", **settings: Any) -> str:
    given = (CSAD if method == "csad" else QUICK) | {name.replace("__", "."): v for name, v in settings.items()}
    dataset, plan = plan_run(task, method, given, "", read_dataset)
    return pretraining_key(
        run_config(task, method, seed, plan, dataset, dataset.train.fingerprint()),
        build(dataset.task, method, plan, seed),
        stages,
    )


def heard_stages(heard: Any) -> Counter[str]:
    """How often an epoch of each stage was heard to its end."""
    return Counter(name for name, step, _ in heard.steps if (step + 1) % 3 == 0)


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


SAME = [
    {"debias_weight": 3.0},
    {"inner_steps": 5},
    {"bound": "jsd"},
    {"train__rate": 0.1},
    {"train__epochs": 7},
    {"train__average": 0.9},
    {"train__decay": 0.5},
    {"train__estimator_epochs": 3},
]
OTHER = [
    {"seed": 1},
    {"task": "toy-image", "net__backbone": "mlp"},
    {"data__seed": 1},
    {"data__rows": 64},
    {"data__agreement": 0.7},
    {"net__branch": 4},
    {"net__hidden": (8,)},
    {"train__pretrain_rate": 0.01},
    {"train__target_epochs": 3},
    {"train__batch_size": 8},
    {"train__weight_decay": 0.1},
    {"train__partial": "drop"},
    {"train__balance": "target"},
    {"train__optimizer": "sgd"},
    {"train__precision": "tf32"},
]


def told(settings: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in settings.items())


@pytest.mark.parametrize("settings", SAME, ids=told)
def test_what_comes_later_leaves_pretraining_as_it_is(settings: dict[str, Any]) -> None:
    assert word(stages=1, **settings) == word(stages=1)
    assert word(stages=2, **settings) == word(stages=2)


@pytest.mark.parametrize("settings", OTHER, ids=told)
def test_another_pretraining_has_another_key(settings: dict[str, Any]) -> None:
    assert word(stages=1, **settings) != word(stages=1)
    assert word(stages=2, **settings) != word(stages=2)


def test_the_length_of_the_bias_stage_says_nothing_of_the_target_stage_before_it() -> None:
    assert word(stages=1, train__bias_epochs=3) == word(stages=1)
    assert word(stages=2, train__bias_epochs=3) != word(stages=2)


def test_the_target_stage_is_vanillas_and_both_stages_have_keys_of_their_own() -> None:
    assert word("vanilla", stages=1) == word("csad", stages=1)
    assert word("csad", stages=1) != word("csad", stages=2)


def test_csad_shares_two_stages_and_vanilla_one() -> None:
    for method, count in (("csad", 2), ("csad-content", 2), ("ad-jsd", 2), ("vanilla", 1)):
        dataset, plan = plan_run("toy-table", method, QUICK, "", read_dataset)
        assert common_stages(build(dataset.task, method, plan, 0)) == count


@pytest.fixture
def three(tmp_path: Path, heard: Any) -> Any:
    """Three runs that differ in λ, their weights kept."""
    settings = CSAD | {"debias_weight": [0.0, 1.0, 4.0]}
    return sweep("toy-table", settings=settings, out=tmp_path, listener=heard, keep_weights=True)


def test_pretraining_is_done_once_for_runs_that_differ_in_lambda(three: Any, heard: Any) -> None:
    assert heard_stages(heard) == {"target": 2, "bias": 1, "estimator": 1, "debias": 1}
    kept = sorted(path.name for path in (three.out / "shared" / "pretrained").iterdir())
    assert kept == sorted(f"{word(stages=count)}.{end}" for count in (1, 2) for end in ("jsonl", "safetensors"))


def test_every_run_tells_of_the_pretraining_that_it_shares(three: Any) -> None:
    for run in three.runs:
        lines = logged(three.out / run["name"])
        assert [line["stage"] for line in lines] == sorted(
            (line["stage"] for line in lines), key=["target", "bias", "estimator", "debias"].index
        )
        assert {line["stage"] for line in lines} == {"target", "bias", "estimator", "debias"}
        assert [line["step"] for line in lines] == sorted({line["step"] for line in lines})
        assert lines[-1]["step"] == 5 * 3 - 1
        assert run["result"]["seconds"] == max(line["seconds"] for line in lines)
    first, second, _ = (logged(three.out / run["name"]) for run in three.runs)
    assert [line for line in first if line["stage"] in ("target", "bias")] == [
        line for line in second if line["stage"] in ("target", "bias")
    ]


def test_a_run_that_shares_its_pretraining_is_what_it_is_alone(three: Any, tmp_path: Path) -> None:
    for run in three.runs[1:]:
        place = tmp_path / "alone" / run["name"]
        csad.train("toy-table", settings=CSAD | run["values"], out=place, device="cpu")
        one, other = (load_file(folder / "checkpoint/state.safetensors") for folder in (place, three.out / run["name"]))
        assert one.keys() == other.keys()
        for name, value in one.items():
            torch.testing.assert_close(other[name], value, rtol=1e-4, atol=1e-5, msg=name)
        alone = json.loads((place / "result.json").read_text())["metrics"]
        assert alone.keys() == run["result"]["metrics"].keys()
        for split, figures in run["result"]["metrics"].items():
            assert figures == pytest.approx(alone[split], abs=1e-5), split


def test_csad_after_vanilla_takes_over_its_target_stage(tmp_path: Path, heard: Any) -> None:
    shared, options = tmp_path / "shared", {"seeds": (0, 1), "listener": heard}
    sweep("toy-table", "vanilla", settings=QUICK, out=tmp_path / "vanilla", shared=shared, **options)
    assert heard_stages(heard) == {"target": 2, "continued": 1}
    heard.steps.clear()
    made = sweep("toy-table", settings=CSAD, out=tmp_path / "csad", shared=shared, **options)
    assert heard_stages(heard) == {"bias": 1, "estimator": 1, "debias": 1}
    alone = csad.train("toy-table", settings=CSAD, seed=1, device="cpu")
    for split, figures in made.runs[1]["result"]["metrics"].items():
        assert figures == pytest.approx(alone.result["metrics"][split], abs=1e-5), split
    found = [line["losses"] for line in logged(tmp_path / "csad" / "seed=1") if line["step"] % 3 == 2]
    wanted = [line["losses"] for line in alone.log.lines if line["step"] % 3 == 2]
    assert len(found) == len(wanted) == 5
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-4)


def test_a_second_sweep_on_the_same_pretraining_does_none(tmp_path: Path, heard: Any) -> None:
    shared = tmp_path / "shared"
    for k, weights in enumerate(([0.5, 1.0], [2.0, 3.0])):
        heard.steps.clear()
        settings = CSAD | {"debias_weight": weights}
        sweep("toy-table", settings=settings, out=tmp_path / str(k), shared=shared, listener=heard)
    assert heard_stages(heard) == {"estimator": 1, "debias": 1}
    assert len(list((shared / "pretrained").glob("*.safetensors"))) == 2


def test_a_run_that_is_lost_in_pretraining_leaves_none_behind(tmp_path: Path, heard: Any) -> None:
    settings = CSAD | {"train.pretrain_rate": [1e30, 0.001]}
    made = sweep("toy-table", settings=settings, out=tmp_path, listener=heard)
    assert made.lost == ["train.pretrain_rate=1e+30,seed=0"]
    kept = {path.stem for path in (tmp_path / "shared" / "pretrained").glob("*.safetensors")}
    assert kept == {word(stages=count, train__pretrain_rate=0.001) for count in (1, 2)}


class Dies:
    """Stops the program, as a kill would, at a logged step of a stage."""

    def __init__(self, heard: Any, stage: str, time: int) -> None:
        self.stage, self.left, self.hears = stage, time, heard.progress
        heard.progress = self

    def __call__(self, stage: Any, *about: Any) -> None:
        self.hears(stage, *about)
        self.left -= stage.name == self.stage
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stage", "time", "again"),
    [
        ("target", 2, {"target": 2, "bias": 1, "estimator": 1, "debias": 1}),
        ("bias", 1, {"bias": 1, "estimator": 1, "debias": 1}),
        ("debias", 1, {"debias": 1}),
    ],
)
def test_what_died_in_a_stage_goes_on_with_that_stage_and_tells_no_step_twice(
    stage: str, time: int, again: dict[str, int], tmp_path: Path, heard: Any
) -> None:
    options: dict[str, Any] = {"settings": CSAD, "seeds": (0, 1), "listener": heard}
    whole = sweep("toy-table", out=tmp_path / "whole", **options)
    hears = heard.progress
    Dies(heard, stage, time)
    with pytest.raises(KeyboardInterrupt):
        sweep("toy-table", out=tmp_path / "again", **options)
    heard.progress = hears
    heard.steps.clear()
    made = sweep("toy-table", out=tmp_path / "again", resume=True, **options)
    assert heard_stages(heard) == again
    for one, other in zip(whole.runs, made.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]
        before, after = (logged(folder / one["name"]) for folder in (whole.out, made.out))
        assert [line["step"] for line in after] == [line["step"] for line in before]
        assert [line["losses"] for line in after] == [line["losses"] for line in before]


@pytest.mark.parametrize("rate", [0.05, 0.001], ids=["other settings", "the same settings"])
def test_what_a_stopped_sweep_left_is_nothing_to_one_that_begins_anew(rate: float, tmp_path: Path, heard: Any) -> None:
    options: dict[str, Any] = {"seeds": (0, 1), "listener": heard}
    settings = CSAD | {"train.rate": rate}
    fresh = sweep("toy-table", settings=settings, out=tmp_path / "fresh", **options)
    hears = heard.progress
    Dies(heard, "debias", 1)
    with pytest.raises(KeyboardInterrupt):
        sweep("toy-table", settings=CSAD | {"train.rate": 0.001}, out=tmp_path / "runs", **options)
    heard.progress = hears
    made = sweep("toy-table", settings=settings, out=tmp_path / "runs", force=True, **options)
    for one in made.runs:
        found, wanted = (logged(folder / one["name"]) for folder in (made.out, fresh.out))
        assert [line["losses"] for line in found] == [line["losses"] for line in wanted]
