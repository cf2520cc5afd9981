"""The debias_weight that is chosen: by the rule, on validation rows of data of one's own, and kept with its reasons."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import csad
from csad.auditing.inputs import ModelOutputs
from csad.errors import Diverged, Interrupted
from csad.runs.settings import kind_defaults
from csad.sweeps.tuning import tune
from csad.sweeps.tuning.rule import MULTIPLIERS, Trial, decide
from csad.sweeps.tuning.validation_rows import leakage_scorer
from tests.support.choosing_data import BRIEF, dataset
from tests.support.messages import refused

VANILLA = Trial(None, 0.80, 0.70)


@pytest.fixture(autouse=True)
def short_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five weights and no more: what lies beyond is tested elsewhere."""
    monkeypatch.setattr(tune, "MULTIPLIERS", MULTIPLIERS[:1])


def chosen(*tried: tuple[float, float, float], cost: float = 0.02) -> Any:
    return decide(VANILLA, [Trial(*one) for one in tried], cost=cost, score="balanced accuracy", rows=90)


def test_of_the_weights_that_cost_little_the_one_with_the_least_leakage_is_chosen() -> None:
    found = chosen((1, 0.80, 0.69), (3, 0.79, 0.60), (10, 0.78, 0.55), (30, 0.75, 0.51))
    assert (found.debias_weight, found.within) == (10, True)
    assert found.why == (
        "10 is chosen: it leaks least among the 3 out of 4 weights with a cost of at most 0.02 on the validation split "
        "(leakage AUC 0.550, vanilla 0.700, chance .500; balanced accuracy 0.780, vanilla 0.800)."
    )


def test_a_higher_cost_allows_more() -> None:
    assert chosen((10, 0.78, 0.55), (30, 0.75, 0.51), cost=0.05).debias_weight == 30


def test_of_leakages_that_are_as_good_as_the_same_the_higher_accuracy_decides_and_then_the_smaller_weight() -> None:
    alike = chosen((30, 0.79, 0.545), (10, 0.80, 0.55), (3, 0.81, 0.6))
    assert alike.debias_weight == 10
    assert "it has the highest balanced accuracy of all whose leakage is within 0.01 of the least" in alike.why
    assert chosen((30, 0.79, 0.55), (10, 0.79, 0.55)).debias_weight == 10


def test_where_all_cost_too_much_the_cheapest_is_taken_and_it_is_said() -> None:
    found = chosen((1, 0.70, 0.6), (10, 0.77, 0.65), (30, 0.60, 0.5))
    assert (found.debias_weight, found.within) == (10, False)
    assert found.why.startswith("None of the 3 weights tried costs at most 0.02 ")
    assert " 10 is chosen, because it costs least (" in found.why


def test_where_nothing_leaks_less_than_vanilla_it_is_said() -> None:
    found = chosen((1, 0.80, 0.70), (10, 0.79, 0.72))
    assert found.debias_weight == 1
    assert "none of these leaks clearly less than vanilla" in found.why


def test_leakage_is_one_half_for_a_prediction_that_knows_the_target_alone_and_one_for_the_bias_itself() -> None:
    data = dataset(2000)
    rows, samples = leakage_scorer(data), data.splits["validation"]
    assert not isinstance(rows, str)
    target, bias = samples.y.numpy(), samples.b[:, 0].numpy()

    def certain(labels: Any) -> ModelOutputs:
        return ModelOutputs(labels, np.eye(2)[labels] * 0.8 + 0.1)

    assert rows.leakage(certain(target)) == pytest.approx(0.5)
    assert rows.leakage(certain(bias)) == pytest.approx(1.0)
    noise = np.random.default_rng(0).random(len(samples))
    assert rows.leakage(ModelOutputs(noise > 0.5, np.stack([noise, 1 - noise], axis=1))) < 0.6


def test_of_a_number_rows_of_the_same_fifth_are_compared() -> None:
    generator = np.random.default_rng(0)
    b = generator.integers(2, size=400)
    y = (b + generator.normal(size=400)).astype(np.float32)
    task = csad.Task("years", (1,), csad.Number(), (csad.Classes(2),), ("sex",))
    rows = leakage_scorer(csad.Dataset(task, {"validation": csad.Samples(y[:, None], y, b)}))
    assert not isinstance(rows, str)
    assert rows.leakage(ModelOutputs(b.astype(np.float64))) == pytest.approx(1.0)
    assert rows.leakage(ModelOutputs(y.astype(np.float64))) < 0.65  # among all rows it would be .76
    assert rows.leakage(ModelOutputs(np.round(y / 3).astype(np.float64))) < 0.65


def test_a_run_on_own_data_keeps_the_chosen_weight_and_what_was_tried(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = csad.train(dataset(), settings=BRIEF, out=out, device="cpu")
    found = json.loads((out / "choice.json").read_text())
    assert found == run.result["choice"] == json.loads((out / "result.json").read_text())["choice"]
    assert [one["debias_weight"] for one in found["tried"]] == [0.3, 0.9, 3, 9, 30]
    config = tomllib.loads((out / "config.toml").read_text())
    assert config["settings"]["debias_weight"] == found["debias_weight"] == run.config["settings"]["debias_weight"]
    taken = next(one for one in found["tried"] if one["debias_weight"] == found["debias_weight"])
    assert taken["score"] == run.result["metrics"]["validation"]["balanced_accuracy"]
    assert (found["cost"], found["rows"], found["score"]) == (0.02, 60, "balanced accuracy")
    assert found["vanilla"]["score"] - taken["score"] <= 0.02 or not found["within"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    again = csad.load(out, device="cpu")
    x = dataset().splits["test"].x
    assert (again.predict_proba(x) == run.predict_proba(x)).all()
    assert again.log.lines


def test_the_chosen_run_is_the_one_that_the_weight_alone_would_give() -> None:
    data = dataset()
    run = csad.train(data, settings=BRIEF, device="cpu")
    alone = csad.train(data, settings=BRIEF, device="cpu", debias_weight=run.result["choice"]["debias_weight"])
    assert run.folder is None
    assert "choice" not in alone.result
    torch.testing.assert_close(
        torch.as_tensor(run.predict_proba(data.splits["test"].x)),
        torch.as_tensor(alone.predict_proba(data.splits["test"].x)), rtol=1e-3, atol=1e-4,
    )  # fmt: skip


def test_a_number_is_judged_by_the_share_of_its_variance_that_is_explained() -> None:
    generator = np.random.default_rng(0)
    b = generator.integers(2, size=500)
    x = generator.normal(size=(500, 3)).astype(np.float32)
    y = (x[:, 0] + b).astype(np.float32)
    x[:, 1] += b
    task = csad.Task("years", (3,), csad.Number(), (csad.Classes(2),), ("sex",))
    splits = {"train": csad.Samples(x[:300], y[:300], b[:300]), "validation": csad.Samples(x[300:], y[300:], b[300:])}
    run = csad.train(csad.Dataset(task, splits), settings=BRIEF, device="cpu")
    found = run.result["choice"]
    taken = next(one for one in found["tried"] if one["debias_weight"] == found["debias_weight"])
    error = run.result["metrics"]["validation"]["mean_squared_error"]
    assert taken["score"] == pytest.approx(1 - error / y[300:].astype(np.float64).var())
    assert found["score"] == "share of variance explained"


@pytest.mark.parametrize(
    ("rows", "kind", "epochs", "rate"), [(20, "small", 60, 1e-2), (2048, "small", 12, 1e-2), (6400, "large", 20, 2e-3)]
)
def test_lengths_and_rates_of_a_table_follow_from_its_rows(rows: int, kind: str, epochs: int, rate: float) -> None:
    task = csad.Task("rows", (1,), csad.Classes(2), (csad.Classes(2),), ("sex",))
    labels = np.arange(rows) % 2
    train = kind_defaults(csad.Dataset(task, {"train": csad.Samples(np.zeros((rows, 1)), labels, labels)}))["train"]
    assert (train["epochs"], train["rate"], train["balance"]) == (epochs, rate, "target")
    assert train["batch_size"] == {"small": 64, "large": 128}[kind]


@pytest.mark.parametrize("target", [csad.Number(), csad.Classes(17)])
def test_what_cannot_be_balanced_is_not(target: Any) -> None:
    task = csad.Task("rows", (1,), target, (csad.Classes(2),), ("sex",))
    samples = csad.Samples(np.zeros((34, 1)), np.arange(34) % 17, np.arange(34) % 2)
    assert "balance" not in kind_defaults(csad.Dataset(task, {"train": samples}))["train"]


def test_a_backbone_of_ones_own_is_tried_with_each_weight() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    before = net[0].weight.clone()
    run = csad.train(dataset(), backbone=net, settings=BRIEF, device="cpu")
    assert len(run.result["choice"]["tried"]) == 5
    assert torch.equal(net[0].weight, before)
    assert run.config["net"]["backbone"] == "own"


@pytest.mark.parametrize(
    ("task", "method", "more"),
    [
        (dataset(), "csad", {"debias_weight": 2.0}),
        (dataset(), "vanilla", {}),
        (dataset(300), "csad", {}),
        (dataset(fractions=(0.8, 0, 0.2)), "csad", {}),
        ("toy-table", "csad", {}),
    ],
)
def test_elsewhere_nothing_is_chosen_and_a_cost_is_an_error(task: Any, method: str, more: dict[str, Any]) -> None:
    brief = BRIEF if method == "csad" else {name: value for name, value in BRIEF.items() if name != "inner_steps"}
    assert "choice" not in csad.train(task, method, settings=brief, device="cpu", **more).result
    with refused("cost-without-tuning", setting="debias_weight"):
        csad.train(task, method, settings=brief, device="cpu", cost=0.1, **more)


@pytest.mark.parametrize("cost", [-0.1, 1, "much", True, float("nan")])
def test_a_cost_is_a_share(cost: Any) -> None:
    with refused("cost-out-of-range"):
        csad.train(dataset(), settings=BRIEF, cost=cost)


def test_a_run_that_is_there_is_not_overwritten_unasked_and_can_be_gone_on_with(tmp_path: Path) -> None:
    out, data = tmp_path / "run", dataset()
    first = csad.train(data, settings=BRIEF, out=out, device="cpu")
    kept = (out / "result.json").read_bytes()
    with refused("run-exists-already", folder=out):
        csad.train(data, settings=BRIEF, out=out)
    with refused("tuning-cost-changed", found="0.02", cost="0.3"):
        csad.train(data, settings=BRIEF, out=out, resume=True, cost=0.3)
    assert (out / "result.json").read_bytes() == kept
    again = csad.train(data, settings=BRIEF, out=out, resume=True)
    assert again.result == first.result
    other = csad.train(data, settings=BRIEF, out=out, force=True, cost=0.3, device="cpu")
    assert json.loads((out / "choice.json").read_text())["cost"] == other.result["choice"]["cost"] == 0.3
    (out / "choice.json").write_text("{")
    with refused("tuning-file-unreadable", file=out / "choice.json"):
        csad.train(data, settings=BRIEF, out=out, resume=True)


def test_a_choice_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, data = tmp_path / "run", dataset()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    whole = csad.train(data, settings=BRIEF, device="cpu")
    with monkeypatch.context() as patch:
        patch.setattr("csad.sweeps.train_stack.StackTrainer._finish", stop)
        with pytest.raises(Interrupted, match="--resume"):
            csad.train(data, settings=BRIEF, out=out, device="cpu")
    assert not out.exists()
    with refused("tuning-interrupted", folder=out.with_name("run.choosing"), setting="debias_weight"):
        csad.train(data, settings=BRIEF, out=out)
    for other in ({"cost": 0.3}, {"threshold": 0.3}):
        with refused("tuning-terms-changed", folder=out.with_name("run.choosing")):
            csad.train(data, settings=BRIEF, out=out, resume=True, device="cpu", **other)
    run = csad.train(data, settings=BRIEF, out=out, resume=True, device="cpu")
    assert run.result["choice"] == whole.result["choice"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_folder_that_is_no_run_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with refused("folder-not-a-run"):
        csad.train(dataset(), settings=BRIEF, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_weights_that_diverge_are_named_and_when_all_do_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "MULTIPLIERS", ((0.1, 2e38),))
    found = csad.train(dataset(), settings=BRIEF, device="cpu").result["choice"]
    assert (found["lost"], [one["debias_weight"] for one in found["tried"]]) == ([6e38], [0.3])
    monkeypatch.setattr(tune, "MULTIPLIERS", ((2e38,),))
    with pytest.raises(Diverged, match="every debias_weight"):
        csad.train(dataset(), settings=BRIEF, device="cpu")


def test_readers_never_learn_from_a_person_whom_they_are_asked_about() -> None:
    data = dataset(2000)
    samples = data.splits["validation"]
    whose = torch.arange(len(samples)) // 4
    grouped = csad.Samples(samples.x, samples.y, samples.b, {"group": whose})
    found = leakage_scorer(csad.Dataset(data.task, {"validation": grouped}))
    assert not isinstance(found, str)
    for column, deals in found.columns:
        for dealt in deals:
            blocks: dict[int, set[int]] = {}
            for row, block in zip(column.rows.tolist(), dealt.block.tolist(), strict=True):
                blocks.setdefault(int(whose[row]), set()).add(block)
            assert all(len(several) == 1 for several in blocks.values())


def test_of_what_was_tried_only_the_run_that_is_kept_gives_advice(monkeypatch: pytest.MonkeyPatch, heard: Any) -> None:
    def advice(self: Any, stage: str, curves: Any) -> list[str]:
        return [f"advice for {float(self.debias_weight):g}"] if stage == "debias" else []

    monkeypatch.setattr("csad.methods.csad.Csad.diagnose", advice)
    run = csad.train(dataset(), settings=BRIEF, device="cpu", listener=heard)
    assert heard.warnings == [f"advice for {run.result['choice']['debias_weight']:g}"]
