"""``DebiasedClassifier``: fit(X, y, bias), predict, predict_proba, transform, in scikit-learn's manners."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from csad.data.check import check_trainable
from csad.data.pairs import Related
from csad.data.samples import Dataset, Samples, local
from csad.errors import InputError
from csad.estimator.rows import Array, bias_columns, dataset_of, told_by_bias
from csad.estimator.trained import Call, Scale, Trained, header
from csad.estimator.weights import drawn, row_weights
from csad.experiments.build import build, plan_run, read
from csad.experiments.listeners import Silent, Teller, TrainingWarning
from csad.experiments.train import checked_seed
from csad.experiments.trust import backbone_to_build, named_backbone
from csad.methods.method import Course, Method
from csad.nets.parts import class_path, is_class_path
from csad.training.device import Way, choose_device
from csad.training.fit import fit

READ = {"dtype": (np.float64, np.float32), "allow_nd": True}  # how X is read: numbers, two axes or more
LEAST_BATCH, BATCHES = 32, 10  # of small data: so many rows in a mini-batch at least, so many of these in an epoch


class DebiasedClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose representation knows y and not the bias; any method of csad by name.

    X is a table (n, columns), or series or images with channels second; ``fit`` is also given the bias labels, one
    column or several, −1, NaN, None or "" where unknown. ``None`` leaves a parameter at the method's own default;
    ``settings`` are those of ``csad train --set``, such as ``{"inner_steps": 5, "train.weight_decay": 1e-3}``.
    Weights of samples and classes say how often a row is drawn.

    >>> import numpy as np
    >>> from csad import DebiasedClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> gender = np.where(rng.random(200) < 0.9, y, 1 - y)  # agrees with the target nine times in ten
    >>> X = rng.normal(size=(200, 4)) + np.column_stack([y, 3 * gender, y, y])
    >>> model = DebiasedClassifier("csad", debias_weight=1.0, epochs=2, random_state=0).fit(X, y, bias=gender)
    >>> model.predict(X).shape, model.predict_proba(X).shape, model.transform(X).shape
    ((200,), (200, 2), (200, 32))
    """

    def __init__(
        self,
        method: str = "csad",
        *,
        debias_weight: float | None = None,  # λ
        epochs: int | None = None,  # of the last stage; those of pretraining are settings
        batch_size: int | None = None,  # 128, or a tenth of the rows where these are few, but at least 32
        rate: float | None = None,  # of the last stage
        class_weight: Mapping[Any, float] | str | None = None,  # or "balanced"
        settings: Mapping[str, Any] | None = None,
        related: Related | None = None,  # Ω: which samples share a bias; all bias labels are the same
        standardise: bool = True,  # X, column by column or channel by channel
        device: str = "auto",  # to fit and to predict on: a GPU where there is one
        random_state: Any = None,  # a seed, as csad train's; a RandomState, or None for NumPy's own
        verbose: bool = False,  # progress on stderr
    ) -> None:
        self.method = method
        self.debias_weight = debias_weight
        self.epochs = epochs
        self.batch_size = batch_size
        self.rate = rate
        self.class_weight = class_weight
        self.settings = settings
        self.related = related
        self.standardise = standardise
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, bias: Any = None, sample_weight: Any = None) -> Self:
        """The classifier itself, trained; the same rows in another order give the same model."""
        X, y = validate_data(self, local(X), local(y), ensure_min_samples=2, **READ)
        check_classification_targets(y)
        labels, names = bias_columns(bias, len(X))
        weights = row_weights(sample_weight, self.class_weight, y)
        X, y, labels, weights = (values[weights > 0] for values in (X, y, labels, weights))
        classes, targets = np.unique(y, return_inverse=True)
        dataset = dataset_of(X, targets, labels, classes, names, self.related)
        index = drawn(X, targets, dataset.train.b.numpy(), weights)

        _, plan = plan_run(dataset, str(self.method), self._given(len(index)), "", read)
        self.seed_ = self._seed()
        model = build(dataset.task, str(self.method), plan, self.seed_)
        blind = model.needs_bias and bias is None
        check_trainable(dataset, needs_bias=model.needs_bias and not blind)
        if by := model.course.select_by:
            raise InputError(
                f"train.select_by={by} takes an epoch by rows that are not trained on, and fit holds none out: leave "
                "it out, or train with csad.train."
            )
        for text in self._advice(X, dataset, blind):
            warnings.warn(text, TrainingWarning, stacklevel=2)

        X, y, b = X[index], dataset.train.y[index], dataset.train.b[index]
        scale = Scale.of(X) if self.standardise else Scale.none(X)
        train = Samples(scale(X).astype(np.float32), y, b)
        self._train(model, replace(dataset, splits={"train": train}))
        self.classes_, self.trained_ = classes, Trained(str(self.method), plan, model.cpu(), scale)
        return self

    def predict(self, X: Any) -> Array:
        """The class of each row (n,)."""
        best = self._logits(X).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, classes), in the order of ``classes_``."""
        return np.asarray(torch.as_tensor(self._logits(X)).double().softmax(1))

    def decision_function(self, X: Any) -> Array:
        """Logits (n, classes); of two classes the second's above the first's, (n,)."""
        logits = self._logits(X)
        return np.asarray(logits[:, 1] - logits[:, 0]) if logits.shape[1] == 2 else logits

    def transform(self, X: Any) -> Array:
        """h_y (n, width): the representation that knows y and should not know the bias."""
        return self._each(X, lambda model, x: model.features(x)["h_y"])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of what ``transform`` gives: h_y0, h_y1, …"""
        check_is_fitted(self)
        return np.array([f"h_y{k}" for k in range(self.trained_.width)], dtype=object)

    def save(self, path: str | Path) -> None:
        """Writes the fitted classifier as one safetensors file, its parameters as JSON in the header: no pickle."""
        check_is_fitted(self)
        params = self.get_params(deep=False) | {"random_state": self.seed_}
        if isinstance(self.class_weight, Mapping):
            params["class_weight"] = list(self.class_weight.items())  # JSON would make words of the classes
        if self.related is not None:
            params["related"] = asdict(self.related)
        fitted = {"classes": self.classes_.tolist(), "kind": self.classes_.dtype.str, "columns": self.n_features_in_}
        fitted["names"] = getattr(self, "feature_names_in_", np.array([])).tolist()
        try:
            Path(path).write_bytes(self.trained_.to_bytes({"params": params, **fitted}))
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error

    @classmethod
    def load(cls, path: str | Path, *, backbone: type[nn.Module] | str | None = None) -> Self:
        """The classifier that ``save`` wrote.

        If its backbone is a class of one's own, that is needed again, as itself or as its path
        ``package.module:Class``: what a file names is not imported.
        """
        if isinstance(backbone, nn.Module) or (isinstance(backbone, type) and "<locals>" in backbone.__qualname__):
            raise InputError("backbone must be a class that can be imported, since a later fit makes a module of it.")
        try:
            return cls._loaded(Path(path).read_bytes(), backbone, path)
        except InputError:
            raise
        except (OSError, KeyError, TypeError, ValueError, SafetensorError) as error:
            raise InputError(f"{path} cannot be read as a classifier that csad saved ({error}).") from error

    @classmethod
    def _loaded(cls, data: bytes, backbone: type[nn.Module] | str | None, path: str | Path) -> Self:
        about = header(data)
        params, named = about["params"], named_backbone(about["plan"])
        own = backbone_to_build(named, backbone, path)
        if params["settings"]:
            params["settings"] = _with_backbone(params["settings"], named, backbone, path)
        if isinstance(params["class_weight"], list):
            params["class_weight"] = dict(params["class_weight"])
        if params["related"]:
            params["related"] = Related(params["related"]["rule"], tuple(params["related"]["tolerance"]))
        found = cls(**params)
        found.classes_, found.trained_ = np.array(about["classes"], about["kind"]), Trained.from_bytes(data, own)
        found.n_features_in_, found.seed_ = about["columns"], params["random_state"]
        if about["names"]:
            found.feature_names_in_ = np.array(about["names"], dtype=object)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _logits(self, X: Any) -> Array:
        return self._each(X, lambda model, x: model.predict(x))

    def _each(self, X: Any, call: Call) -> Array:
        check_is_fitted(self)
        X = validate_data(self, local(X), reset=False, **READ)
        return self.trained_.each(X, choose_device(self.device), call)

    def _given(self, n: int) -> dict[str, Any]:
        """The settings of a training on n rows, as ``csad train --set`` takes them."""
        if not isinstance(self.settings, Mapping | None):
            raise InputError(f"settings must be a dict, such as {{'inner_steps': 5}}, not {self.settings!r}.")
        settings = dict(self.settings or {})
        params = {
            "debias_weight": self.debias_weight,
            "train.epochs": self.epochs,
            "train.batch_size": self.batch_size,
            "train.rate": self.rate,
        }
        own: dict[str, Any] = {name: value for name, value in params.items() if value is not None}
        if twice := sorted(own.keys() & settings.keys()):
            raise InputError(f"{twice[0]} is given twice, as a parameter and in settings; give it once.")
        if not {"batch_size", "train.batch_size"} & (own | settings).keys():
            own["train.batch_size"] = min(Course().batch_size, max(LEAST_BATCH, n // BATCHES))
        if not {"balance", "train.balance"} & settings.keys():
            own["train.balance"] = ""  # how often a row is drawn is what the weights say
        return settings | own

    def _seed(self) -> int:
        """``random_state`` itself where it is a seed, else a number drawn from it."""
        if isinstance(self.random_state, int | np.integer):
            return checked_seed(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _train(self, model: Method, dataset: Dataset) -> None:
        where = choose_device(self.device)
        # What a seed promises must hold on a GPU too; a CPU keeps it anyway.
        way = Way(where, deterministic=where.type == "cuda" and self.random_state is not None)
        listener = self._listener()
        try:
            fit(model, dataset, listener, way, seed=self.seed_)
        finally:
            listener.close()

    def _listener(self) -> Teller:
        if not self.verbose:
            return Silent()
        from csad.cli.console import Console

        console = Console(as_json=False, quiet=False)
        console.title = str(self.method)
        return console

    def _advice(self, X: Array, dataset: Dataset, blind: bool) -> Iterator[str]:
        """What the user should know before training: no bias to unlearn, or the bias in X in another guise."""
        if blind:
            yield f"{self.method} was given no bias, so it has nothing to unlearn: call fit(X, y, bias=…)."
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        for column, bias in told_by_bias(X, dataset.train.b.numpy()):
            yield (
                f"Column {names[column]} of X tells the bias '{dataset.task.bias_names[bias]}' and nothing else: "
                "leave it out of X, or the model is handed what it should unlearn."
            )


def _with_backbone(
    settings: Mapping[str, Any], named: str, given: type[nn.Module] | str | None, path: str | Path
) -> dict[str, Any]:
    """The settings of a file, by which a later ``fit`` imports no other class than the one that its caller gave."""
    found = dict(settings)
    for key in ("net.backbone", "backbone"):
        if is_class_path(found.get(key)):
            if found[key] != named or given is None:
                raise InputError(f"{path} is not whole: it names two backbones, '{named}' and '{found[key]}'.")
            found[key] = given if isinstance(given, str) else class_path(given)
    return found
