"""``DebiasedClassifier``: fit(X, y, bias), predict, predict_proba and transform, with scikit-learn's API."""

from __future__ import annotations

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

from csad.data.labels import bias_table
from csad.data.pairs import Related
from csad.data.samples import Dataset, Samples, local
from csad.data.validate import check_trainable
from csad.errors import InputError
from csad.estimator.fit_inputs import Array, dataset_of, drawn, proxy_columns, row_weights
from csad.estimator.trained import Call, InputScale, Trained, header
from csad.messages import message
from csad.methods.method import Course, Method
from csad.nets.parts import class_path, is_class_path
from csad.runs.build import backbone_to_build, build, checked_seed, named_backbone, plan_run, read_dataset
from csad.runs.listeners import Listener, PlainListener
from csad.training.device import ComputeSettings, choose_device
from csad.training.fit import fit

READ = {"dtype": (np.float64, np.float32), "allow_nd": True}  # how X is read: numbers, two axes or more
LEAST_BATCH, BATCHES = 32, 10  # of small data: so many rows in a mini-batch at least, so many of these in an epoch


class DebiasedClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose representation knows y and not the bias; any method of csad by name.

    Args:
        method: A method's name, as ``csad list methods`` prints it.
        debias_weight: λ, how much debiasing counts against the target; None: the method's own default, here and below.
        epochs: Epochs of the last stage; those of pretraining are in ``settings``.
        batch_size: Rows of a mini-batch. By default 128; of few rows a tenth, but at least 32.
        rate: Learning rate of the last stage.
        class_weight: Weights by class, or ``"balanced"``; like sample weights they say how often a row is drawn.
        settings: More settings, as ``csad train --set`` takes them: ``{"inner_steps": 5, "train.weight_decay": 1e-3}``.
        related: Ω, which rows share a bias; by default those whose bias labels are all the same.
        standardize: Whether X is standardized, column by column or channel by channel.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``, to fit and to predict on.
        random_state: A seed, a NumPy RandomState, or None for NumPy's own.
        verbose: Whether ``fit`` writes progress and advice to stderr.

    Attributes:
        classes_: The labels of the classes (classes,), in the order of ``predict_proba``.
        trained_: The trained method with the scale of X.
        seed_: The seed of the last fit.
        n_features_in_: How many columns, or channels, X had in ``fit``.

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
        debias_weight: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        rate: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        settings: Mapping[str, Any] | None = None,
        related: Related | None = None,
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.debias_weight = debias_weight
        self.epochs = epochs
        self.batch_size = batch_size
        self.rate = rate
        self.class_weight = class_weight
        self.settings = settings
        self.related = related
        self.standardize = standardize
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, bias: Any = None, sample_weight: Any = None, *, listener: Listener | None = None
    ) -> Self:
        """Train the classifier and return it; the same rows in another order give the same model.

        Args:
            X: A table (n, columns), or series or images with channels second (n, channels, …).
            y: The target's labels (n,).
            bias: The labels of the bias, one column (n,) or several (n, columns); −1, NaN, None or "" where unknown.
            sample_weight: How often each row is drawn, relative to the others (n,).
            listener: Hears progress and advice, a ``csad.Listener``. Without one, advice is a
                ``csad.TrainingWarning``.
        """
        listener = listener or (PlainListener() if self.verbose else Listener())
        X, y = validate_data(self, local(X), local(y), ensure_min_samples=2, **READ)
        check_classification_targets(y)
        labels, names = bias_table(bias, len(X))
        weights = row_weights(sample_weight, self.class_weight, y)
        X, y, labels, weights = (values[weights > 0] for values in (X, y, labels, weights))
        classes, targets = np.unique(y, return_inverse=True)
        dataset = dataset_of(X, targets, labels, classes, names, self.related)
        index = drawn(X, targets, dataset.train.b.numpy(), weights)

        _, plan = plan_run(dataset, str(self.method), self._plan_settings(len(index)), "", read_dataset)
        self.seed_ = self._seed()
        model = build(dataset.task, str(self.method), plan, self.seed_)
        blind = model.needs_bias and bias is None
        check_trainable(dataset, needs_bias=model.needs_bias and not blind)
        if by := model.course.select_by:
            raise InputError("select-by-in-fit", metric=by)
        listener.started(str(self.method))
        for text in self._advice(X, dataset, blind):
            listener.warn(text)

        X, y, b = X[index], dataset.train.y[index], dataset.train.b[index]
        scale = InputScale.of(X) if self.standardize else InputScale.none(X)
        train = Samples(scale(X).astype(np.float32), y, b)
        self._train(model, replace(dataset, splits={"train": train}), listener)
        self.classes_, self.trained_ = classes, Trained(str(self.method), plan, model.cpu(), scale)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of each row (n,).

        Args:
            X: Rows, as ``fit`` takes them.
        """
        best = self._logits(X).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities (n, classes), in the order of ``classes_``.

        Args:
            X: Rows, as ``fit`` takes them.
        """
        return np.asarray(torch.as_tensor(self._logits(X)).double().softmax(1))

    def decision_function(self, X: Any) -> Array:
        """Compute the logits (n, classes); of two classes the difference of the second's and the first's (n,).

        Args:
            X: Rows, as ``fit`` takes them.
        """
        logits = self._logits(X)
        return np.asarray(logits[:, 1] - logits[:, 0]) if logits.shape[1] == 2 else logits

    def transform(self, X: Any) -> Array:
        """Compute h_y (n, width): the representation that knows y and should not know the bias.

        Args:
            X: Rows, as ``fit`` takes them.
        """
        return self._each(X, lambda model, x: model.features(x)["h_y"])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns of ``transform``: h_y0, h_y1, …

        Args:
            input_features: Not used; scikit-learn passes it.
        """
        check_is_fitted(self)
        return np.array([f"h_y{k}" for k in range(self.trained_.width)], dtype=object)

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier as one safetensors file, its parameters as JSON in the header: no pickle.

        Args:
            path: The file.
        """
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
            raise InputError("classifier-not-writable", file=path, reason=error.strerror or error) from error

    @classmethod
    def load(cls, path: str | Path, *, backbone: type[nn.Module] | str | None = None) -> Self:
        """Load a classifier that ``save`` wrote.

        Args:
            path: The file.
            backbone: The class of the backbone or its path ``package.module:Class``, if the classifier was trained with
                a class of your own. It must be given again, since csad imports nothing that only a file names.
        """
        if isinstance(backbone, nn.Module) or (isinstance(backbone, type) and "<locals>" in backbone.__qualname__):
            raise InputError("backbone-not-importable")
        try:
            return cls._loaded(Path(path).read_bytes(), backbone, path)
        except InputError:
            raise
        except (OSError, KeyError, TypeError, ValueError, SafetensorError) as error:
            raise InputError("classifier-file-unreadable", file=path, reason=error) from error

    @classmethod
    def _loaded(cls, data: bytes, backbone: type[nn.Module] | str | None, path: str | Path) -> Self:
        about = header(data)
        params, named = _present(about["params"]), named_backbone(about["plan"])
        own_backbone = backbone_to_build(named, backbone, path)
        if params["settings"]:
            params["settings"] = _with_backbone(params["settings"], named, backbone, path)
        if isinstance(params["class_weight"], list):
            params["class_weight"] = dict(params["class_weight"])
        if params["related"]:
            params["related"] = Related(params["related"]["rule"], tuple(params["related"]["tolerance"]))
        model = cls(**params)
        model.classes_ = np.array(about["classes"], about["kind"])
        model.trained_ = Trained.from_bytes(data, own_backbone)
        model.n_features_in_, model.seed_ = about["columns"], params["random_state"]
        if about["names"]:
            model.feature_names_in_ = np.array(about["names"], dtype=object)
        return model

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_present(state))

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

    def _plan_settings(self, n: int) -> dict[str, Any]:
        """The settings of a training on n rows, as ``csad train --set`` takes them."""
        if not isinstance(self.settings, Mapping | None):
            raise InputError("settings-not-a-dict", settings=self.settings)
        settings = dict(self.settings or {})
        parameters = {
            "debias_weight": self.debias_weight,
            "train.epochs": self.epochs,
            "train.batch_size": self.batch_size,
            "train.rate": self.rate,
        }
        given: dict[str, Any] = {name: value for name, value in parameters.items() if value is not None}
        if twice := sorted(given.keys() & settings.keys()):
            raise InputError("parameter-given-twice", setting=twice[0])
        if not {"batch_size", "train.batch_size"} & (given | settings).keys():
            given["train.batch_size"] = min(Course().batch_size, max(LEAST_BATCH, n // BATCHES))
        if not {"balance", "train.balance"} & settings.keys():
            given["train.balance"] = ""  # how often a row is drawn is what the weights say
        return settings | given

    def _seed(self) -> int:
        """``random_state`` itself if it is a seed, else a number drawn from it."""
        if isinstance(self.random_state, int | np.integer):
            return checked_seed(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _train(self, model: Method, dataset: Dataset, listener: Listener) -> None:
        device = choose_device(self.device)
        # What a seed promises must hold on a GPU too; a CPU keeps it anyway.
        compute = ComputeSettings(device, deterministic=device.type == "cuda" and self.random_state is not None)
        try:
            fit(model, dataset, listener, compute, seed=self.seed_)
        finally:
            listener.ended()

    def _advice(self, X: Array, dataset: Dataset, blind: bool) -> Iterator[str]:
        """Advice before training: there is no bias to unlearn, or X holds a copy of the bias."""
        if blind:
            yield message("fit-without-bias", method=self.method)
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        for column, bias in proxy_columns(X, dataset.train.b.numpy()):
            yield (message("input-copies-bias", column=names[column], bias=dataset.task.bias_names[bias]))


def _present(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a saved or pickled classifier by their present names: ``standardize`` was once British."""
    return {"standardize" if name == "standardise" else name: value for name, value in params.items()}


def _with_backbone(
    settings: Mapping[str, Any], named: str, given: type[nn.Module] | str | None, path: str | Path
) -> dict[str, Any]:
    """The settings of a file, with which a later ``fit`` imports no other class than the one that the caller gave."""
    settings = dict(settings)
    for key in ("net.backbone", "backbone"):
        if is_class_path(settings.get(key)):
            if settings[key] != named or given is None:
                raise InputError("classifier-file-inconsistent", file=path, backbone=named, other=settings[key])
            settings[key] = given if isinstance(given, str) else class_path(given)
    return settings
