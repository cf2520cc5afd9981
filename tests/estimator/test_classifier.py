"""The scikit-learn face: its manners, its place in pipelines and searches, weights, what is kept of it."""

import copy
import doctest
import io
import pickle
import re

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_estimator

import csad
from csad import DebiasedClassifier
from csad.estimator import classifier
from csad.estimator.fit_inputs import times
from csad.registry import METHODS
from tests.support.messages import refused

SHORT = {"train.target_epochs": 2, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
# Enough for the accuracy that scikit-learn's checks ask of a classifier.
LEARNS = SHORT | {"train.target_epochs": 6, "train.pretrain_rate": 1e-2}
CHECKED = [name for name in ("csad", "vanilla", "zhang") if name in METHODS]
silently = pytest.mark.filterwarnings("ignore::csad.TrainingWarning")


class BiasInside(DebiasedClassifier):
    """Takes its bias from X, so that scikit-learn's checks run the adversarial path."""

    def fit(self, X, y):
        first = check_array(X)[:, 0]
        return super().fit(X, y, bias=first > np.median(first))


def settings_for(method, settings=LEARNS):
    return settings | ({"inner_steps": 1} if method == "csad" else {})


def quick(method="csad", **params):
    return DebiasedClassifier(method, settings=settings_for(method, SHORT), random_state=0, **params)


@pytest.fixture(scope="module")
def rows():
    """X, y and a bias of three values that is seen in the second column."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    bias = rng.integers(0, 3, 120)
    return rng.normal(size=(120, 4)) + np.column_stack([2 * y, bias, y, y]), y, bias


@silently
@pytest.mark.parametrize("method", CHECKED)
def test_scikit_learn_finds_nothing_to_mend(method):
    check_estimator(DebiasedClassifier(method, settings=settings_for(method)), on_skip=None)


@silently
@pytest.mark.parametrize("method", [name for name in CHECKED if name != "vanilla"])
def test_scikit_learn_finds_nothing_to_mend_where_there_is_a_bias(method):
    check_estimator(BiasInside(method, settings=settings_for(method)), on_skip=None)


def test_every_method_learns_predicts_and_is_kept(method_name, rows):
    X, y, bias = rows
    model = DebiasedClassifier(method_name, settings=SHORT, random_state=0).fit(X, y, bias=bias)
    assert np.isfinite(model.predict_proba(X)).all()
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X) == model.predict_proba(X)).all()


@silently
def test_the_bias_makes_a_difference(rows):
    X, y, bias = rows
    with_bias, without = quick().fit(X, y, bias=bias), quick().fit(X, y)
    assert not np.allclose(with_bias.predict_proba(X), without.predict_proba(X))


def confounded(n, agreement, seed):
    """X, y and a bias that agrees with y so often and is easier to see in X."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    bias = np.where(rng.random(n) < agreement, y, 1 - y)
    return rng.normal(size=(n, 4)) + np.column_stack([2.5 * y, 4 * bias, 0 * y, 0 * y]), y, bias


def test_csad_leans_less_on_the_bias_than_vanilla():
    X, y, bias = confounded(400, 0.9, seed=12)
    others, truth, misleading = confounded(2000, 0.0, seed=1)
    strong = {"debias_weight": 10.0, "epochs": 40, "rate": 5e-3, "settings": {"inner_steps": 1}}
    found = [
        DebiasedClassifier(method, random_state=2, **params).fit(X, y, bias=bias).score(others, truth)
        for method, params in (("vanilla", {}), ("csad", strong))
    ]
    assert set(truth + misleading) == {1}
    assert found[1] > found[0] + 0.05


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(classifier) == (0, 8)


@pytest.mark.parametrize("routing", [True, False])
def test_a_pipeline_hands_the_bias_on(rows, routing):
    X, y, bias = rows
    steps = [("scale", StandardScaler()), ("model", quick())]
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            steps[1][1].set_fit_request(bias=True)
            pipeline = Pipeline(steps).fit(X, y, bias=bias)
        else:
            pipeline = Pipeline(steps).fit(X, y, model__bias=bias)
    assert pipeline["model"].trained_.model.task.biases[0].count == 3
    assert pipeline.predict(X).shape == y.shape
    assert pipeline.transform(X).shape == (120, 32)


def test_a_search_splits_the_bias_like_the_rows(rows):
    X, y, bias = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(bias=True)
        search = GridSearchCV(model, {"debias_weight": [0.1, 10.0]}, cv=2, error_score="raise").fit(X, y, bias=bias)
    assert search.best_estimator_.trained_.model.task.biases[0].count == 3
    assert len(search.cv_results_["params"]) == 2


def test_cross_validation_hands_the_bias_on(rows):
    X, y, bias = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(bias=True)
        # Without its bias csad would warn, which is an error here.
        scores = cross_val_score(model, X, y, cv=2, params={"bias": bias}, error_score="raise")
    assert scores.shape == (2,)


@silently
def test_a_search_compares_methods(rows):
    X, y, _ = rows
    search = GridSearchCV(quick("vanilla"), {"method": ["vanilla", "kim"]}, cv=2, error_score="raise").fit(X, y)
    assert {result["method"] for result in search.cv_results_["params"]} == {"vanilla", "kim"}


def test_a_pickle_holds_no_module(rows):
    X, y, bias = rows
    model = quick().fit(X, y, bias=bias)
    assert b"torch" not in pickle.dumps(model)


@pytest.mark.parametrize("copied", ["pickle", "deepcopy", "joblib", "file"])
def test_a_copy_predicts_the_same(rows, copied, tmp_path):
    X, y, bias = rows
    words = np.where(y == 1, "yes", "no")
    params = {"class_weight": {"yes": 2.0, "no": 1}, "related": csad.Related("near_bias", (1,))}
    model = quick(**params).fit(X, words, bias=bias)
    if copied == "pickle":
        other = pickle.loads(pickle.dumps(model))
    elif copied == "deepcopy":
        other = copy.deepcopy(model)
    elif copied == "joblib":
        file = io.BytesIO()
        joblib.dump(model, file)
        other = joblib.load(file)
    else:
        model.save(tmp_path / "model.safetensors")
        other = DebiasedClassifier.load(tmp_path / "model.safetensors")
    assert (other.predict_proba(X) == model.predict_proba(X)).all()
    assert (other.predict(X) == model.predict(X)).all()
    assert (other.transform(X) == model.transform(X)).all()
    assert other.get_params() == model.get_params()
    assert (other.fit(X, words, bias=bias).predict_proba(X) == model.predict_proba(X)).all()


def test_a_clone_is_not_fitted(rows):
    X, y, bias = rows
    fresh = clone(quick(debias_weight=3.0).fit(X, y, bias=bias))
    assert fresh.get_params()["debias_weight"] == 3.0
    assert not hasattr(fresh, "trained_")


def test_a_saved_random_state_is_the_seed_it_gave(rows, tmp_path):
    X, y, _ = rows
    model = quick("vanilla").set_params(random_state=np.random.RandomState(5)).fit(X, y)
    model.save(tmp_path / "model")
    other = DebiasedClassifier.load(tmp_path / "model")
    assert (other.fit(X, y).predict_proba(X) == model.predict_proba(X)).all()


def test_a_model_is_not_saved_where_there_is_no_folder(rows, tmp_path):
    X, y, _ = rows
    model = quick("vanilla").fit(X, y)
    with refused("classifier-not-writable", reason="No such file or directory"):
        model.save(tmp_path / "missing" / "model")


def test_a_file_that_is_none_of_ours_is_refused(tmp_path):
    for content in (b"", b"nothing like it", pickle.dumps({})):
        (tmp_path / "file").write_bytes(content)
        with refused("classifier-file-unreadable"):
            DebiasedClassifier.load(tmp_path / "file")
    with refused("classifier-file-unreadable", reason=re.compile("No such file")):
        DebiasedClassifier.load(tmp_path / "missing")


def test_rows_in_another_order_give_the_same_model(rows):
    X, y, bias = rows
    order = np.random.default_rng(1).permutation(len(X))
    one, other = quick().fit(X, y, bias=bias), quick().fit(X[order], y[order], bias=bias[order])
    assert (one.predict_proba(X) == other.predict_proba(X)).all()


def test_a_weight_of_two_is_two_rows_and_of_zero_is_none(rows):
    X, y, bias = rows
    weights = np.arange(len(X)) % 3
    weighted = quick().fit(X, y, bias=bias, sample_weight=weights)
    repeated = quick().fit(*(np.repeat(values, weights, axis=0) for values in (X, y)), bias=np.repeat(bias, weights))
    assert (weighted.predict_proba(X) == repeated.predict_proba(X)).all()


def test_weights_are_times_a_row_is_drawn():
    def drawn(*weights):
        return times(np.array(weights, dtype=float)).tolist()

    assert drawn(1, 1, 1) == [1, 1, 1]
    assert drawn(3, 2, 0) == [3, 2, 0]
    assert drawn(0.5, 0.5, 1.5) == [1, 1, 3]
    assert drawn(0.2, 0.3, 0.3) == [1, 2, 1]  # 1.5 each, rounded in turn
    assert drawn(7e6, 7e6, 21e6) == [1, 1, 3]
    assert drawn(1e6, 1) == [20, 0]  # ten times the rows at most


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 3}])
def test_class_weights_bring_rare_classes_as_often(rows, class_weight, monkeypatch):
    X, y, _ = rows
    kept = np.concatenate([np.flatnonzero(y == 0)[:45], np.flatnonzero(y == 1)[:15]])
    seen = []
    monkeypatch.setattr(classifier, "fit", lambda model, dataset, *_, **__: seen.append(dataset.train.y))
    quick("vanilla", class_weight=class_weight).fit(X[kept], y[kept])
    assert seen[0].bincount().tolist() == [45, 45]


def test_a_class_of_weight_zero_is_not_learned(rows):
    X, _, target = rows
    model = quick("vanilla", class_weight={0: 0}).fit(X, target)
    assert model.classes_.tolist() == [1, 2]


def test_the_same_seed_gives_the_same_model(rows):
    X, y, _ = rows
    first, again = quick("vanilla").fit(X, y), quick("vanilla").fit(X, y)
    other = quick("vanilla").set_params(random_state=1).fit(X, y)
    assert (first.predict_proba(X) == again.predict_proba(X)).all()
    assert not np.allclose(first.predict_proba(X), other.predict_proba(X))
    np.random.seed(3)
    drawn = quick("vanilla").set_params(random_state=None).fit(X, y)
    assert drawn.seed_ == np.random.RandomState(3).randint(2**31 - 1)


def test_wild_scales_do_not_matter(rows):
    X, y, _ = rows
    wild = X * [1e9, 1e-9, 1, 1] + [0, 0, 1e6, 0]
    model = DebiasedClassifier("vanilla", settings=LEARNS, random_state=0)
    assert model.fit(wild, y).score(wild, y) > 0.85
    assert model.set_params(standardize=False).fit(X, y).score(X, y) > 0.85
    assert np.all(model.trained_.scale(X) == X)


def test_a_column_that_never_varied_is_ignored(rows):
    X, y, _ = rows
    X = np.column_stack([X, np.full(len(X), 0.1)])
    model = quick("vanilla").fit(X, y)
    before = model.predict_proba(X)
    X[:, -1] = 1e9
    assert (model.predict_proba(X) == before).all()


def test_one_row_is_predicted_as_it_is_among_others(rows):
    X, y, _ = rows
    model = quick("vanilla").fit(X, y)
    alone = np.concatenate([model.transform(X[k : k + 1]) for k in range(len(X))])
    assert np.allclose(alone, model.transform(X), rtol=1e-12, atol=1e-12)


def test_output_is_as_exact_as_input_and_can_be_a_frame(rows):
    pandas = pytest.importorskip("pandas")
    X, y, _ = rows
    model = quick("vanilla").fit(X, y)
    assert model.transform(X).dtype == np.float64
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    frame = model.set_output(transform="pandas").transform(X)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame)[:2] == ["h_y0", "h_y1"]


@pytest.mark.parametrize("shape", [(3, 8), (3, 8, 8)], ids=["series", "images"])
def test_series_and_images_are_told_by_their_shape(shape):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = (rng.random((40, *shape)) * 255).astype(np.uint8)
    model = quick("vanilla").fit(X, y)
    assert model.predict(X).shape == (40,)
    assert np.abs(model.trained_.scale(X.astype(float)).mean((0, *range(2, X.ndim)))).max() < 1e-12
    with refused("estimator-row-shape-mismatch"):
        model.predict(X[..., :-1])


def test_mini_batches_are_smaller_where_rows_are_few(rows):
    X, y, _ = rows
    assert quick("vanilla").fit(X, y).trained_.plan.train["batch_size"] == 32
    assert quick("vanilla", batch_size=50).fit(X, y).trained_.plan.train["batch_size"] == 50
    many = np.repeat(X, 20, axis=0), np.repeat(y, 20)
    assert quick("vanilla").fit(*many).trained_.plan.train["batch_size"] == 128


def test_progress_is_told_on_request(rows, capsys):
    X, y, _ = rows
    quick("vanilla", verbose=True).fit(X, y)
    assert "vanilla continued" in capsys.readouterr().err
    quick("vanilla").fit(X, y)
    assert capsys.readouterr().err == ""
