"""What fresh readers find in a run, taken when a table asks for it and kept in the run's result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.auditing.metrics.linear_probe import linear_probe
from csad.auditing.metrics.metric import METRICS
from csad.messages import message
from csad.reproduction.reproduce import reproduce as reproduce_anywhere
from csad.reproduction.result_table import ResultTable, as_markdown, as_rows
from csad.reproduction.spec import read_spec, tables
from csad.runs import evaluate, train_run
from csad.runs.build import read_dataset
from csad.runs.evaluate import leakage
from tests.support.messages import noticed, refused
from tests.support.own_data import toy_table

LEAKAGE = METRICS.needing("probes")
Declare = Callable[[str], None]
SHORT = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32, "data.rows": 256}
ROWS = """
[rows.vanilla]
label = "Vanilla"
paper = [0.5, 0.25]
"""
PLAIN, TABLE = toy_table(ROWS), toy_table(ROWS, metrics=["bias_from_h", "bias_from_h_y", "bias_chance", "accuracy"])


@pytest.fixture(scope="module")
def run() -> csad.Run:
    return csad.train("toy-table", "vanilla", settings=SHORT)


@pytest.fixture
def declared(declare: Declare) -> Declare:
    """A table called toys asks for what probes find; the fixture changes that."""
    declare(TABLE)
    return declare


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call of the probes has had."""
    seen: list[int] = []

    def counted(run: csad.Run, samples: csad.Samples) -> dict[str, float]:
        seen.append(len(samples))
        return leakage(run, samples)

    monkeypatch.setattr("csad.runs.evaluate.leakage", counted)
    return seen


def reproduce(out: Path, **options: Any) -> ResultTable:
    return reproduce_anywhere("toys", settings=SHORT, out=out, device="cpu", **options).table


def results(out: Path) -> dict[str, Any]:
    return {str(path): json.loads(path.read_text())["metrics"] for path in sorted(out.rglob("result.json"))}


def test_leakage_is_the_mean_over_the_bias_columns(run: csad.Run) -> None:
    test = read_dataset("toy-table", run.config["data"], None).splits["test"]
    found = leakage(run, test)
    assert found.keys() == set(LEAKAGE)
    chances = []
    for layer in ("h", "h_y"):
        read_out = [linear_probe(run.features(test.x, layer), b, np.arange(len(test))) for b in test.b.T.numpy()]
        assert found[f"bias_from_{layer}"] == pytest.approx(fmean(one[0] for one in read_out if one))
        chances = [one[1] for one in read_out if one]
    assert len(chances) == 2
    assert found["bias_chance"] == pytest.approx(fmean(chances))
    assert found["bias_from_h"] > found["bias_chance"] + 0.2, "the biases are easy to see in the toy"


def test_of_many_rows_some_are_probed_from_all_over_the_split(run: csad.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    test = read_dataset("toy-table", run.config["data"], None).splits["test"]
    assert len(test) == 128
    monkeypatch.setattr(evaluate, "PROBED_ROWS", 64)
    assert leakage(run, test) == leakage(run, test.rows(torch.arange(0, 128, 2)))


def test_a_bias_that_is_a_number_has_no_labels_to_read() -> None:
    rng = np.random.default_rng(0)
    y, b, size = rng.integers(0, 2, 300), rng.integers(0, 2, 300), rng.integers(0, 4, 300).astype(float)
    x = np.stack([y, b, size, *rng.normal(size=(3, 300))], axis=1).astype("float32")
    data = csad.from_arrays(x, y, b)
    run = csad.train(data, "vanilla", target_epochs=1, epochs=0)
    first = leakage(run, csad.Samples(x, y, b))
    run.method.task = replace(run.method.task, biases=(csad.Classes(2), csad.Number()), bias_names=("site", "size"))
    assert leakage(run, csad.Samples(x, y, np.stack([b, size], axis=1))) == first


def test_where_no_bias_can_be_told_apart_it_is_said(run: csad.Run) -> None:
    test = read_dataset("toy-table", run.config["data"], None).splits["test"]
    with refused("too-few-rows-for-probe", dataset="toy-table"):
        leakage(run, csad.Samples(test.x, test.y, torch.zeros_like(test.b)))


def test_figures_of_probes_come_only_for_the_splits_asked_for(run: csad.Run) -> None:
    data = read_dataset("toy-table", run.config["data"], None)
    plain, with_probes = csad.evaluate(run, data), csad.evaluate(run, data, probed=["test"])
    leaked = {name: with_probes["test"][name] for name in LEAKAGE}
    assert with_probes == plain | {"test": plain["test"] | leaked}
    assert not any(set(LEAKAGE) & found.keys() for found in plain.values())
    with refused("misspelled-name", kind="split", name="tset"):
        csad.evaluate(run, data, probed=["tset"])


def test_a_table_that_asks_for_probes_has_a_cell_for_each_figure(
    declared: Declare, tmp_path: Path, heard: Any, probed: list[int]
) -> None:
    made = reproduce(tmp_path / "out", listener=heard)
    assert probed == [128] * 4
    assert noticed(heard.said, "runs-probed", runs=4)
    found = results(tmp_path / "out")
    assert not any(set(LEAKAGE) & run["train"].keys() for run in found.values())
    metrics = [*LEAKAGE, "accuracy"]
    assert [(cell.column, cell.metric) for cell in made.cells] == [
        (column, metric) for column in ("0.7", "0.9") for metric in metrics
    ]
    for cell in made.cells:
        runs = [one["test"][cell.metric] for path, one in found.items() if f"/{cell.column}/" in path]
        assert list(cell.values.values()) == runs
    # The paper's numbers are of the first metric.
    assert [cell.paper for cell in made.cells] == [0.5, None, None, None, 0.25, None, None, None]


def test_stacked_runs_leak_as_single_ones_do(declared: Declare, tmp_path: Path) -> None:
    reproduce(tmp_path / "out", columns=["0.9"])
    alone = csad.train("toy-table", "vanilla", seed=4, settings=SHORT | {"data.agreement": 0.9}, device="cpu")
    expected = csad.evaluate(alone, read_dataset("toy-table", alone.config["data"], None), probed=["test"])["test"]
    stacked = json.loads((tmp_path / "out" / "vanilla" / "0.9" / "4" / "result.json").read_text())
    assert stacked["stacked"] == 2
    assert stacked["metrics"]["test"] == pytest.approx(expected, abs=0.02)


def test_several_metrics_read_well(declared: Declare, tmp_path: Path) -> None:
    made = reproduce(tmp_path / "out", seeds=1)
    headings, rows = as_rows(made)
    assert headings == ["Agreement", "0.7", "0.9"]
    assert [row[0] for row in rows] == [
        "Vanilla, bias from h",
        "paper",
        "Vanilla, bias from h_y",
        "Vanilla, bias by chance",
        "Vanilla, accuracy",
    ]
    assert "| Vanilla, bias from h_y | " in as_markdown(made)
    alone = reproduce(tmp_path / "out", seeds=1, columns=["0.7"])
    assert as_rows(alone)[0] == ["Method", "bias from h", "bias from h_y", "bias by chance", "accuracy"]


def test_given_again_nothing_is_trained_or_probed(
    declared: Declare, tmp_path: Path, heard: Any, probed: list[int]
) -> None:
    first = reproduce(tmp_path / "out")
    probed.clear()
    assert reproduce(tmp_path / "out", listener=heard) == first
    assert (heard.steps, probed) == ([], [])


@pytest.mark.parametrize("kept", [False, True], ids=["weights let go", "weights kept"])
def test_a_finished_run_that_lacks_a_figure_is_measured_or_trained_again(
    kept: bool, declared: Declare, tmp_path: Path, heard: Any, probed: list[int]
) -> None:
    whole = reproduce(tmp_path / "whole", columns=["0.7"])
    declared(PLAIN)
    reproduce(tmp_path / "out", columns=["0.7"], keep_weights=kept)
    before = results(tmp_path / "out")
    probed.clear()
    declared(TABLE)
    made = reproduce(tmp_path / "out", columns=["0.7"], listener=heard)
    lacking = {"run": "vanilla 0.7 seed 3", "missing": "bias_from_h, bias_from_h_y, bias_chance"}
    assert heard.said[0] == message("measured-from-kept-weights" if kept else "run-trained-again", **lacking)
    assert (heard.steps == []) == kept
    assert len(probed) == 2
    assert made.cells == whole.cells
    weights = list((tmp_path / "out").rglob("state.safetensors"))
    assert len([path for path in weights if "shared" not in path.parts]) == 2 * kept
    for path, metrics in results(tmp_path / "out").items():
        assert metrics["test"].items() >= before[path]["test"].items()


def test_a_stop_while_probing_costs_no_training(
    declared: Declare, tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reproduce(tmp_path / "whole")
    seen = []

    def impatient(run: csad.Run, samples: csad.Samples) -> dict[str, float]:
        seen.append(run)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return leakage(run, samples)

    with monkeypatch.context() as patch:
        patch.setattr("csad.runs.evaluate.leakage", impatient)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path / "out")
    assert results(tmp_path / "out") == {}
    assert reproduce(tmp_path / "out", listener=heard) == whole
    assert heard.steps == []


def test_a_run_that_lacks_a_figure_and_is_stopped_anew_goes_on(
    declared: Declare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared(PLAIN)
    reproduce(tmp_path / "out", columns=["0.7"])
    declared(TABLE)

    def impatient(*about: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train_run, "run_result", impatient)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path / "out", columns=["0.7"])
    assert results(tmp_path / "out") == {}, "a run that is trained again is not finished"
    assert reproduce(tmp_path / "out", columns=["0.7"]).cells[0].n == 2


def test_the_figures_that_tables_ask_for_are_measured(run: csad.Run) -> None:
    known = set(csad.evaluate(run, read_dataset("toy-table", run.config["data"], None), probed=["test"])["test"])
    # Of each bias there are the same figures, Adult has copies that should be judged alike, and of people who were made
    # up the truth is known.
    known |= {name.replace("group", bias) for name in known for bias in ("gender", "race")}
    known |= {"spouse_consistency", "gender_race_consistency", "in_true_order"}
    for name in tables():
        table = read_spec(name)
        assert known >= set(table.metrics)
        assert len(set(table.metrics)) == len(table.metrics)
        if set(LEAKAGE) & set(table.metrics):
            assert f"at most {evaluate.PROBED_ROWS:,} " in " ".join(table.notes)


def test_a_run_wants_no_probes_unless_a_table_asks(tmp_path: Path, probed: list[int], declared: Declare) -> None:
    declared(PLAIN)
    reproduce(tmp_path / "out", seeds=1)
    assert probed == []
