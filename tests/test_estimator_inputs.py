"""What the scikit-learn face is given: arrays of every kind, labels of every kind, and what cannot be used."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError

import csad
from csad import DebiasedClassifier, InputError, TrainingWarning
from csad.estimator.rows import told_by_bias

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
    with pytest.raises(InputError, match=r"related must be a csad\.Related"):
        quick("csad", related="near_bias").fit(X, y, bias=ages)


def test_a_method_without_its_bias_trains_and_warns(rows):
    X, y, _ = rows
    with pytest.warns(TrainingWarning, match="csad was given no bias"):
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
    with pytest.warns(TrainingWarning, match="Column 3 of X tells the bias 'bias' and nothing else"):
        quick().fit(X, y, bias=labels)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "gender"])
    with pytest.warns(TrainingWarning, match="Column gender of X tells the bias 'sex'"):
        quick("vanilla").fit(frame, y, bias=pandas.Series(labels, name="sex"))


def test_what_varies_with_the_bias_alone_is_found():
    b = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, -1]])
    site, one_hot, constant, other = b[:, 0] * 10, b[:, 0] == 2, np.ones(6), np.arange(6)
    x = np.column_stack([constant, site, other, one_hot, b[:, 1]]).astype(float)
    assert told_by_bias(x, b) == [(1, 0), (3, 0), (4, 1)]
    assert told_by_bias(x, np.arange(6)[:, None]) == []  # every row has a bias of its own
    assert told_by_bias(x, np.full((6, 1), -1)) == []


def test_three_rows_of_three_classes_are_enough():
    X = np.eye(3)
    model = quick("vanilla").fit(X, ["a", "b", "c"])
    assert model.predict_proba(X).shape == (3, 3)


BAD_FITS = {
    "a bias of one value": ({"bias": np.ones(60)}, {}, "only one value in the training rows"),
    "a bias that nobody knows": ({"bias": np.full(60, np.nan)}, {}, "No training row has all its bias labels known"),
    "a bias of another length": ({"bias": np.ones(59)}, {}, r"bias must have shape \(60,\) or .*, not \(59,\)"),
    "a bias of three dimensions": ({"bias": np.ones((60, 1, 1))}, {}, r"bias must have shape .*, not \(60, 1, 1\)"),
    "a bias without columns": ({"bias": np.ones((60, 0))}, {}, r"bias must have shape .*, not \(60, 0\)"),
    "a word for a bias": ({"bias": "gender"}, {}, r"bias must have shape .*, not \(\)"),
    "a ragged bias": ({"bias": [[1]] * 59 + [[1, 2]]}, {}, "all of one length"),
    "a bias of fractions": ({"bias": np.linspace(0, 1, 60)}, {}, "bias 'bias' must hold classes.*cut it first"),
    "weights of another length": ({"sample_weight": np.ones(59)}, {}, r"sample_weight must have shape \(60,\)"),
    "negative weights": ({"sample_weight": -np.ones(60)}, {}, "must not be negative"),
    "weights of zero": ({"sample_weight": np.zeros(60)}, {}, "weight zero"),
    "an unknown method": ({}, {"method": "csda"}, "No method is called 'csda'. Nearest: csad"),
    "no method": ({}, {"method": None}, "No method is called 'None'"),
    "an unknown setting": ({}, {"settings": {"inner_stps": 1}}, "No setting is called 'inner_stps'. Nearest: inner_s"),
    "a setting of no use": (
        {},
        {"method": "vanilla", "debias_weight": 1},
        "'debias_weight' is a setting of other methods",
    ),
    "settings that are none": ({}, {"settings": [1]}, "settings must be a dict"),
    "a setting given twice": ({}, {"epochs": 1, "settings": {"train.epochs": 2}}, "train.epochs is given twice"),
    "a setting spelled twice": ({}, {"epochs": 1, "settings": {"epochs": 2}}, "is given twice"),
    "an epoch to be selected": (
        {},
        {"settings": {"train.select_by": "auc"}},
        "select_by=auc takes .* fit holds none out",
    ),
    "a wrong class weight": ({}, {"class_weight": "even"}, "class_weight must be 'balanced' or a dict"),
    "a negative class weight": ({}, {"class_weight": {0: -1}}, "must not be negative"),
    "an unknown device": ({}, {"device": "abacus"}, "There is no device 'abacus'"),
    "a negative seed": ({}, {"random_state": -1}, "seed must be 0 or more"),
}


@pytest.mark.parametrize("given, params, sentence", BAD_FITS.values(), ids=BAD_FITS)
def test_what_cannot_be_used_is_said_in_a_sentence(rows, given, params, sentence):
    X, y, bias = rows
    with pytest.raises(InputError, match=sentence):
        quick(**params).fit(X, y, **{"bias": bias} | given)


def test_an_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


BAD_ROWS = {
    "NaN in X": (lambda X, y: (np.where(X.max() > X, X, np.nan), y), ValueError, "NaN"),
    "no rows": (lambda X, y: (X[:0], y[:0]), ValueError, "0 sample"),
    "one row": (lambda X, y: (X[:1], y[:1]), ValueError, "1 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), ValueError, "0 feature"),
    "one dimension": (lambda X, y: (X[:, 0], y), ValueError, "Reshape your data"),
    "five dimensions": (lambda X, y: (X.reshape(60, 3, 1, 1, 1), y), InputError, "rows, series or images"),
    "sparse X": (lambda X, y: (sparse.csr_array(X), y), TypeError, "[Ss]parse"),
    "words in X": (lambda X, y: (np.full(X.shape, "red"), y), ValueError, "could not convert string"),
    "numbers too large": (lambda X, y: (X * 1e300, y), InputError, "too large to standardise"),
    "continuous y": (lambda X, y: (X, X[:, 0]), ValueError, "Unknown label type: continuous"),
    "one class": (lambda X, y: (X, y * 0), InputError, "two classes or more"),
    "y of another length": (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
    "no y": (lambda X, y: (X, None), ValueError, "requires y"),
    "NaN in y": (lambda X, y: (X, np.where(y, np.nan, 0.0)), ValueError, "NaN"),
    "None in y": (lambda X, y: (X, np.where(y, None, "a")), (ValueError, TypeError), "."),
}


@pytest.mark.parametrize("spoilt, kind, sentence", BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_that_cannot_be_used_are_refused(rows, spoilt, kind, sentence):
    X, y = spoilt(*rows[:2])
    with pytest.raises(kind, match=sentence):
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
