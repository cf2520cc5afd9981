"""Several values and seeds: each combination an ordinary run folder, whatever program it was trained in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tomllib
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import csad
from csad.data.datasets.toys import toy_table
from csad.errors import InputError, Interrupted
from csad.messages import message
from csad.runs.run import data_of
from csad.sweeps.sweep import Sweep, is_sweep, variants
from csad.sweeps.sweep import sweep as sweep_anywhere
from tests.support.listeners import Heard
from tests.support.messages import refused

sweep = partial(sweep_anywhere, device="cpu")
QUICK = {
    "train.target_epochs": 1,
    "train.bias_epochs": 1,
    "train.estimator_epochs": 1,
    "train.epochs": 2,
    "train.batch_size": 32,
    "train.pretrain_rate": 0.02,
    "train.rate": 0.01,
    "data.rows": 64,
    "inner_steps": 2,
}
PLAIN = {name: value for name, value in QUICK.items() if not name.startswith("data.")}
FOUR = QUICK | {"debias_weight": [0.5, 4.0]}
NAMES = [f"debias_weight={weight},seed={seed}" for weight in (0.5, 4.0) for seed in (0, 1)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Two weights times two seeds."""
    place = tmp_path_factory.mktemp("sweep") / "runs"
    return sweep("toy-table", settings=FOUR, seeds=(0, 1), out=place, listener=Heard())


@pytest.fixture
def again(made: Sweep, tmp_path: Path) -> Path:
    """A copy of the sweep's folder, to do things to."""
    place = tmp_path / "runs"
    shutil.copytree(made.out, place)
    return place


def files(place: Path) -> dict[str, tuple[int, bytes]]:
    """When each file of the runs was last written, and what it holds."""
    return {
        str(path.relative_to(place)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in place.rglob("*")
        if path.is_file() and "shared" not in path.parts
    }


def config_in(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "config.toml").read_text())


def flat(config: dict[str, Any]) -> dict[str, Any]:
    """What --set would be given to make this run."""
    return {f"{part}.{name}": v for part in ("data", "net", "train", "settings") for name, v in config[part].items()}


def test_every_combination_of_values_comes_up_once() -> None:
    found = variants({"a": "1,2", "b": ["x", "y"], "c": 3, "d": "4"}, ())
    assert found == [{"a": a, "b": b, "c": 3, "d": "4"} for a in ("1", "2") for b in ("x", "y")]
    assert variants({}, ()) == [{}]


def test_a_tuple_stays_whole() -> None:
    assert variants({"net.head": "64,32", "a": "1, 2"}, ["net.head"]) == [
        {"net.head": "64,32", "a": "1"},
        {"net.head": "64,32", "a": "2"},
    ]
    assert variants({"net.head": [(8,), (8, 4)]}, ["net.head"]) == [{"net.head": (8,)}, {"net.head": (8, 4)}]


@pytest.mark.parametrize("value", ["1,,2", ",1", "1,", ",", []])
def test_a_value_that_is_missing_between_commas_is_an_input_error(value: Any) -> None:
    with refused("sweep-values-invalid", setting="debias_weight"):
        variants({"debias_weight": value}, ())


@pytest.mark.parametrize(
    ("seeds", "given", "several"),
    [
        ([0], {}, False),
        ([0], {"debias_weight": "1", "train.epochs": "3"}, False),
        ([0], {"net.head": "64,32"}, False),
        ([0], {"head": "64,32", "estimator": "8,8"}, False),
        ([0], {"net.hidden": "64,32"}, False),
        ([0], {"hidden": "64,32", "net.backbone": "mlp"}, False),
        ([0], {"train.balance": ""}, False),
        ([0], {"debias_weight": "1,2"}, True),
        ([0], {"net.backbone": "mlp,conv"}, True),
        ([0, 1], {}, True),
        ([0, 1], {"net.head": "64,32"}, True),
    ],
)
def test_more_than_one_run_is_a_sweep(seeds: list[int], given: dict[str, str], several: bool) -> None:
    assert is_sweep("toy-table", "csad", seeds, given) is several


def test_every_value_and_seed_is_a_run_of_its_own(made: Sweep) -> None:
    assert made.varied == ("debias_weight",)
    assert made.lost == []
    assert [run["name"] for run in made.runs] == NAMES
    assert sorted(path.name for path in made.out.iterdir()) == sorted([*NAMES, "shared"])
    for run in made.runs:
        config = config_in(made.out / run["name"])
        assert f"debias_weight={config['settings']['debias_weight']},seed={config['seed']}" == run["name"]
        assert run["values"] == {"debias_weight": config["settings"]["debias_weight"]}
        assert run["result"]["settings"]["settings"]["debias_weight"] == run["values"]["debias_weight"]


def test_a_run_of_a_sweep_is_an_ordinary_folder(made: Sweep, tmp_path: Path) -> None:
    alone = csad.train("toy-table", settings=QUICK, debias_weight=4.0, seed=1, out=tmp_path / "run", device="cpu")
    folder = made.out / NAMES[3]
    assert {path.name for path in folder.iterdir()} == {"config.toml", "rows.json", "log.jsonl", "result.json"}
    assert (folder / "config.toml").read_text() == (tmp_path / "run" / "config.toml").read_text()
    result = json.loads((folder / "result.json").read_text())
    assert result == made.runs[3]["result"]
    assert result.keys() == alone.result.keys() | {"stacked"}
    assert result["stacked"] == 4
    same = ("task", "method", "seed", "selection", "target_updates", "environment")
    assert {name: result[name] for name in same} == {name: alone.result[name] for name in same}
    assert result["settings"] == json.loads(json.dumps(alone.result["settings"]))


def test_a_run_tells_of_all_its_stages(made: Sweep) -> None:
    for name in NAMES:
        lines = [json.loads(line) for line in (made.out / name / "log.jsonl").read_text().splitlines()]
        stages = [line["stage"] for line in lines]
        assert list(dict.fromkeys(stages)) == ["target", "bias", "estimator", "debias"]
        ends = {(line["stage"], line["epoch"]): line["step"] for line in lines}
        assert ends == {
            ("target", 0): 1,
            ("bias", 0): 3,
            ("estimator", 0): 5,
            ("debias", 0): 7,
            ("debias", 1): 9,
        }
        assert all(line["losses"] and line["seconds"] >= 0 for line in lines)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[3]])
def test_the_config_of_a_run_is_enough_to_train_it_again_alone(name: str, made: Sweep) -> None:
    config = config_in(made.out / name)
    alone = csad.train(config["task"], config["method"], seed=config["seed"], settings=flat(config), device="cpu")
    result = json.loads((made.out / name / "result.json").read_text())
    for split, figures in result["metrics"].items():
        assert figures == pytest.approx(alone.result["metrics"][split], abs=1e-6)
    last = json.loads((made.out / name / "log.jsonl").read_text().splitlines()[-1])
    assert last["losses"] == pytest.approx(alone.log.lines[-1]["losses"], rel=1e-3)


def test_runs_that_differ_have_different_figures(made: Sweep) -> None:
    logs = [(made.out / name / "log.jsonl").read_text().splitlines()[-1] for name in NAMES]
    assert len({json.dumps(json.loads(line)["losses"]) for line in logs}) == 4


def test_weights_that_are_kept_are_those_of_the_run_alone_and_predict_its_figures(tmp_path: Path) -> None:
    settings, options = QUICK | {"debias_weight": 4.0}, {"device": "cpu"}
    sweep("toy-table", settings=settings, seeds=(0, 1), out=tmp_path / "many", keep_weights=True, listener=Heard())
    alone = csad.train("toy-table", settings=settings, seed=1, out=tmp_path / "alone", **options)
    loaded = csad.load(tmp_path / "many" / "seed=1", **options)
    one, other = (load_file(tmp_path / run / "checkpoint" / "state.safetensors") for run in ("alone", "many/seed=1"))
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(other[name], value, rtol=1e-3, atol=1e-4, msg=name)
    x = toy_table(rows=64).splits["test"].x
    assert np.array_equal(loaded.predict(x), alone.predict(x))
    assert np.allclose(loaded.predict_proba(x), alone.predict_proba(x), atol=1e-4)
    assert csad.evaluate(loaded, data_of(loaded)) == loaded.result["metrics"]
    for split, figures in loaded.result["metrics"].items():
        assert figures == pytest.approx(alone.result["metrics"][split], abs=1e-4), split


def test_a_run_whose_weights_were_kept_goes_on_as_a_finished_run(tmp_path: Path) -> None:
    sweep("toy-table", settings=QUICK, seeds=(0, 1), out=tmp_path, keep_weights=True, listener=Heard())
    before = files(tmp_path)
    run = csad.train("toy-table", settings=QUICK, seed=1, out=tmp_path / "seed=1", resume=True, device="cpu")
    assert run.result == json.loads((tmp_path / "seed=1" / "result.json").read_text())
    assert files(tmp_path) == before


def test_a_run_without_weights_cannot_be_loaded_and_says_how_to_have_them(made: Sweep) -> None:
    with refused("weights-not-kept", folder=made.out / NAMES[0]) as caught:
        csad.load(made.out / NAMES[0])
    assert "\n" not in str(caught.value)
    assert "--resume" not in str(caught.value)


def test_a_sweep_that_is_there_is_not_trained_again_unasked(made: Sweep, again: Path) -> None:
    before = files(again)
    with refused("run-exists-already", folder=again / NAMES[0]):
        sweep("toy-table", settings=FOUR, seeds=(0, 1), out=again, listener=Heard())
    assert files(again) == before


def test_resume_and_force_together_are_refused(again: Path) -> None:
    before = files(again)
    with refused("resume-and-force"):
        sweep("toy-table", settings=FOUR, seeds=(0, 1), out=again, resume=True, force=True, listener=Heard())
    assert files(again) == before


def test_force_begins_all_anew_and_comes_to_the_same(made: Sweep, again: Path) -> None:
    (again / NAMES[1] / "result.json").write_text('{"metrics": {"test": {}}}')
    before = files(again)
    made_again = sweep("toy-table", settings=FOUR, seeds=(0, 1), out=again, force=True, listener=Heard())
    after = files(again)
    assert all(after[name][0] > before[name][0] for name in before)
    for one, other in zip(made.runs, made_again.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]


def test_a_finished_sweep_that_goes_on_trains_nothing(made: Sweep, again: Path) -> None:
    before, told = files(again), Heard()
    same = sweep("toy-table", settings=FOUR, seeds=(0, 1), out=again, resume=True, listener=told)
    assert told.stages == []
    assert told.said == [message("runs-finished-before", name="toy-table csad", runs=4, finished=4)]
    assert files(again) == before
    assert (same.runs, same.summary()) == (made.runs, made.summary())


def test_going_on_trains_only_what_is_missing(made: Sweep, again: Path) -> None:
    (again / NAMES[1] / "result.json").unlink()
    shutil.rmtree(again / NAMES[2])
    before, told = files(again), Heard()
    same = sweep("toy-table", settings=FOUR, seeds=(0, 1), out=again, resume=True, listener=told)
    after = files(again)
    assert told.said[0] == message("runs-finished-before", name="toy-table csad", runs=4, finished=2)
    assert set(told.stages) == {"estimator", "debias"}
    for name in before:
        if name.split("/")[0] in (NAMES[0], NAMES[3]):
            assert after[name] == before[name]
    for one, other in zip(made.runs, same.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]
    assert [run["result"]["stacked"] for run in same.runs] == [4, 2, 2, 4]


def test_more_seeds_and_values_are_added_to_those_that_are_there(made: Sweep, again: Path) -> None:
    before = files(again)
    settings = QUICK | {"debias_weight": [0.5, 4.0, 8.0]}
    more = sweep("toy-table", settings=settings, seeds=(0, 1), out=again, resume=True, listener=Heard())
    assert len(more.runs) == 6
    assert {name: value for name, value in files(again).items() if name in before} == before


def test_a_sweep_of_other_settings_does_not_go_on_with_this_one(again: Path) -> None:
    before = files(again)
    with refused("run-settings-changed", settings="train.rate"):
        sweep("toy-table", settings=FOUR | {"train.rate": 0.5}, seeds=(0, 1), out=again, resume=True, listener=Heard())
    assert files(again) == before


def test_the_summary_is_mean_and_standard_deviation_over_seeds(made: Sweep) -> None:
    lines = made.summary()
    assert [line["values"] for line in lines] == [{"debias_weight": 0.5}, {"debias_weight": 4.0}]
    for line, runs in zip(lines, (made.runs[:2], made.runs[2:]), strict=True):
        assert line["n"] == 2
        for split in ("train", "validation", "test"):
            for name in ("accuracy", "balanced_accuracy"):
                values = [run["result"]["metrics"][split][name] for run in runs]
                assert line["mean"][split][name] == pytest.approx(mean(values), abs=1e-12)
                assert line["std"][split][name] == pytest.approx(stdev(values), abs=1e-12)
                assert stdev(values) == pytest.approx(abs(values[0] - values[1]) / 2**0.5)


def test_figures_of_hand_have_their_mean_and_spread() -> None:
    runs = [
        {"name": "", "seed": k, "values": {"a": a}, "result": {"metrics": {"test": {"accuracy": value}}}}
        for k, (a, value) in enumerate([("1", 0.2), ("1", 0.4), ("1", 0.9), ("2", 0.5)])
    ]
    runs.append({"name": "", "seed": 9, "values": {"a": "2"}, "result": None})
    first, second = Sweep(Path(), ("a",), runs, []).summary()
    assert first == {
        "values": {"a": "1"},
        "n": 3,
        "mean": {"test": {"accuracy": pytest.approx(0.5)}},
        "std": {"test": {"accuracy": pytest.approx(0.13**0.5)}},
    }
    assert second == {
        "values": {"a": "2"},
        "n": 1,
        "mean": {"test": {"accuracy": 0.5}},
        "std": {"test": {"accuracy": None}},
    }


def test_a_setting_with_one_value_is_in_no_name(tmp_path: Path) -> None:
    quick = {name: value for name, value in QUICK.items() if name != "inner_steps"} | {"net.head": (4, 2)}
    settings = quick | {"train.weight_decay": [0, 0.1]}
    made = sweep("toy-table", "vanilla", settings=settings, out=tmp_path, listener=Heard())
    assert [run["name"] for run in made.runs] == ["train.weight_decay=0,seed=0", "train.weight_decay=0.1,seed=0"]
    assert all(config_in(tmp_path / run["name"])["net"]["head"] == [4, 2] for run in made.runs)


def test_a_sweep_reads_a_file_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    np.savez("own.npz", x=generator.normal(size=(80, 3)), y=np.arange(80) % 2, b=np.arange(80) // 2 % 2)
    made = sweep("own.npz", settings=PLAIN, seeds=(0, 1), listener=Heard())
    assert made.out == Path("runs/own-csad-sweep")
    assert [run["result"]["task"] for run in made.runs] == ["own.npz", "own.npz"]
    alone = csad.train("own.npz", settings=PLAIN, seed=1, device="cpu")
    for split, figures in made.runs[1]["result"]["metrics"].items():
        assert figures == pytest.approx(alone.result["metrics"][split], abs=1e-5), split


def test_the_task_may_be_a_path(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=generator.normal(size=(80, 3)), y=np.arange(80) % 2, b=np.arange(80) // 2 % 2)
    made = sweep(tmp_path / "own.npz", settings=PLAIN, seeds=(0, 1), out=tmp_path / "runs", listener=Heard())
    assert all(run["result"] for run in made.runs)


def test_data_from_python_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with refused("sweep-task-wrong-type", kind="Dataset"):
        sweep(toy_table(rows=64), settings=PLAIN, seeds=(0, 1), out=tmp_path / "runs", listener=Heard())
    assert not (tmp_path / "runs").exists()


def test_seeds_may_be_numpys(tmp_path: Path) -> None:
    made = sweep("toy-table", settings=QUICK, seeds=np.arange(2), out=tmp_path, listener=Heard())
    assert [run["name"] for run in made.runs] == ["seed=0", "seed=1"]


@pytest.mark.parametrize(
    ("seeds", "settings"),
    [
        ((0, -1), {}),
        ((0, 2**63), {}),
        ((0, 0), {}),
        ((), {}),
        ((0,), {"debias_weight": [1.0, -1.0]}),
        ((0,), {"debias_weight": [1.0, 1.0]}),
        ((0,), {"train.rate": [0.1, 0.0]}),
        ((0,), {"train.epochs": [1, -1]}),
        ((0,), {"net.branch": [8, -1]}),
        ((0,), {"data.rows": [64, 4]}),
        ((0,), {"data.rows": [64, "x"]}),
    ],
    ids=str,
)
def test_one_bad_value_among_good_ones_is_told_before_anything_is_written(
    seeds: Any, settings: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        sweep("toy-table", settings=QUICK | settings, seeds=seeds, out=tmp_path / "runs", listener=Heard())
    assert not (tmp_path / "runs").exists()


def test_one_bad_value_among_good_ones_costs_no_run_that_is_there(again: Path) -> None:
    before = files(again)
    with refused("negative-setting"):
        sweep("toy-table", settings=FOUR | {"debias_weight": [0.5, -1.0]}, out=again, force=True, listener=Heard())
    assert files(again) == before


def test_one_folder_in_the_way_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "runs" / NAMES[3]).mkdir(parents=True)
    (tmp_path / "runs" / NAMES[3] / "mine.txt").write_text("mine")
    with refused("folder-not-a-run"):
        sweep("toy-table", settings=FOUR, seeds=(0, 1), out=tmp_path / "runs", listener=Heard())
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [NAMES[3]]


def test_ctrl_c_says_how_to_go_on_and_the_sweep_goes_on_from_there(made: Sweep, tmp_path: Path) -> None:
    class Impatient(Heard):
        def progress(self, stage: Any, *about: Any) -> None:
            super().progress(stage, *about)
            if self.stages.count("debias") == 1:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as caught:
        sweep("toy-table", settings=FOUR, seeds=(0, 1), out=tmp_path, listener=Impatient())
    assert not list(tmp_path.glob("*/result.json"))
    told = Heard()
    same = sweep("toy-table", settings=FOUR, seeds=(0, 1), out=tmp_path, resume=True, listener=told)
    assert told.stages == ["debias"]
    for one, other in zip(made.runs, same.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]
        lines = [(folder / one["name"] / "log.jsonl").read_text().splitlines() for folder in (made.out, tmp_path)]
        before, after = ([json.loads(line)["losses"] for line in own] for own in lines)
        assert after == before
    assert "--resume" in str(caught.value)
