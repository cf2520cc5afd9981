"""csad.audit of every kind of model, on labels of every kind; known truths come out as they are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import csad
from csad.auditing.audit import Audit
from csad.auditing.of_run import labels_of
from tests.support.messages import Refusal, codes, noticed, refused
from tests.support.own_data import DATASET, B, X, Y
from tests.support.paths import GUIDES

QUICK: dict[str, Any] = {"probes": ("linear",), "repeats": 10}
GENERATOR = np.random.default_rng(0)
N = 400
TARGET, GENDER = GENERATOR.integers(2, size=(2, N))
TABLE = GENERATOR.normal(size=(N, 3))
TABLE[:, 0] += 3 * TARGET
TABLE[:, 1] += 3 * GENDER


def sources(audit: Audit) -> list[str]:
    return list(dict.fromkeys(verdict.layer for verdict in audit.leakage.verdicts))


def test_audit_is_a_function_and_stays_one() -> None:
    import csad.auditing.of_run

    assert callable(csad.audit)


def test_a_run_is_read_from_x_to_its_prediction(kept: csad.Run) -> None:
    found = csad.audit(kept, X, Y, {"sex": B}, **QUICK)
    assert sources(found) == ["x", "h", "h_y", "prediction"]
    assert found.targets == ("low", "mid", "top")
    assert found.figures["accuracy"].value == pytest.approx(np.mean(np.array(kept.classes)[kept.predict(X)] == Y))
    method = csad.audit(kept.method, X, np.searchsorted(kept.classes, Y), {"sex": B}, **QUICK)
    assert method.figures["accuracy"] == found.figures["accuracy"]
    numbered = csad.audit(kept, X, np.searchsorted(kept.classes, Y), {"sex": B}, **QUICK)
    assert numbered.figures == found.figures


def test_a_debiased_classifier_is_read_alike() -> None:
    model = csad.DebiasedClassifier(
        "vanilla", random_state=0, settings={"train.target_epochs": 4, "train.pretrain_rate": 0.02}
    )
    model.fit(TABLE, np.where(TARGET, "yes", "no"))
    found = csad.audit(model, TABLE, np.where(TARGET, "yes", "no"), GENDER, **QUICK)
    assert sources(found) == ["x", "h", "h_y", "prediction"]
    assert found.figures["accuracy"].value == model.score(TABLE, np.where(TARGET, "yes", "no"))


def test_an_estimator_that_leans_on_the_bias_leaks_and_one_that_cannot_see_it_does_not_more() -> None:
    leaning = LogisticRegression().fit(TABLE, np.where(np.arange(N) % 3, GENDER, TARGET))
    blind = LogisticRegression().fit(TABLE[:, [0, 2]], TARGET)
    found = csad.audit(
        leaning, TABLE, TARGET, GENDER, against={"probabilities": blind.predict_proba(TABLE[:, [0, 2]])}, **QUICK
    )
    assert found.state == "leaks"
    assert sources(found) == ["x", "prediction"]
    assert found.comparison is not None
    assert found.comparison.leakage.verdicts[0].state != "leaks"
    assert found.comparison.figures["accuracy"].difference < -0.1
    assert "best from prediction of the other model has AUC" in found.comparison.words


def test_an_estimator_without_probabilities_shows_its_scores() -> None:
    found = csad.audit(LinearSVC().fit(TABLE, TARGET), TABLE, TARGET, GENDER, **QUICK)
    assert sources(found) == ["x", "scores", "prediction"]
    assert "ece" not in found.figures


@pytest.mark.parametrize("names", [(), ("no", "yes")])
def test_a_model_that_is_no_estimator_of_scikit_learn_is_read_whether_it_names_its_classes_or_not(names: Any) -> None:
    class Exported:
        classes = names

        def predict(self, x: Any) -> Any:
            return (x[:, 0] > 1.5).astype(int)

        def predict_proba(self, x: Any) -> Any:
            return np.eye(2)[self.predict(x)]

    found = csad.audit(Exported(), TABLE, TARGET, GENDER, **QUICK)
    assert found.figures["accuracy"].value == np.mean((TABLE[:, 0] > 1.5) == TARGET)
    assert found.targets == (names or ("0", "1"))


def test_unknown_values_in_x_are_for_the_model_to_bear() -> None:
    holed = np.where(GENERATOR.random(TABLE.shape) < 0.1, np.nan, TABLE)
    found = csad.audit(HistGradientBoostingClassifier(max_iter=3).fit(holed, TARGET), holed, TARGET, GENDER, **QUICK)
    assert sources(found) == ["prediction"]
    assert codes(found.notes) == ["x-not-probed"]


def test_a_regression_is_audited_with_errors_instead_of_accuracies() -> None:
    amount = TABLE[:, 0] + GENERATOR.normal(size=N)
    found = csad.audit(LinearRegression().fit(TABLE, amount), TABLE, amount, GENDER, **QUICK)
    assert list(found.figures) == ["mean_squared_error"]
    assert 0.8 < found.figures["mean_squared_error"].value < 1.2
    whole = csad.audit(LinearRegression().fit(TABLE, TARGET), TABLE, TARGET, GENDER, **QUICK)
    assert list(whole.figures) == ["mean_squared_error"]


def test_a_torch_module_gives_logits_and_is_left_as_it_was() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))
    module.train()
    found = csad.audit(module, TABLE, TARGET, GENDER, **QUICK)
    assert module.training
    with torch.no_grad():
        said = module.eval()(torch.as_tensor(TABLE, dtype=torch.float32)).argmax(1).numpy()
    assert found.figures["accuracy"].value == pytest.approx(np.mean(said == TARGET))
    assert {"auc", "ece"} <= found.figures.keys()


def test_a_function_may_give_layers_by_name() -> None:
    def model(x: Any) -> dict[str, Any]:
        return {"h": x[:, :2], "probabilities": np.column_stack([x[:, 2] < 0, x[:, 2] >= 0]).astype(float)}

    found = csad.audit(model, TABLE, TARGET, GENDER, **QUICK)
    assert sources(found) == ["x", "h", "prediction"]


@pytest.mark.parametrize(
    "given, deployed, figures",
    [
        (TARGET, "prediction", True),
        (np.where(TARGET, "b", "a"), "prediction", True),
        (np.column_stack([1 - TARGET, TARGET]) * 0.8 + 0.1, "prediction", True),
        (TARGET * 0.8 + 0.1, "prediction", True),
        (torch.as_tensor(TABLE), "features", False),
        (TABLE[:, 0], "features", False),
        ({"h": TABLE, "prediction": TARGET}, "prediction", True),
    ],
)
def test_what_an_array_is_follows_from_y(given: Any, deployed: str, figures: bool) -> None:
    y = np.where(TARGET, "b", "a") if getattr(given, "dtype", np.dtype(int)) == np.dtype("<U1") else TARGET
    found = csad.audit(given, None, y, GENDER, **QUICK)
    assert found.deployed == deployed
    assert ("accuracy" in found.figures) == figures
    if figures:
        assert found.figures["accuracy"].value == 1.0


def test_features_that_hold_the_bias_wholly_or_in_part_leak() -> None:
    noise = GENERATOR.normal(size=(N, 4))
    assert csad.audit(np.column_stack([noise, GENDER]), None, TARGET, GENDER).state == "leaks"
    assert csad.audit(np.column_stack([noise, noise[:, 0] + GENDER]), None, TARGET, GENDER).state == "leaks"


def test_noise_of_many_rows_gives_no_evidence_and_thirty_rows_cannot_tell() -> None:
    generator = np.random.default_rng(5)
    y, b = generator.integers(2, size=(2, 5000))
    features = generator.normal(size=(5000, 4))
    many = csad.audit(features, None, y, b)
    few = csad.audit(features[:30], None, y[:30], b[:30])
    assert (many.state, few.state) == ("no evidence of leakage", "cannot tell")
    assert few.needed_rows is not None
    assert f"About {few.needed_rows:,} rows are needed." in few.words


def test_biases_may_be_words_numbers_and_unknown() -> None:
    age = np.where(np.arange(N) % 7 == 0, np.nan, 40 + 10 * TABLE[:, 1])
    sex = np.where(np.arange(N) % 5 == 0, "", np.where(GENDER, "m", "f")).astype(object)
    found = csad.audit({"h": TABLE[:, 1:]}, None, TARGET, {"sex": sex, "age": age}, **QUICK)
    assert [(v.bias, v.state, v.readings[0].rows) for v in found.leakage.verdicts] == [
        ("sex", "leaks", N - N // 5),
        ("age", "leaks", N - len(range(0, N, 7))),
    ]
    assert noticed(found.leakage.verdicts[0].notes, "rows-without-label-dropped", rows=80)


def test_whole_numbers_are_classes_unless_they_are_named_as_numbers() -> None:
    years = np.round(40 + 10 * TABLE[:, 1]).astype(int)
    classes = csad.audit(TARGET, None, TARGET, years, names=["age"], **QUICK)
    number = csad.audit(TARGET, None, TARGET, years, names=["age"], numbers=["age"], **QUICK)
    assert len({group.group for group in classes.groups}) == len(np.unique(years))
    assert len({group.group for group in number.groups}) == 5


def test_a_bias_that_is_a_number_has_its_own_unit_and_a_target_that_of_what_is_predicted() -> None:
    task = csad.Task("ages", (1,), csad.Number(50, 10), (csad.Number(40, 5),), ("age",))
    x, y, b = np.zeros((2, 1), np.float32), np.float32([0, 1]), np.float32([[1], [np.nan]])
    target, (age,) = labels_of(task, csad.Samples(x, y, b))
    np.testing.assert_array_equal(target.values, [0, 1])
    np.testing.assert_array_equal(age.values, [45, np.nan])


def test_the_training_rows_tell_which_cells_conflict() -> None:
    before = np.repeat([0, 1], 100)
    trained = (before, np.where(np.arange(200) % 10 == 0, 1 - before, before))
    found = csad.audit(GENDER, None, TARGET, GENDER, trained=trained, **QUICK)
    (alignment,) = found.alignment
    assert (alignment.aligned.value, alignment.conflicting.value) == (1.0, 0.0)
    assert csad.audit(GENDER, None, TARGET, GENDER, **QUICK).alignment == ()


def test_all_rows_may_be_compared_instead_of_those_of_one_target() -> None:
    b = np.where(GENERATOR.random(N) < 0.9, TARGET, 1 - TARGET)
    assert csad.audit(TARGET, None, TARGET, b, **QUICK).state != "leaks"
    assert csad.audit(TARGET, None, TARGET, b, among="all", **QUICK).state == "leaks"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"model": LogisticRegression()}, Refusal("model-cannot-predict")),
        ({"model": LogisticRegression().fit(TABLE, TARGET), "X": TABLE[:, :2]}, Refusal("model-cannot-predict")),
        ({"model": LogisticRegression().fit(TABLE, TARGET), "X": None}, Refusal("audit-needs-x")),
        ({"model": LogisticRegression}, Refusal("model-is-class")),
        ({"model": object()}, Refusal("model-not-auditable", kind="object")),
        ({"model": TARGET[:9]}, Refusal("model-output-rows-differ", target_rows=400, output_rows=9)),
        ({"X": TABLE[:9]}, Refusal("x-y-rows-differ", target_rows=400, x_rows=9)),
        ({"b": GENDER[:9]}, Refusal("bias-shape-mismatch", rows=400)),
        ({"b": {}}, Refusal("bias-columns-unequal")),
        ({"y": TABLE}, Refusal("labels-not-one-column", labels="y")),
        ({"same": np.arange(9)}, Refusal("group-labels-count", rows=400)),
        ({"model": {"probabilities": np.ones((N, 2))}}, Refusal("probabilities-not-normalized")),
        (
            {"model": {"probabilities": np.full((N, 3), 1 / 3)}, "y": np.where(TARGET, "b", "a")},
            Refusal("probability-columns-mismatch", columns=3),
        ),
        ({"model": np.full((N, 2), np.nan)}, Refusal("model-output-invalid")),
        (
            {"model": LogisticRegression().fit(TABLE, np.where(TARGET, "b", "a"))},
            Refusal("target-classes-unknown", found="0, 1"),
        ),
        ({"numbers": ["age"]}, Refusal("numbers-not-a-bias", column="age", known="bias")),
        ({"names": ["a", "b"]}, Refusal("audit-bias-names-mismatch")),
        ({"trained": (TARGET, GENDER[:5])}, Refusal("trained-rows-differ")),
        ({"probes": ("liner",)}, Refusal("misspelled-name", nearest="linear")),
    ],
)
def test_what_cannot_be_audited_is_told_in_a_sentence(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"model": TARGET, "X": TABLE, "y": TARGET, "b": GENDER, **QUICK} | change
    with refused(words):
        csad.audit(given.pop("model"), given.pop("X"), given.pop("y"), given.pop("b"), **given)


def test_the_example_of_the_guide_runs() -> None:
    page = GUIDES / "verdict.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "verdict.md", "exec"), {"__name__": "example"})


def test_a_run_on_given_data_is_audited_on_its_split(kept: csad.Run) -> None:
    from csad.auditing.inputs import AuditSettings
    from csad.auditing.of_run import audit_run

    told: list[str] = []
    found = audit_run(kept, dataset=DATASET, settings=AuditSettings(**QUICK), tell=told.append)
    assert (found.rows, sources(found)) == (len(DATASET.splits["test"]), ["x", "h", "h_y", "prediction"])
    assert told[0] == "Predicting sex from x …"
    with refused("training-data-from-python", call="csad.audit(run, X, y, b)"):
        audit_run(kept)
