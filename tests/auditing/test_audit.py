"""The whole audit from arrays: one verdict on what is deployed, figures by hand, and two models draw by draw."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from csad.auditing.audit import audit_arrays, overall, small_cells
from csad.auditing.comparison import Difference, ReadingDifference, compare_figures, compare_readings, in_words
from csad.auditing.inputs import AuditedModel, AuditRows, AuditSettings, LabelColumn, ModelOutputs
from csad.auditing.leakage.leakage import Leakage, audit_features
from csad.auditing.leakage.verdicts import Reading, Verdict, undecided
from csad.auditing.measure import Figure, by_alignment, by_cell, by_group, measure
from tests.support.messages import Refusal, codes, noticed, refused

QUICK = AuditSettings(probes=("linear",), repeats=20)
NAMES = ("no", "yes")


def rows(count: int = 600, seed: int = 0) -> tuple[AuditRows, np.ndarray]:
    """Independent target and gender, an age, and a layer of noise."""
    generator = np.random.default_rng(seed)
    y, gender = generator.integers(2, size=(2, count))
    age = generator.normal(40, 10, size=count)
    facts = AuditRows(
        LabelColumn("target", y, NAMES), (LabelColumn("gender", gender, ("f", "m")), LabelColumn("age", age))
    )
    return facts, generator.normal(size=(count, 3))


def model(outputs: ModelOutputs | None, count: int, **layers: np.ndarray) -> AuditedModel:
    return AuditedModel(outputs, layers, np.arange(count))


def test_the_verdict_is_on_the_prediction_whatever_the_layers_know() -> None:
    facts, noise = rows(3000)
    knowing = noise + 3 * facts.biases[0].values[:, None]
    found = audit_arrays(model(ModelOutputs(facts.target.values), 3000, h=knowing), facts, QUICK)
    states = {(v.layer, v.bias): v.state for v in found.leakage.verdicts}
    assert found.deployed == "prediction"
    assert states["h", "gender"] == "leaks"
    # The prediction is the target itself, of which rows that are compared have the same.
    assert found.state == states["prediction", "gender"] == states["prediction", "age"] == "no evidence of leakage"
    assert str(found).startswith("NO EVIDENCE OF LEAKAGE. No probe predicts gender from prediction")
    assert "better than chance among rows with the same target." in str(found)


def test_a_prediction_that_is_the_bias_leaks() -> None:
    facts, _ = rows()
    found = audit_arrays(model(ModelOutputs(facts.biases[0].values), 600), facts, QUICK)
    assert found.state == "leaks"
    assert found.words.startswith("LEAKS. A probe predicts gender from prediction")
    assert found.words.endswith("so prediction leaks gender. age: no evidence of leakage.")


def test_without_predictions_the_last_layer_is_what_is_deployed_and_there_are_no_figures() -> None:
    facts, noise = rows(60)
    found = audit_arrays(model(None, 60, h=noise, h_y=noise[:, :1]), facts, QUICK)
    assert (found.deployed, found.state) == ("h_y", "cannot tell")
    assert (found.figures, found.groups, found.cells, found.alignment) == ({}, (), (), ())
    assert found.needed_rows is not None
    assert found.needed_rows > 60
    with refused("model-without-outputs"):
        audit_arrays(model(None, 60), facts, QUICK)


def test_the_gravest_verdict_is_the_verdict_of_all() -> None:
    few = replace(undecided("h", "age", "rows lack"), needed_rows=500)
    leak, none = (
        replace(few, state=state, words=state, needed_rows=None) for state in ("leaks", "no evidence of leakage")
    )
    assert overall([none, few, leak])[0] == "leaks"
    assert overall([none, few, replace(few, needed_rows=70)]) == (
        "cannot tell",
        f"CANNOT TELL. {few.words} {few.words} age: no evidence of leakage.",
        500,
    )
    assert overall([few, undecided("h", "race", "one label")])[2] is None  # no number of rows would do
    assert overall([none])[0] == "no evidence of leakage"


def test_figures_of_groups_and_cells_are_those_of_the_hand() -> None:
    target = LabelColumn("target", np.array([0, 0, 0, 0, 1, 1, 1, 1]), NAMES)
    gender = LabelColumn("gender", np.array([0, 0, 1, 1, 0, 0, 1, -1]), ("f", "m"))
    outputs = ModelOutputs(np.array([0, 1, 0, 0, 1, 1, 0, 1]))
    facts = AuditRows(target, (gender,))
    cells = {(c.group, c.target): (c.accuracy.value, c.rows) for c in by_cell(outputs, facts, QUICK)}
    assert cells == {("f", "no"): (0.5, 2), ("f", "yes"): (1.0, 2), ("m", "no"): (1.0, 2), ("m", "yes"): (0.0, 1)}
    groups = {g.group: (g.rows, g.figures["accuracy"].value) for g in by_group(outputs, facts, QUICK)}
    assert groups == {"f": (4, 0.75), "m": (3, pytest.approx(2 / 3))}
    figures = measure(outputs, facts, QUICK)
    assert figures["accuracy"].value == 0.75
    assert figures["gap_gender_max"].value == 1.0
    assert all(f.low <= f.value <= f.high for f in figures.values() if f.low is not None and f.high is not None)


def test_a_cell_of_few_rows_that_are_all_right_is_not_said_to_be_sure() -> None:
    # Wilson's interval by hand for 4 of 4 at z = 1.96: from 4 / (4 + 1.96²) = .5101 to 1.
    facts = AuditRows(
        LabelColumn("target", np.zeros(4, int), NAMES), (LabelColumn("gender", np.zeros(4, int), ("f",)),)
    )
    (cell,) = by_cell(ModelOutputs(np.zeros(4, int)), facts, QUICK)
    assert (cell.accuracy.low, cell.accuracy.high) == (pytest.approx(0.5101, abs=1e-4), 1.0)
    (person,) = by_cell(ModelOutputs(np.zeros(4, int)), replace(facts, same=np.array([0, 0, 1, 1])), QUICK)
    assert person.accuracy.low == pytest.approx(2 / (2 + 1.96**2), abs=1e-4)


def test_calibration_is_told_for_each_group() -> None:
    generator = np.random.default_rng(1)
    yes = np.full(4000, 0.8)
    gender = generator.integers(2, size=4000)
    y = (generator.random(4000) < np.where(gender == 0, 0.8, 0.6)).astype(int)
    facts = AuditRows(LabelColumn("target", y, NAMES), (LabelColumn("gender", gender, ("f", "m")),))
    told = by_group(ModelOutputs(np.ones(4000, int), np.column_stack([1 - yes, yes])), facts, QUICK)
    assert {g.group: round(g.figures["ece"].value, 1) for g in told} == {"f": 0.0, "m": 0.2}


def test_a_number_has_its_fifths_as_groups_and_unknown_ones_are_in_none() -> None:
    age = LabelColumn("age", np.append(np.arange(1.0, 101.0), [np.nan, np.nan]))
    groups = age.grouped(age.cuts())
    assert groups.names == ("up to 20", "over 20 to 40", "over 40 to 60", "over 60 to 80", "over 80")
    assert np.bincount(groups.values[:-2]).tolist() == [20, 20, 20, 20, 20]
    assert groups.values[-2:].tolist() == [-1, -1]
    nobody = LabelColumn("age", np.full(3, np.nan))
    assert nobody.grouped(nobody.cuts()).values.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.1, 0.30000001, 2.5], ("up to 0.1", "over 0.1 to 0.3", "over 0.3")),
        ([1e6 + 0.25, 1e6 + 0.5, 2e6], ("up to 1000000.25", "over 1000000.25 to 1000000.5", "over 1000000.5")),
        ([45_000, 120_000, 3e15], ("up to 45000", "over 45000 to 120000", "over 120000")),
    ],
)
def test_numbers_are_told_as_one_would_write_them(values: list[float], names: tuple[str, ...]) -> None:
    age = LabelColumn("age", np.array(values, np.float64))
    assert age.grouped(age.cuts()).names == names


def test_a_target_that_is_a_number_has_an_error_for_each_group() -> None:
    facts, noise = rows(200)
    facts = replace(facts, target=LabelColumn("target", noise[:, 0]))
    found = audit_arrays(model(ModelOutputs(noise[:, 0] + facts.biases[0].values), 200), facts, QUICK)
    errors = {g.group: g.figures["mean_squared_error"].value for g in found.groups if g.bias == "gender"}
    assert errors == {"f": 0.0, "m": pytest.approx(1.0)}
    assert found.among == "all"
    assert codes(found.notes) == ["number-target-compares-all"]
    assert (found.cells, found.alignment) == ((), ())


def test_at_most_so_many_rows_are_probed_and_whole_persons_of_them() -> None:
    facts, noise = rows(300)
    persons = replace(facts, same=np.arange(300) // 3)
    settings = replace(QUICK, most_rows=90)
    probed = persons.probed(settings)
    assert len(probed) == 90
    assert set(np.bincount(probed // 3)[np.unique(probed // 3)]) == {3}
    found = audit_arrays(
        AuditedModel(ModelOutputs(facts.target.values), {"h": noise[probed]}, probed), persons, settings
    )
    assert (found.rows, found.probed) == (300, 90)
    assert codes(found.notes) == ["probed-rows-sampled"]
    assert noticed(found.notes, "probed-rows-sampled", probed=90, rows=300)
    assert {r.rows for v in found.leakage.verdicts for r in v.readings} == {90}


def test_a_model_against_itself_differs_by_nothing() -> None:
    facts, noise = rows(300)
    one = model(ModelOutputs(facts.target.values), 300, x=noise, h=noise)
    comparison = audit_arrays(one, facts, QUICK, against=("itself", one)).comparison
    assert comparison is not None
    assert {r.layer for r in comparison.readings} == {"h", "prediction"}  # x is the same for both
    assert all((r.auc.difference, r.auc.low, r.auc.high) == (0, 0, 0) for r in comparison.readings)
    assert all((f.difference, f.low, f.high) == (0, 0, 0) for f in comparison.figures.values())


def test_a_model_that_leaks_less_and_errs_less_is_found_so_draw_by_draw() -> None:
    facts, noise = rows(2000)
    y, gender = facts.target.values, facts.biases[0].values
    generator = np.random.default_rng(3)
    leaning = np.where(generator.random(2000) < 0.3, gender, y)
    fair = np.where(generator.random(2000) < 0.1, 1 - y, y)
    mine, other = (
        model(ModelOutputs(fair), 2000, h=noise),
        model(ModelOutputs(leaning), 2000, h=noise + gender[:, None]),
    )
    found = audit_arrays(mine, facts, QUICK, against=("vanilla", other))
    assert found.comparison is not None
    auc = {(r.layer, r.bias): r.auc for r in found.comparison.readings}["h", "gender"]
    assert auc.other > 0.8
    assert auc.low is not None
    assert auc.high is not None
    assert auc.low < auc.difference < auc.high < -0.2
    gap = found.comparison.figures["gap_gender_max"]
    assert gap.difference == pytest.approx(gap.value - gap.other)
    assert gap.high is not None
    assert gap.high < 0


def test_rows_of_one_person_are_drawn_together_for_every_interval() -> None:
    # 100 persons of nine rows alike, half of each cell right: 900 rows that are drawn apart would make the intervals
    # √9 = 3 times as narrow as 100 persons do.
    y, gender = (np.repeat(values, [40, 10, 10, 40]) for values in ([0, 0, 1, 1], [0, 1, 0, 1]))
    said = np.where(np.arange(100) % 2, y, 1 - y)
    y, gender, said, person = (np.repeat(values, 9) for values in (y, gender, said, np.arange(100)))
    apart = AuditRows(LabelColumn("target", y, NAMES), (LabelColumn("gender", gender, ("f", "m")),))
    mine, settings = ModelOutputs(said), replace(QUICK, repeats=200)

    def widths(facts: AuditRows) -> dict[str, float]:
        (sides,) = by_alignment(mine, facts, settings)
        against = compare_figures(model(mine, 900), model(ModelOutputs(y), 900), facts, settings)
        told: dict[str, Figure | Difference] = {"all": measure(mine, facts, settings)["accuracy"]}
        told |= {group.group: group.figures["accuracy"] for group in by_group(mine, facts, settings)}
        told |= {"aligned": sides.aligned, "conflicting": sides.conflicting, "difference": sides.difference}
        told |= {f"against {name}": against[name] for name in ("accuracy", "aligned_gender", "conflicting_gender")}
        return {name: one.high - one.low for name, one in told.items() if one.low is not None and one.high is not None}

    narrow, wide = widths(apart), widths(replace(apart, same=person))
    assert len(narrow) == 9
    assert {name: wide[name] / narrow[name] for name in narrow} == pytest.approx(dict.fromkeys(narrow, 3.0), abs=1.0)


def test_each_bias_has_its_own_sides_where_two_models_are_compared() -> None:
    # Gender went with the target in training and hair went against it; where it is tested both are the same column.
    y, gender = (np.repeat(values, 10) for values in ([0, 0, 1, 1], [0, 1, 0, 1]))
    before, theirs = (np.repeat(values, [80, 20, 20, 80]) for values in ([0, 0, 1, 1], [0, 1, 0, 1]))
    target, names = LabelColumn("target", y, NAMES), ("f", "m")
    biases = (LabelColumn("gender", gender, names), LabelColumn("hair", gender, names))
    trained = (
        LabelColumn("target", before, NAMES),
        (LabelColumn("gender", theirs, names), LabelColumn("hair", 1 - theirs, names)),
    )
    facts = AuditRows(target, biases, trained=trained)
    mine = ModelOutputs(np.where(np.arange(40) % 10 < 3, y, gender))  # right where gender is as y, else in three of ten
    found = compare_figures(model(mine, 40), model(ModelOutputs(y), 40), facts, QUICK)
    told = {name: (f.value, f.other) for name, f in found.items() if name.startswith(("aligned", "conflicting"))}
    assert told == {
        "aligned_gender": (1.0, 1.0),
        "conflicting_gender": (0.3, 1.0),
        "aligned_hair": (0.3, 1.0),
        "conflicting_hair": (1.0, 1.0),
    }
    for one in by_alignment(mine, facts, QUICK):
        assert (one.aligned.value, one.conflicting.value) == (
            found[f"aligned_{one.bias}"].value,
            found[f"conflicting_{one.bias}"].value,
        )


def test_readings_differ_by_an_interval_at_the_level_of_this_audit() -> None:
    # Draws differ by 0, .1, …, 1: three fifths of them are between .2 and .8.
    def leakage(score: float, draws: np.ndarray, level: float) -> Leakage:
        reading = Reading("linear", "h", "age", score, 0.5, score, score, 1.0, 1.0, 100)
        verdict = replace(undecided("h", "age", "made by hand"), readings=(reading,))
        return Leakage((verdict,), 0.05, level, False, 0, {("h", "age", "linear"): draws})

    ours, theirs = leakage(1.0, np.arange(11) / 10, 0.6), leakage(0.5, np.zeros(11), 0.95)
    (found,) = compare_readings(ours, theirs)
    assert (found.auc.value, found.auc.other, found.auc.difference) == (1.0, 0.5, 0.5)
    assert (found.auc.low, found.auc.high) == pytest.approx((0.2, 0.8))


def test_words_are_on_the_reader_that_tells_most_of_the_other_model() -> None:
    readings = (
        ReadingDifference("h", "age", "linear", Difference(0.6, 0.9, -0.3, -0.4, -0.2)),
        ReadingDifference("h", "age", "trees", Difference(0.8, 0.7, 0.1, 0.0, 0.2)),  # the best here
        ReadingDifference("x", "age", "linear", Difference(0.5, 1.0, -0.5, -0.6, -0.4)),  # not what is deployed
    )
    assert in_words("vanilla", "h", readings) == (
        "The probe that predicts age best from h of vanilla has AUC .90 there and AUC .60 in this model, a difference "
        "of −0.300 (−0.400 … −0.200)."
    )


def test_a_difference_without_an_interval_is_told_alone() -> None:
    assert str(Difference(0.7, 0.6, 0.1, None, None)) == "+0.100"


def test_draws_are_of_the_same_rows_whatever_else_is_read() -> None:
    facts, noise = rows(200)
    biases = {"gender": facts.biases[0].values}
    alone = audit_features({"h": noise}, biases, probes=("linear",))
    many = audit_features({f"h{k}": noise for k in range(30)} | {"h": noise}, biases, probes=("linear",))
    (difference,) = compare_readings(alone, many)
    assert (difference.layer, difference.auc.low, difference.auc.high) == ("h", 0.0, 0.0)


def test_an_audit_is_plain_json_and_the_same_seed_gives_the_same() -> None:
    facts, noise = rows(150)
    one = model(ModelOutputs(facts.target.values), 150, h=noise)
    first, second = (audit_arrays(one, facts, QUICK, against=("other", one)).to_dict() for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first


@pytest.mark.parametrize(
    "change, words",
    [
        ({"among": "tagret"}, Refusal("misspelled-name", nearest="target")),
        ({"repeats": 0}, Refusal("audit-repeats-or-seed")),
        ({"seed": -1}, Refusal("audit-repeats-or-seed")),
        ({"margin": 0.5}, Refusal("audit-settings-out-of-range")),
        ({"probes": ()}, Refusal("no-probes")),
    ],
)
def test_settings_that_cannot_be_used_are_told_at_once(change: dict[str, object], words: str) -> None:
    with refused(words):
        AuditSettings(**change)  # type: ignore[arg-type]


def test_untold_verdicts_have_no_readings() -> None:
    facts = AuditRows(
        LabelColumn("target", np.arange(40) % 2, NAMES), (LabelColumn("race", np.zeros(40, int), ("a",)),)
    )
    found = audit_arrays(model(ModelOutputs(np.arange(40) % 2), 40), facts, QUICK)
    (verdict,) = found.leakage.verdicts
    assert isinstance(verdict, Verdict)
    assert (found.state, verdict.readings, found.needed_rows) == ("cannot tell", (), None)


def test_a_bias_whose_verdict_is_milder_is_named_too() -> None:
    def verdict(bias: str, state: Any) -> Verdict:
        return Verdict("prediction", bias, state, f"Words on {bias}.", None, ())

    found = overall([verdict("sex", "cannot tell"), verdict("race", "no evidence of leakage"), verdict("age", "leaks")])
    assert found[:2] == ("leaks", "LEAKS. Words on age. sex: cannot tell. race: no evidence of leakage.")
    assert overall([verdict("sex", "leaks"), verdict("age", "leaks")])[1] == "LEAKS. Words on sex. Words on age."


def test_cells_of_all_biases_at_once_that_have_hardly_a_row_are_noted() -> None:
    y, gender = np.arange(40) % 2, np.arange(40) // 2 % 2
    target, sex = LabelColumn("target", y, NAMES), LabelColumn("gender", gender, ("f", "m"))
    age = LabelColumn("age", np.arange(40.0))
    assert small_cells(AuditRows(target, (sex,))) == ()
    assert small_cells(AuditRows(target, (sex, LabelColumn("half", np.arange(40) // 20, ("a", "b"))))) == ()
    assert noticed(small_cells(AuditRows(target, (sex, age))), "cells-too-small", cells=20, few=20, least=5)
    assert small_cells(AuditRows(LabelColumn("target", y + 0.5), (sex, age))) == ()
    unknown = LabelColumn("half", np.where(np.arange(40) < 4, -1, np.arange(40) // 20), ("a", "b"))  # 4 × 4, 4 × 5 rows
    assert noticed(small_cells(AuditRows(target, (sex, unknown))), "cells-too-small", cells=8, few=4)
    assert (
        small_cells(
            AuditRows(
                target,
                (
                    LabelColumn("gender", np.where(y, gender, -1), ("f", "m")),
                    LabelColumn("other", np.where(y, -1, gender), ("f", "m")),
                ),
            )
        )
        == ()
    )
