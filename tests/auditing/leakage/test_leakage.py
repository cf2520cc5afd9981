"""Audits whose truth is known: leaks that are there, noise that is none, and how often each is mistaken."""

from __future__ import annotations

import json
from collections import Counter
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from csad.auditing.leakage.leakage import audit_features
from csad.auditing.leakage.verdicts import Verdict
from tests.support.messages import Refusal, codes, noticed, refused

LINEAR = ("linear",)


def verdict_on(features: np.ndarray, labels: np.ndarray, **settings: Any) -> Verdict:
    (verdict,) = audit_features({"h": features}, {"gender": labels}, **settings).verdicts
    return verdict


def leaking(rows: int, auc: float, seed: int, columns: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noise of which one direction tells the label with ``auc``."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(2, size=rows)
    features = generator.normal(size=(rows, columns))
    features[:, 0] += labels * 2**0.5 * NormalDist().inv_cdf(auc)
    return features, labels


def null_case(kind: str, seed: int) -> dict[str, Any]:
    """Features that tell nothing of the labels beyond what the case says."""
    generator = np.random.default_rng(seed)
    rows = 200
    features = generator.normal(size=(rows, 8))
    if kind == "many features":
        return {"features": generator.normal(size=(100, 150)), "labels": generator.integers(2, size=100)}
    if kind == "rare label":
        return {"features": features, "labels": (np.arange(rows) < 16).astype(int)}
    if kind == "five classes":
        return {"features": features, "labels": generator.integers(5, size=rows)}
    if kind == "number":
        return {"features": features, "labels": generator.exponential(size=rows)}
    if kind in ("persons", "labels vary within persons"):
        # A person's rows are alike, and so are their labels.
        unit = np.repeat(np.arange(80), generator.integers(1, 8, size=80))
        features = generator.normal(size=(80, 8))[unit] + 0.3 * generator.normal(size=(len(unit), 8))
        within = 0.5 * generator.random(len(unit)) if kind != "persons" else 0.25
        return {"features": features, "labels": (generator.random(80)[unit] + within > 0.75).astype(int), "same": unit}
    if kind == "given the target":
        y = generator.integers(3, size=rows)
        labels = (generator.random(rows) < np.array([0.2, 0.5, 0.8])[y]).astype(int)
        features[:, :3] += 2 * np.eye(3)[y]
        return {"features": features, "labels": labels, "within": y}
    return {"features": features, "labels": generator.integers(2, size=rows)}


def test_features_that_contain_the_bias_leak() -> None:
    features, labels = leaking(300, 0.5, seed=0)
    verdict = verdict_on(np.column_stack([features, labels]), labels)
    assert verdict.state == "leaks"
    assert [reading.probe for reading in verdict.readings] == ["linear", "mlp", "neighbors"]
    assert verdict.readings[0].score == pytest.approx(1.0)
    assert "predicts gender from h with AUC 1.00 (" in verdict.words
    assert verdict.words.endswith("chance .50), so h leaks gender.")


def test_features_that_contain_the_bias_in_part_leak() -> None:
    verdict = verdict_on(*leaking(1000, 0.7, seed=1))
    assert verdict.state == "leaks"
    assert 0.6 < verdict.readings[0].low < verdict.readings[0].score < verdict.readings[0].high < 0.75


def test_pure_noise_of_many_rows_gives_no_evidence() -> None:
    verdict = verdict_on(*leaking(5000, 0.5, seed=2))
    assert verdict.state == "no evidence of leakage"
    assert all(reading.low < 0.5 < reading.high < 0.55 for reading in verdict.readings)


def test_of_thirty_rows_of_noise_nothing_can_be_told_but_how_many_would_do() -> None:
    found = [verdict_on(*leaking(30, 0.5, seed), seed=seed) for seed in range(30)]
    states = Counter(verdict.state for verdict in found)
    assert states["no evidence of leakage"] == 0
    assert states["cannot tell"] >= 27  # the level allows for a false alarm in 20
    assert all(verdict.needed_rows is None or 1000 < verdict.needed_rows < 10_000 for verdict in found)


def test_with_as_many_rows_as_would_do_it_can_be_told() -> None:
    needed = verdict_on(*leaking(300, 0.5, seed=3), probes=LINEAR).needed_rows
    assert needed is not None
    states = Counter(verdict_on(*leaking(needed, 0.5, seed=seed), probes=LINEAR).state for seed in range(20))
    assert states["no evidence of leakage"] >= 17


def test_of_two_hundred_cases_of_chance_at_most_eighteen_are_false_alarms() -> None:
    kinds = (
        "plain",
        "many features",
        "rare label",
        "five classes",
        "number",
        "persons",
        "labels vary within persons",
        "given the target",
    )
    alarms = Counter[str]()
    for kind in kinds:
        for seed in range(25):
            case = null_case(kind, seed)
            found = verdict_on(case.pop("features"), case.pop("labels"), probes=LINEAR, seed=seed, **case)
            alarms[kind] += found.state == "leaks"
    assert alarms.total() <= 18, alarms


def test_several_layers_and_probes_share_the_level() -> None:
    alarms = 0
    for seed in range(30):
        generator = np.random.default_rng(seed)
        layers = {name: generator.normal(size=(150, 5)) for name in ("x", "h", "h_y", "y")}
        audit = audit_features(
            layers, {"gender": generator.integers(2, size=150)}, probes=("linear", "neighbors"), seed=seed
        )
        alarms += bool(audit.leaks)
    assert alarms <= 5  # of 30 families at 5 %: 6 or more once in 300


def test_a_leak_of_65_in_a_thousand_rows_is_found() -> None:
    states = Counter(verdict_on(*leaking(1000, 0.65, seed), probes=LINEAR, seed=seed).state for seed in range(60))
    assert states["leaks"] >= 0.8 * 60


def test_a_leak_of_65_is_found_by_all_probes_together() -> None:
    states = Counter(verdict_on(*leaking(1000, 0.65, seed, columns=32), seed=seed).state for seed in range(8))
    assert states["leaks"] >= 7


def test_the_interval_holds_the_mean_score() -> None:
    found = [verdict_on(*leaking(400, 0.65, seed), probes=LINEAR, seed=seed).readings[0] for seed in range(100)]
    mean = np.mean([reading.score for reading in found])
    held = np.mean([reading.low < mean < reading.high for reading in found])
    assert 0.8 < held < 0.97  # 90 % between both ends, less what the readers themselves vary


def test_persons_that_a_reader_would_recognise_do_not_leak() -> None:
    generator = np.random.default_rng(4)
    unit = np.repeat(np.arange(150), 10)
    features, labels = generator.normal(size=(150, 8))[unit], generator.integers(2, size=150)[unit]
    features = features + 0.1 * generator.normal(size=features.shape)
    assert verdict_on(features, labels, probes=("neighbors",)).state == "leaks"
    apart = verdict_on(features, labels, probes=("neighbors",), same=unit)
    assert apart.state == "cannot tell"
    assert apart.readings[0].p > 0.05


def test_what_knows_the_target_knows_the_bias_but_no_more_than_that() -> None:
    generator = np.random.default_rng(5)
    y = generator.integers(2, size=6000)
    labels = np.where(generator.random(6000) < 0.8, y, 1 - y)
    features = generator.normal(size=(6000, 6))
    features[:, 0] += 3 * y
    plain, beyond = verdict_on(features, labels), verdict_on(features, labels, within=y)
    assert (plain.state, beyond.state) == ("leaks", "no evidence of leakage")
    assert plain.readings[0].score > 0.7
    assert "among rows with the same target" in beyond.words
    features[:, 1] += 0.5 * labels
    assert verdict_on(features, labels, within=y).state == "leaks"


def test_where_the_target_settles_the_bias_nothing_can_be_told_beyond() -> None:
    features, labels = leaking(200, 0.9, seed=6)
    verdict = verdict_on(features, labels, within=labels)
    assert verdict.state == "cannot tell"
    assert "no two of its labels occur among rows that are compared" in verdict.words


def test_classes_and_numbers_are_read() -> None:
    generator = np.random.default_rng(7)
    features = generator.normal(size=(1000, 6))
    race = np.argmax(features[:, :4] + generator.normal(size=(1000, 4)), axis=1)
    age = np.exp(features[:, 0] + generator.normal(size=1000))
    audit = audit_features({"h": features}, {"race": race, "age": age}, probes=LINEAR)
    assert [verdict.bias for verdict in audit.leaks] == ["race", "age"]


def test_a_leak_that_no_line_shows_is_found() -> None:
    features = np.random.default_rng(8).normal(size=(2000, 10))
    labels = (features[:, 0] * features[:, 1] > 0).astype(int)
    verdict = verdict_on(features, labels)
    scores = {reading.probe: reading.score for reading in verdict.readings}
    assert verdict.state == "leaks"
    assert scores["mlp"] > 0.8 > 0.55 > scores["linear"]


def test_predicted_classes_can_be_audited() -> None:
    generator = np.random.default_rng(9)
    labels = generator.integers(2, size=1000)
    predicted = np.where(generator.random(1000) < 0.4, 2 * labels + 1, generator.integers(5, size=1000))
    assert verdict_on(predicted, labels).state == "leaks"


def test_constant_features_give_no_evidence() -> None:
    verdict = verdict_on(np.ones((40, 3)), np.arange(40) % 2)
    assert verdict.state == "no evidence of leakage"
    for reading in verdict.readings:
        assert (reading.score, reading.low, reading.high) == pytest.approx((0.5, 0.5, 0.5))
        assert reading.p == 1.0


def test_many_features_of_few_rows_could_hide_a_leak() -> None:
    generator = np.random.default_rng(10)
    verdict = verdict_on(generator.normal(size=(4000, 400)), generator.integers(2, size=4000), probes=LINEAR)
    assert verdict.state == "cannot tell"
    assert verdict.needed_rows is not None
    assert verdict.needed_rows > 4000
    assert "on a planted leak of AUC .60." in verdict.words


def test_at_most_so_many_rows_are_read_and_it_is_said() -> None:
    features, labels = leaking(3000, 0.8, seed=11)
    labels[:100] = -1
    verdict = verdict_on(features, labels, most_rows=1000, probes=LINEAR)
    assert verdict.readings[0].rows == 1000
    assert codes(verdict.notes) == ["rows-without-label-dropped", "bias-rows-sampled"]
    assert noticed(verdict.notes, "rows-without-label-dropped", rows=100)
    assert noticed(verdict.notes, "bias-rows-sampled", most=1000, rows=2900)


def test_features_folded_are_said_to_be() -> None:
    generator = np.random.default_rng(12)
    verdict = verdict_on(generator.normal(size=(60, 3, 20, 20)), np.arange(60) % 2, probes=("neighbors",))
    assert codes(verdict.notes) == ["features-folded"]
    assert noticed(verdict.notes, "features-folded", features=1200, most=1024)


def test_fewer_than_two_labels_are_no_verdict_and_the_other_columns_are_read() -> None:
    features, labels = leaking(300, 0.9, seed=13)
    audit = audit_features({"h": features}, {"race": np.zeros(300, int), "gender": labels}, probes=LINEAR)
    first, second = audit.verdicts
    assert (first.state, first.needed_rows, first.readings) == ("cannot tell", None, ())
    assert "all rows with a known label have the same label" in first.words
    assert second.state == "leaks"


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 25])
@pytest.mark.parametrize("persons", [False, True])
def test_however_few_rows_there_are_an_audit_gives_a_verdict(rows: int, persons: bool) -> None:
    for seed in range(8):
        generator = np.random.default_rng([seed, rows])
        biases = {"gender": generator.integers(-1, 3, size=rows), "age": generator.normal(size=rows)}
        layers = {"h": generator.normal(size=(rows, 3)), "y": generator.integers(2, size=rows)}
        same = generator.integers(rows // 2 + 1, size=rows) if persons else None
        within = generator.integers(2, size=rows) if seed % 2 else None
        audit = audit_features(layers, biases, same=same, within=within)
        assert len(audit.verdicts) == 4
        for reading in (one for verdict in audit.verdicts for one in verdict.readings):
            assert 0 <= reading.low <= reading.score <= reading.high <= 1
            assert 0 < reading.p <= reading.p_corrected <= 1


def test_p_values_are_corrected_over_all_readings() -> None:
    features, labels = leaking(200, 0.6, seed=14)
    other = np.random.default_rng(15).integers(2, size=200)
    audit = audit_features({"h": features, "h_y": features[:, 1:]}, {"gender": labels, "race": other}, probes=LINEAR)
    readings = [reading for verdict in audit.verdicts for reading in verdict.readings]
    least = min(readings, key=lambda reading: reading.p)
    assert least.p_corrected == pytest.approx(4 * least.p)
    assert [(verdict.layer, verdict.bias) for verdict in audit.verdicts] == [
        ("h", "gender"),
        ("h_y", "gender"),
        ("h", "race"),
        ("h_y", "race"),
    ]


def test_the_same_seed_gives_the_same_audit_as_plain_json() -> None:
    features, labels = leaking(120, 0.7, seed=16)
    first, second = (audit_features({"h": features}, {"gender": labels}).to_dict() for _ in range(2))
    assert first == second
    told = json.loads(json.dumps(first))
    assert told == first
    assert set(told) == {"verdicts", "margin", "level", "conditional", "seed"}
    assert told["verdicts"][0]["readings"][0]["probe"] == "linear"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"layers": {}}, Refusal("no-layers-or-biases")),
        ({"layers": {"h": np.zeros((9, 2))}}, Refusal("row-counts-differ", counts="h 9, gender 10")),
        ({"layers": {"h": np.array(["a"] * 10)}}, Refusal("layer-not-numeric", layer="h")),
        ({"layers": {"h": np.full((10, 2), np.nan)}}, Refusal("features-not-finite", layer="h")),
        ({"biases": {"gender": np.zeros((10, 2), int)}}, Refusal("bias-not-one-column", bias="gender")),
        ({"within": np.linspace(0, 1, 10)}, Refusal("real-number-labels", labels="within")),
        ({"same": np.zeros(3, int)}, Refusal("label-count-mismatch", labels="same", rows=10)),
        ({"probes": ("liner",)}, Refusal("misspelled-name", kind="probe", name="liner", nearest="linear")),
        ({"margin": 0.3}, Refusal("audit-settings-out-of-range")),
        ({"level": 95}, Refusal("audit-settings-out-of-range")),
    ],
)
def test_what_cannot_be_audited_is_an_input_error(change: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"layers": {"h": np.eye(10)}, "biases": {"gender": np.arange(10) % 2}} | change
    with refused(words):
        audit_features(settings.pop("layers"), settings.pop("biases"), **settings)
