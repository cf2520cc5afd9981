"""What the scikit-learn face is given: arrays of every kind, labels of every kind, and what cannot be used."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError

import csad
from csad import DebiasedClassifier, InputError, TrainingWarning
from csad.estimator.fit_inputs import proxy_columns
from tests.support.messages import Refusal, refused, warned

SHORT = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}


def quick(method="alvi", **params):
    return DebiasedClassifier(method, **{"settings": SHORT, "random_state": 0} | params)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, bias = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    return rng.normal(size=(60, 3)) + np.column_stack([y, bias, y]), y, bias


def test_numpy_torch_pandas_and_lists_are_alike(rows):
    pandas = pytest.importorskip("pandas")
    X, y, bias = rows
    kinds = {
        "lists": (X.tolist(), y.tolist(), bias.tolist()),
        "torch": (torch.tensor(X, requires_grad=True), torch.tensor(y), torch.tensor(bias)),
        "pandas": (pandas.DataFrame(X, columns=list("abc")), pandas.Series(y), pandas.Series(bias, name="sex")),
        "columns": (X, y, bias[:, None]),
    }
    expected = quick().fit(X, y, bias=bias).predict_proba(X)
    for kind, (x, target, b) in kinds.items():
        model = quick().fit(x, target, bias=b)
        assert (model.predict_proba(x) == expected).all(), kind
        if kind == "pandas":
            assert model.feature_names_in_.tolist() == ["a", "b", "c"]
            assert model.trained_.model.task.bias_names == ("sex",)


@pytest.mark.parametrize("kind", ["words", "whole numbers", "booleans", "objects"])
def test_targets_come_back_as_they_were(rows, kind):
    X, y, bias = rows
    target = {
        "words": np.where(y, "yes", "no"),
        "whole numbers": y * 7 - 3,
        "booleans": y == 1,
        "objects": np.where(y, "yes", "no").astype(object),
    }[kind]
    model = quick().fit(X, target, bias=bias)
    assert model.classes_.tolist() == sorted(set(target.tolist()))
    assert model.classes_.dtype == target.dtype
    assert set(model.predict(X)) <= set(target.tolist())
    assert 0 <= model.score(X, target, sample_weight=np.ones(60)) <= 1


def test_bias_labels_of_every_kind_are_alike(rows):
    pandas = pytest.importorskip("pandas")
    X, y, bias = rows
    words = np.where(bias, "m", "f").astype(object)
    unknown = np.arange(60) < 10
    kinds = {
        "words": np.where(unknown, "", words),
        "None": np.where(unknown, None, words),
        "NaN": np.where(unknown, np.nan, bias),
        "-1": np.where(unknown, -1, bias),
        "pandas": pandas.Series(np.where(unknown, None, bias), dtype="Int64"),
        "categories": pandas.Series(np.where(unknown, None, words)).astype("category"),
        "booleans": np.where(unknown, None, bias == 1),
    }
    made = {kind: quick().fit(X, y, bias=b).predict_proba(X) for kind, b in kinds.items()}
    for kind, found in made.items():
        assert (found == made["-1"]).all(), kind
    assert not (quick().fit(X, y, bias=bias).predict_proba(X) == made["-1"]).all()


def test_bias_may_have_several_columns(rows):
    pandas = pytest.importorskip("pandas")
    X, y, bias = rows
    frame = pandas.DataFrame({"sex": bias, "site": np.array(["a", "b", "c"])[np.arange(60) % 3]})
    task = quick().fit(X, y, bias=frame).trained_.model.task
    assert task.bias_names == ("sex", "site")
    assert [kind.names for kind in task.biases] == [("0", "1"), ("a", "b", "c")]
    assert quick().fit(X, y, bias=np.column_stack([bias, y])).trained_.model.task.bias_names == ("bias1", "bias2")


def test_related_is_a_rule_for_the_bias(rows):
    X, y, _ = rows
    ages = np.arange(60) % 5 * 10
    model = quick("csad", related=csad.Related("near_bias", (10,))).fit(X, y, bias=ages)
    assert model.trained_.model.task.biases[0].count == 41
    with refused("related-wrong-type"):
        quick("csad", related="near_bias").fit(X, y, bias=ages)


def test_a_method_without_its_bias_trains_and_warns(rows):
    X, y, _ = rows
    with warned(TrainingWarning, "fit-without-bias", method="csad"):
        model = quick("csad").fit(X, y)
    assert model.predict(X).shape == y.shape


def test_a_method_that_needs_no_bias_does_not_warn(rows):
    X, y, _ = rows
    quick("vanilla").fit(X, y)


def test_a_bias_that_is_still_in_x_is_named(rows):
    pandas = pytest.importorskip("pandas")
    X, y, bias = rows
    X = np.column_stack([X, 5 - 2 * bias])
    labels = np.where(np.arange(60) < 5, -1, bias)
    with warned(TrainingWarning, "input-copies-bias", column=3, bias="bias"):
        quick().fit(X, y, bias=labels)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "gender"])
    with warned(TrainingWarning, "input-copies-bias", column="gender", bias="sex"):
        quick("vanilla").fit(frame, y, bias=pandas.Series(labels, name="sex"))


def test_what_varies_with_the_bias_alone_is_found():
    b = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, -1]])
    site, one_hot, constant, other = b[:, 0] * 10, b[:, 0] == 2, np.ones(6), np.arange(6)
    x = np.column_stack([constant, site, other, one_hot, b[:, 1]]).astype(float)
    assert proxy_columns(x, b) == [(1, 0), (3, 0), (4, 1)]
    assert proxy_columns(x, np.arange(6)[:, None]) == []  # every row has a bias of its own
    assert proxy_columns(x, np.full((6, 1), -1)) == []


def test_three_rows_of_three_classes_are_enough():
    X = np.eye(3)
    model = quick("vanilla").fit(X, ["a", "b", "c"])
    assert model.predict_proba(X).shape == (3, 3)


BAD_FITS = {
    "a bias of one value": ({"bias": np.ones(60)}, {}, Refusal("bias-has-one-value")),
    "a bias that nobody knows": ({"bias": np.full(60, np.nan)}, {}, Refusal("no-known-bias-labels", names="bias")),
    "a bias of another length": ({"bias": np.ones(59)}, {}, Refusal("bias-shape-mismatch", rows=60, shape="(59,)")),
    "a bias of three dimensions": (
        {"bias": np.ones((60, 1, 1))},
        {},
        Refusal("bias-shape-mismatch", rows=60, shape="(60, 1, 1)"),
    ),
    "a bias without columns": (
        {"bias": np.ones((60, 0))},
        {},
        Refusal("bias-shape-mismatch", rows=60, shape="(60, 0)"),
    ),
    "a word for a bias": ({"bias": "gender"}, {}, Refusal("bias-shape-mismatch", shape="()")),
    "a ragged bias": ({"bias": [[1]] * 59 + [[1, 2]]}, {}, Refusal("ragged-bias-rows")),
    "a bias of fractions": ({"bias": np.linspace(0, 1, 60)}, {}, Refusal("labels-not-classes", labels="bias 'bias'")),
    "weights of another length": ({"sample_weight": np.ones(59)}, {}, Refusal("sample-weight-shape", rows=60)),
    "negative weights": ({"sample_weight": -np.ones(60)}, {}, Refusal("negative-weights")),
    "weights of zero": ({"sample_weight": np.zeros(60)}, {}, Refusal("all-weights-zero")),
    "an unknown method": (
        {},
        {"method": "csda"},
        Refusal("misspelled-name", kind="method", name="csda", nearest="csad"),
    ),
    "no method": ({}, {"method": None}, Refusal("misspelled-name", kind="method", name="None")),
    "an unknown setting": (
        {},
        {"settings": {"inner_stps": 1}},
        Refusal("misspelled-name", kind="setting", name="inner_stps"),
    ),
    "a setting of no use": (
        {},
        {"method": "vanilla", "debias_weight": 1},
        Refusal("setting-of-other-method", name="debias_weight"),
    ),
    "settings that are none": ({}, {"settings": [1]}, Refusal("settings-not-a-dict")),
    "a setting given twice": (
        {},
        {"epochs": 1, "settings": {"train.epochs": 2}},
        Refusal("parameter-given-twice", setting="train.epochs"),
    ),
    "a setting spelled twice": ({}, {"epochs": 1, "settings": {"epochs": 2}}, Refusal("setting-under-two-names")),
    "an epoch to be selected": (
        {},
        {"settings": {"train.select_by": "auc"}},
        Refusal("select-by-in-fit", metric="auc"),
    ),
    "a wrong class weight": ({}, {"class_weight": "even"}, Refusal("class-weight-invalid")),
    "a negative class weight": ({}, {"class_weight": {0: -1}}, Refusal("negative-weights")),
    "an unknown device": ({}, {"device": "abacus"}, Refusal("device-not-available", device="abacus")),
    "a negative seed": ({}, {"random_state": -1}, Refusal("seed-out-of-range")),
}


@pytest.mark.parametrize("given, params, sentence", BAD_FITS.values(), ids=BAD_FITS)
def test_what_cannot_be_used_is_said_in_a_sentence(rows, given, params, sentence):
    X, y, bias = rows
    with refused(sentence):
        quick(**params).fit(X, y, **{"bias": bias} | given)


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


BAD_ROWS = {
    "NaN in X": (lambda X, y: (np.where(X.max() > X, X, np.nan), y), ValueError, "NaN"),
    "no rows": (lambda X, y: (X[:0], y[:0]), ValueError, "0 sample"),
    "one row": (lambda X, y: (X[:1], y[:1]), ValueError, "1 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), ValueError, "0 feature"),
    "one dimension": (lambda X, y: (X[:, 0], y), ValueError, "Reshape your data"),
    "five dimensions": (lambda X, y: (X.reshape(60, 3, 1, 1, 1), y), InputError, Refusal("x-dimension-count")),
    "sparse X": (lambda X, y: (sparse.csr_array(X), y), TypeError, "[Ss]parse"),
    "words in X": (lambda X, y: (np.full(X.shape, "red"), y), ValueError, "could not convert string"),
    "numbers too large": (lambda X, y: (X * 1e300, y), InputError, Refusal("numbers-too-large")),
    "continuous y": (lambda X, y: (X, X[:, 0]), ValueError, "Unknown label type: continuous"),
    "one class": (lambda X, y: (X, y * 0), InputError, Refusal("training-target-constant")),
    "y of another length": (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
    "no y": (lambda X, y: (X, None), ValueError, "requires y"),
    "NaN in y": (lambda X, y: (X, np.where(y, np.nan, 0.0)), ValueError, "NaN"),
    "None in y": (lambda X, y: (X, np.where(y, None, "a")), (ValueError, TypeError), "."),
}


@pytest.mark.parametrize("spoilt, kind, sentence", BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_that_cannot_be_used_are_refused(rows, spoilt, kind, sentence):
    X, y = spoilt(*rows[:2])
    is_ours = isinstance(sentence, Refusal)
    with refused(sentence) if is_ours else pytest.raises(kind, match=sentence):
        quick("vanilla").fit(X, y)


@pytest.mark.parametrize("call", ["predict", "predict_proba", "decision_function", "transform", "save"])
def test_nothing_is_told_before_a_fit(call):
    with pytest.raises(NotFittedError):
        getattr(quick(), call)(np.zeros((2, 3)))


def test_x_must_keep_its_columns(rows):
    X, y, bias = rows
    model = quick().fit(X, y, bias=bias)
    with pytest.raises(ValueError, match="X has 2 features, but DebiasedClassifier is expecting 3"):
        model.predict(X[:, :2])
