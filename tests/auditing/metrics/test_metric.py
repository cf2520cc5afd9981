"""A file with one registration adds a metric to audits, results, tables, pages, and to what an epoch is chosen by."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import csad
from csad.auditing import metrics as folder
from csad.auditing.audit import read_audit
from csad.auditing.metrics.all_metrics import all_metrics, number_metrics
from csad.auditing.metrics.metric import METRICS, Metrics
from csad.auditing.tables import audit_tables
from csad.report.gather import findings_of
from csad.report.page import run_page
from csad.reproduction.result_table import Cell, ResultTable, as_rows
from csad.runs.best_epoch import rule_of
from tests.support.commands import typed
from tests.support.messages import refused
from tests.support.people_tables import write_people

FILE = '''
"""The correlation of predicted and true classes."""

import numpy as np

from csad.auditing.metrics.metric import METRICS


@METRICS.register("mcc", label="Matthews correlation", better="higher")
def matthews_correlation(predicted, y):
    """(tp · tn − fp · fn) / √((tp + fp)(tp + fn)(tn + fp)(tn + fn)) of two classes; 0 if one is never there."""
    tp, tn = np.sum((predicted == 1) & (y == 1)), np.sum((predicted == 0) & (y == 0))
    fp, fn = np.sum((predicted == 1) & (y == 0)), np.sum((predicted == 0) & (y == 1))
    spread = float((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5
    return float(tp * tn - fp * fn) / spread if spread else 0.0
'''
SETTINGS = {
    "data.target": "income", "data.bias": ("gender",), "data.drop": ("who", "family"), "data.split": "fold",
    "train.target_epochs": 4, "train.pretrain_rate": 0.02, "train.batch_size": 16, "train.epochs": 3,
    "train.select_by": "mcc",
}  # fmt: skip
FOLDS = ["validation" if k % 8 == 7 else "test" if k % 8 < 4 else "train" for k in range(80)]


@pytest.fixture(scope="module")
def mcc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A file more in the folder of metrics, which is imported as any other there."""
    place = tmp_path_factory.mktemp("metrics")
    (place / "matthews.py").write_text(FILE)
    METRICS.all()
    kept = dict(METRICS._members), dict(METRICS._needs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "__path__", [*folder.__path__, str(place)])
        patch.setattr(METRICS, "_filled", False)
        METRICS._ordered = []
        yield
    METRICS._members, METRICS._needs = kept
    METRICS._ordered = []
    sys.modules.pop("csad.auditing.metrics.matthews", None)


@pytest.fixture(scope="module")
def run(mcc: None, tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    place = tmp_path_factory.mktemp("run")
    people = write_people(place / "people.csv", {"fold": FOLDS})
    return csad.train(people, "vanilla", settings=SETTINGS, out=place / "run")


def test_a_new_metric_is_by_hand_what_it_should_be(mcc: None) -> None:
    predicted, y = np.array([1, 1, 0, 0, 1]), np.array([1, 0, 0, 0, 1])
    assert all_metrics(predicted, y, wanted=["mcc"]) == {"mcc": pytest.approx((2 * 2 - 1 * 0) / (3 * 2 * 3 * 2) ** 0.5)}
    assert list(all_metrics(predicted, y))[-2:] == ["f1", "mcc"]


def test_a_new_metric_is_in_the_result_of_a_run_and_chooses_its_epoch(run: csad.Run) -> None:
    assert run.folder is not None
    result = json.loads((run.folder / "result.json").read_text())
    assert all("mcc" in values for values in result["metrics"].values())
    assert "with the highest mcc on the validation split" in result["selection"]
    assert rule_of("mcc") == "epoch with the highest mcc on the validation split"


def test_a_new_metric_is_in_audits_tables_and_on_the_page(run: csad.Run) -> None:
    assert run.folder is not None
    page = run_page(findings_of([run]))
    audit = read_audit(run.folder / "audit.json").audit
    figure = audit.figures["mcc"]
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= figure.value <= figure.high
    assert "Matthews correlation" in page
    (table,) = [table for table in audit_tables(audit, METRICS.label) if table.kind == "figures"]
    assert ("Matthews correlation", str(figure)) in table.rows
    shown = typed("audit", str(run.folder), "--quiet")
    assert any("mcc" in line and f"{figure.value:.3f}" in line for line in shown.stdout.splitlines())


def test_a_new_metric_is_printed_in_tables_of_results(mcc: None) -> None:
    cells = [Cell("csad", "", metric, 0.5, None, 1, None) for metric in ("accuracy", "mcc")]
    head, rows = as_rows(ResultTable("t", "t", "", "", {}, cells))
    assert head == ["Method", "accuracy", "mcc"]
    assert rows[0][0] == "csad"


def test_a_metric_of_each_bias_is_there_once_for_each(mcc: None) -> None:
    values = all_metrics(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), biases={"sex": np.array([0, 0, 1, 1])})
    assert {"equalized_odds_sex", "demographic_parity_sex", "gap_sex_rms", "gap_sex_max"} <= values.keys()


def test_every_metric_has_a_label_a_direction_and_a_name_that_it_is_found_by() -> None:
    for metric in METRICS.all():
        name = metric.name.replace("{bias}", "sex_at_birth").replace("{class}", "2")
        found = METRICS.find(name)
        assert found is not None
        assert found[0] == metric
        assert METRICS.canonical(name) == name
        assert "{" not in METRICS.label(name)
        assert METRICS.lower_is_better(name) == (metric.better == "lower")
        assert not (metric.selects and "{" in metric.name)


@pytest.mark.parametrize(
    "name, label, short",
    [
        ("accuracy", "accuracy", "accuracy"),
        ("worst_group", "accuracy in the worst cell", "worst group"),
        ("gap_sex_rms", "typical recall gap, sex", "gap sex rms"),
        ("gap_sex_max", "greatest recall gap, sex", "gap sex max"),
        ("equalized_odds_skin_tone", "equalized odds gap, skin_tone", "equalized odds skin tone"),
        ("equalised_odds_sex", "equalized odds gap, sex", "equalized odds sex"),
        ("recall_1", "recall of high", "recall 1"),
        ("recall_7", "recall of 7", "recall 7"),
        ("aligned_sex", "accuracy on rows aligned with sex", "aligned sex"),
        ("bias_from_h_y", "bias from h_y", "bias from h_y"),
        ("spouse_consistency", "spouse consistency", "spouse consistency"),
    ],
)
def test_names_are_shown_as_people_read_them(name: str, label: str, short: str) -> None:
    assert METRICS.label(name, ("low", "high")) == label
    assert METRICS.short(name) == short


def test_a_name_of_an_earlier_version_is_known_and_an_unknown_one_stays() -> None:
    assert METRICS.canonical("equalised_odds_sex") == "equalized_odds_sex"
    assert METRICS["equalised_odds_sex"].name == "equalized_odds_{bias}"
    assert METRICS.canonical("spouse_consistency") == "spouse_consistency"
    assert "spouse_consistency" not in METRICS
    with refused("misspelled-name", kind="metric", name="acuracy", nearest="accuracy"):
        METRICS["acuracy"]


def test_what_cannot_be_registered_is_an_error() -> None:
    registry = Metrics("csad.auditing.metrics")
    add: Any = registry.register("twice", label="", better="higher")
    add(lambda y: 1.0)
    with pytest.raises(ValueError, match="registered twice"):
        add(lambda y: 1.0)
    with pytest.raises(ValueError, match="the groups are accuracy"):
        registry.register("other", label="", better="higher", group="none")
    with pytest.raises(ValueError, match="'y' of metrics is registered twice"):
        registry.share("y")(lambda predicted: 1.0)
    registry.register("needy", label="", better="higher")(lambda nothing: 1.0)
    with pytest.raises(ValueError, match="needs nothing, and metrics can have: bias, biases"):
        registry.all()


def test_a_shared_result_is_computed_once_for_all_that_ask_for_it() -> None:
    registry, calls = Metrics("csad.auditing.metrics"), []

    @registry.share("counted")
    def counted(y: np.ndarray) -> int:
        calls.append("all")
        return len(y)

    @registry.share("in_bias")
    def in_bias(bias: np.ndarray, counted: int) -> int:
        calls.append("bias")
        return int(bias.sum())

    registry.register("a", label="", better="higher")(lambda counted: float(counted))
    registry.register("b_{bias}", label="", better="higher")(lambda counted, in_bias: float(counted - in_bias))
    registry.register("c_{bias}", label="", better="higher")(lambda in_bias: float(in_bias))
    arrays = {"y": np.ones(3), "biases": {"s": np.array([1, 1, 0]), "t": np.zeros(3)}}
    assert registry.compute(arrays, "classes") == {"a": 3.0, "b_s": 1.0, "c_s": 2.0, "b_t": 3.0, "c_t": 0.0}
    assert calls == ["all", "bias", "bias"]


def test_a_predicted_number_has_its_own_metrics() -> None:
    assert number_metrics(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == {"mean_squared_error": 2.0}
    assert number_metrics(np.array([1.0]), np.array([1.0]), ["accuracy"]) == {}
