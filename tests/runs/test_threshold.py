"""The probability above which the second of two classes is said: by the rule, kept with the run, used by all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import csad
from csad.auditing.inputs import AuditSettings
from csad.auditing.metrics.classification import balanced_accuracy
from csad.auditing.of_run import audit_run
from csad.deploy import Model
from csad.deploy.decision import decided
from csad.export.export import export_run
from csad.export.formats import load_exported
from csad.runs.build import OWN, plan_run
from csad.runs.evaluate import evaluate
from csad.runs.planned_run import RunRequest
from csad.runs.threshold import RULE, best_threshold, can_be_chosen
from csad.sweeps.campaign import Campaign
from csad.sweeps.tuning import tune
from csad.training.device import ComputeSettings
from tests.support.messages import refused
from tests.support.own_data import DATASET, PLAIN, as_json

FEW = {"target_epochs": 6, "epochs": 2, "batch_size": 64, "pretrain_rate": 0.01}
UNBALANCED = FEW | {"balance": ""}


def rare(n: int = 1500, share: float = 0.15) -> csad.Dataset:
    """Rows of which few are of the second class, and no row tells its class for sure."""
    generator = np.random.default_rng(0)
    y = (generator.random(n) < share).astype(np.int64)
    b = generator.integers(2, size=n)
    x = generator.normal(size=(n, 3)).astype(np.float32)
    x[:, 0] += 1.5 * y
    return csad.from_arrays(x, np.array(["no", "yes"])[y], b, bias_names=["sex"])


@pytest.fixture(scope="module")
def unbalanced(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    place = tmp_path_factory.mktemp("threshold") / "run"
    return csad.train(rare(), "vanilla", settings=UNBALANCED, out=place, device="cpu")


def test_the_best_threshold_of_four_rows() -> None:
    assert best_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 1])) == pytest.approx((0.25, 1.0, 0.5))
    assert best_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1])) == pytest.approx((0.35, 0.75, 0.5))


def test_of_thresholds_that_are_as_good_the_one_nearest_to_a_half_is_taken() -> None:
    assert best_threshold(np.array([0.1, 0.9]), np.array([0, 1])) == (0.5, 1.0, 1.0)
    probabilities, y = np.array([0.05, 0.15, 0.55, 0.65, 0.95]), np.array([0, 1, 0, 1, 1])  # .1 and .6: both 5/6
    assert best_threshold(probabilities, y) == pytest.approx((0.6, 5 / 6, 2 / 3 * 0.5 + 0.5 * 0.5))


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better_than_the_best(seed: int) -> None:
    generator = np.random.default_rng(seed)
    y = (generator.random(60) < 0.3).astype(int)
    probabilities = np.round(generator.beta(1 + y, 3), 2)
    value, score, half = best_threshold(probabilities, y)
    every = [balanced_accuracy((probabilities > t).astype(int), y) for t in np.linspace(0.0005, 0.9995, 1000)]
    assert score == pytest.approx(max(every))
    assert score == pytest.approx(balanced_accuracy((probabilities > value).astype(int), y))
    assert half == pytest.approx(balanced_accuracy((probabilities > 0.5).astype(int), y))


def test_a_half_means_the_likelier_class_and_more_classes_know_no_threshold() -> None:
    shares = np.array([[0.5, 0.5], [0.4, 0.6], [0.8, 0.2]])
    assert decided(shares, 0.5).tolist() == shares.argmax(1).tolist() == [0, 1, 0]
    assert decided(shares, 0.1).tolist() == [1, 1, 1]
    assert decided(shares, 0.6).tolist() == [0, 0, 0]
    assert decided(np.array([[0.2, 0.3, 0.5]]), 0.9).tolist() == [2]


def test_a_threshold_between_two_neighbouring_probabilities_parts_them() -> None:
    low, high = np.float32(1) - np.float32(2**-24), np.float32(1)
    probabilities, y = np.array([0.3, low, low, high], np.float32), np.array([0, 0, 0, 1])
    value, score, _ = best_threshold(probabilities, y)
    assert score == 1
    assert decided(np.stack([1 - probabilities, probabilities], 1), value).tolist() == y.tolist()


@pytest.mark.parametrize(("few", "enough"), [(20, True), (19, False)])
def test_a_threshold_is_chosen_by_twenty_rows_of_each_class(few: int, enough: bool) -> None:
    data = rare(300)
    y = np.array([0] * 60 + [1] * few)
    splits = data.splits | {"validation": csad.Samples(np.zeros((len(y), 3)), y, y)}
    assert can_be_chosen(csad.Dataset(data.task, splits), "") == enough
    splits = data.splits | {"validation": csad.Samples(np.zeros((len(y), 3)), 1 - y, y)}
    assert can_be_chosen(csad.Dataset(data.task, splits), "") == enough


def test_a_rare_class_is_found_again_where_mini_batches_are_not_balanced(unbalanced: csad.Run) -> None:
    found = unbalanced.result["threshold"]
    assert (found["value"], found["rule"]) == (unbalanced.threshold, RULE)
    assert found["value"] < 0.4
    validation = rare().splits["validation"]
    shares, y = unbalanced.predict_proba(validation.x)[:, 1], validation.y.numpy()
    assert found["value"] == pytest.approx(best_threshold(shares, y)[0])
    score, half = (balanced_accuracy((shares > t).astype(int), y) for t in (found["value"], 0.5))
    assert score > half + 0.05
    assert unbalanced.result["metrics"]["validation"]["balanced_accuracy"] == pytest.approx(score)
    numbers = f"exceeds {found['value']:.3g}", f"validation split: {score:.3f}", f"{half:.3f} at 0.5", "'yes'"
    assert all(number in found["why"] for number in numbers)
    test = rare().splits["test"]
    said = (unbalanced.predict_proba(test.x)[:, 1] > 0.5).astype(int)
    assert unbalanced.result["metrics"]["test"]["balanced_accuracy"] > balanced_accuracy(said, test.y.numpy()) + 0.05


def test_all_that_predict_use_the_threshold_that_is_kept_with_the_run(unbalanced: csad.Run, tmp_path: Path) -> None:
    assert unbalanced.folder is not None
    data = rare()
    x, y = data.splits["test"].x, data.splits["test"].y.numpy()
    said = (unbalanced.predict_proba(x)[:, 1] > unbalanced.threshold).astype(int)
    assert unbalanced.predict(x).tolist() == said.tolist()
    again = csad.load(unbalanced.folder, device="cpu")
    assert again.predict(x).tolist() == said.tolist()
    assert evaluate(again, data) == unbalanced.result["metrics"]
    for form in ("safetensors", "onnx"):
        file = export_run(again, tmp_path / f"model.{form}", format_=form, dataset=data).path
        model: Any = Model(file) if form == "onnx" else load_exported(file, device="cpu")
        assert model.threshold == unbalanced.threshold
        assert model.predict(x.numpy()).tolist() == said.tolist()
        asked = csad.audit(model, x.numpy(), y, data.splits["test"].b.numpy(), probes=["linear"], repeats=2)
        assert asked.figures["accuracy"].value == pytest.approx(np.mean(said == y))
    settings = AuditSettings(probes=["linear"], repeats=2)
    audit = audit_run(again, dataset=data, settings=settings)
    assert audit.figures["accuracy"].value == pytest.approx(np.mean(said == y))


def test_class_names_that_look_like_class_numbers_are_not_confused() -> None:
    data = rare()
    task = csad.Task("numbers", (3,), csad.Classes(2, ("1", "0")), data.task.biases, data.task.bias_names)
    run = csad.train(csad.Dataset(task, data.splits), "vanilla", settings=UNBALANCED, device="cpu", threshold=0.99)
    test = data.splits["test"]
    names = np.array(["1", "0"])[test.y.numpy()]
    named = csad.audit(run, test.x, names, test.b.numpy(), probes=["linear"], repeats=2)
    assert named.figures["accuracy"].value == pytest.approx(np.mean(run.predict(test.x) == test.y.numpy()))


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        (rare(), FEW),  # mini-batches are balanced
        (rare(300), UNBALANCED),  # too few validation rows of the second class
        (DATASET, PLAIN | {"balance": ""}),  # three classes
        ("toy-table", PLAIN),  # a named data set
    ],
)
def test_elsewhere_the_likeliest_class_is_said(task: Any, settings: dict[str, Any]) -> None:
    run = csad.train(task, "vanilla", settings=settings, device="cpu")
    assert "threshold" not in run.result
    assert run.threshold == 0.5


@pytest.mark.parametrize("value", [0.3, 0.5])
def test_a_threshold_that_is_given_is_the_threshold(tmp_path: Path, value: float) -> None:
    out, data = tmp_path / "run", rare()
    run = csad.train(data, "vanilla", settings=UNBALANCED, out=out, device="cpu", threshold=value)
    kept = json.loads((out / "result.json").read_text())["threshold"]
    assert kept == run.result["threshold"]
    assert all(words in kept["why"] for words in ("'yes'", f"exceeds {value:g}", "given"))
    x = data.splits["test"].x
    assert run.predict(x).tolist() == (run.predict_proba(x)[:, 1] > value).astype(int).tolist()
    assert csad.load(out, device="cpu").threshold == value
    again = csad.train(data, "vanilla", settings=UNBALANCED, out=out, device="cpu", resume=True)
    assert (as_json(again.result), again.threshold) == (as_json(run.result), value)
    with refused("finished-with-other-threshold", folder=out, found=value, threshold=0.7):
        csad.train(data, "vanilla", settings=UNBALANCED, out=out, device="cpu", resume=True, threshold=0.7)


def test_a_run_is_chosen_by_what_it_says_with_its_threshold(
    monkeypatch: pytest.MonkeyPatch, unbalanced: csad.Run
) -> None:
    monkeypatch.setattr(tune, "MULTIPLIERS", ((1.0,),))
    brief = UNBALANCED | {"bias_epochs": 1, "estimator_epochs": 1, "inner_steps": 1}
    chosen = csad.train(rare(), settings=brief, device="cpu")
    assert chosen.result["threshold"]["value"] == chosen.threshold < 0.5
    given = csad.train(rare(), settings=brief, device="cpu", threshold=0.25)
    assert given.result["threshold"]["value"] == given.threshold == 0.25
    for run in (chosen, given):
        (tried,) = run.result["choice"]["tried"]
        assert tried["score"] == pytest.approx(run.result["metrics"]["validation"]["balanced_accuracy"])
    plain = unbalanced.result["metrics"]["validation"]["balanced_accuracy"]
    assert chosen.result["choice"]["vanilla"]["score"] == pytest.approx(plain)


def test_a_figure_that_a_finished_run_lacks_is_taken_with_its_threshold(tmp_path: Path, heard: Any) -> None:
    campaign = Campaign(tmp_path / "shared", ComputeSettings(torch.device("cpu")), heard, keep_weights=True)
    data, plan = plan_run(rare(), "vanilla", UNBALANCED, "", campaign.dataset)
    request = RunRequest("one", OWN, "vanilla", 0, plan, tmp_path / "one", ("test",), ("balanced_accuracy",), data)
    [run] = campaign.begin([request], resume=False, force=False)
    assert campaign.trainer.train([run]) == []
    whole = run.result()
    assert whole is not None
    assert whole["threshold"]["value"] < 0.4
    run.folder.write_result(whole | {"metrics": {}})
    campaign.fill_missing_results([run])
    assert run.result() == whole


@pytest.mark.parametrize("threshold", [0, 1, -0.2, "half", True, float("nan")])
def test_a_threshold_is_a_probability(threshold: Any) -> None:
    with refused("threshold-out-of-range"):
        csad.train(rare(), "vanilla", threshold=threshold)


def test_a_threshold_is_for_two_classes() -> None:
    with refused("threshold-needs-two-classes"):
        csad.train(DATASET, "vanilla", threshold=0.3)
