"""The registry of metrics: a file in this folder that registers one is all it takes to add it everywhere."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from csad.errors import unknown
from csad.registry import import_all

Better = Literal["higher", "lower"]
MetricTarget = Literal["classes", "number", "any"]
# The order of metrics in results; within a group they stand as they were registered.
METRIC_GROUPS = ("accuracy", "cells", "ranking", "calibration", "classes", "bias", "alignment", "order", "probes")
# The arrays that a metric or a shared result may ask for, by the names of its parameters.
METRIC_ARRAYS = {
    "predicted": "the predictions of the model: class numbers, or numbers (rows,)",
    "y": "the true values (rows,)",
    "classes": "the number of classes",
    "probabilities": "the probability of each class (rows, classes), if the model gives them",
    "biases": "class numbers of each bias by its name, −1 if unknown",
    "bias": "class numbers of the bias that the metric is about",
    "side": "for that bias: 1 if a row is aligned with it as in training, −1 if it conflicts with it, else 0",
    "score": "the score of class 1, of two classes (rows,)",
    "evidence": "the true evidence for class 1, if the data set knows it (rows,)",
    "probes": "how well fresh linear probes predict each bias from each layer",
}
OF_BIAS = ("bias", "side")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """A metric as it was registered.

    Args:
        name: the name in results; ``{bias}`` or ``{class}`` in it makes it one metric for each bias or class.
        label: the name on pages, with the same placeholder.
        better: whether higher or lower values are better.
        compute: the function; its parameters name the arrays and shared results that it needs.
        group: where it stands in results, one of METRIC_GROUPS.
        target: whether it is of predicted classes, of a predicted number, or of any model.
        short: the name in tables, which have little room.
        selects: whether an epoch can be chosen by it.
        summary: whether the table of a sweep shows it beside accuracy.
        by_group: whether an audit measures it in each group of a bias, too.
        aliases: names that earlier versions wrote, which are still read.
    """

    name: str
    label: str
    better: Better
    compute: Callable[..., Any]
    group: str
    target: MetricTarget
    short: str
    selects: bool
    summary: bool
    by_group: bool
    aliases: tuple[str, ...]

    @property
    def per_class(self) -> bool:
        """Whether there is one for each class."""
        return "{class}" in self.name

    @property
    def per_bias(self) -> bool:
        """Whether there is one for each bias."""
        return "{bias}" in self.name


class Metrics:
    """All metrics by name, and the results that several of them share."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._members: dict[str, Metric] = {}
        self._shared: dict[str, Callable[..., Any]] = {}
        self._needs: dict[Callable[..., Any], tuple[str, ...]] = {}
        self._ordered: list[Metric] = []  # empty until asked for, and after each registration
        self._plans: dict[Any, list[tuple[Metric, str]]] = {}
        self._matches: dict[str, tuple[Metric, str] | None] = {}
        self._filled = False

    def register(
        self,
        name: str,
        *,
        label: str,
        better: Better,
        group: str = "classes",
        target: MetricTarget = "classes",
        short: str = "",
        selects: bool | None = None,
        summary: bool = False,
        by_group: bool = False,
        aliases: Sequence[str] = (),
    ) -> Callable[[Function], Function]:
        """Register a function as a metric; its parameters without defaults name what it needs (see METRIC_ARRAYS).

        The function returns a float, or None if the rows do not have it; for a metric per class, floats by name.

        Args:
            name: the name in results; ``{bias}`` or ``{class}`` in it makes it one metric for each bias or class.
            label: the name on pages, with the same placeholder.
            better: "higher" or "lower".
            group: where it stands in results, one of METRIC_GROUPS.
            target: "classes", "number" (of models that predict one) or "any".
            short: the name in tables; by default the name itself, with spaces.
            selects: whether an epoch can be chosen by it; by default if it is neither per class nor per bias.
            summary: whether the table of a sweep shows it beside accuracy.
            by_group: whether an audit measures it in each group of a bias, too.
            aliases: names that earlier versions wrote, which are still read.
        """
        if group not in METRIC_GROUPS:
            raise ValueError(
                f"The metric '{name}' is of the group '{group}', and the groups are {', '.join(METRIC_GROUPS)}."
            )
        chooses = "{" not in name if selects is None else selects

        def add(function: Function) -> Function:
            if name in self._members:
                raise ValueError(f"The metric '{name}' is registered twice; choose another name.")
            self._needs[function], self._ordered = parameters(function), []
            self._members[name] = Metric(
                name, label, better, function, group, target, short or name.replace("_", " "), chooses, summary,
                by_group, tuple(aliases),
            )  # fmt: skip
            return function

        return add

    def share(self, name: str) -> Callable[[Function], Function]:
        """Register a result that several metrics ask for by this name: it is computed once for each set of rows.

        Metrics that ask for it are left out if it is None.
        """

        def add(function: Function) -> Function:
            if name in self._shared or name in METRIC_ARRAYS:
                raise ValueError(f"The shared result '{name}' of metrics is registered twice; choose another name.")
            self._needs[function], self._ordered = parameters(function), []
            self._shared[name] = function
            return function

        return add

    def all(self) -> list[Metric]:
        """All metrics in the order of results; raise ValueError if one needs what nobody gives."""
        if not self._filled:
            self._filled = True
            import_all(self.package)
        if not self._ordered:
            known = METRIC_ARRAYS.keys() | self._shared.keys()
            for function, needs in self._needs.items():
                if strange := set(needs) - known:
                    names = ", ".join(sorted(known))
                    raise ValueError(f"{function.__name__} needs {min(strange)}, and metrics can have: {names}.")
            self._plans, self._matches = {}, {}
            self._ordered = sorted(self._members.values(), key=lambda metric: METRIC_GROUPS.index(metric.group))
        return self._ordered

    def names(self) -> list[str]:
        """All names, sorted, with their placeholders."""
        return sorted(metric.name for metric in self.all())

    def __getitem__(self, name: str) -> Metric:
        if (match := self.find(name)) is None:
            raise unknown("metric", name, self.names())
        return match[0]

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def find(self, name: str) -> tuple[Metric, str] | None:
        """The metric that a name in results is of, and the bias or class that it names; None if there is none.

        Args:
            name: such as ``accuracy``, ``recall_1`` or ``equalized_odds_sex``; a name of an earlier version, too.
        """
        metrics = self.all()
        if name not in self._matches:
            self._matches[name] = first_match(metrics, name)
        return self._matches[name]

    def canonical(self, name: str) -> str:
        """The present name of a metric that an earlier version may have written under another one."""
        match = self.find(name)
        return filled(match[0].name, match[1]) if match and match[1] else match[0].name if match else name

    def lower_is_better(self, name: str) -> bool:
        """Whether lower values of a metric are better."""
        match = self.find(name)
        return match is not None and match[0].better == "lower"

    def label(self, name: str, classes: Sequence[str] = ()) -> str:
        """A metric's name as people read it: ``equalized odds gap, sex`` for ``equalized_odds_sex``.

        Args:
            name: the name in results; one that is no metric is shown with spaces.
            classes: the names of the target's classes, by number.
        """
        if (match := self.find(name)) is None:
            return name.replace("_", " ")
        metric, part = match
        if metric.per_class and part.isdecimal() and int(part) < len(classes):
            part = classes[int(part)]
        return filled(metric.label, part)

    def short(self, name: str) -> str:
        """A metric's name in a table, which has little room."""
        match = self.find(name)
        return name.replace("_", " ") if match is None else filled(match[0].short, match[1].replace("_", " "))

    def needing(self, array: str) -> list[str]:
        """The names of the metrics that need an array themselves."""
        return [metric.name for metric in self.all() if array in self._needs[metric.compute]]

    def compute(
        self, arrays: Mapping[str, Any], target: MetricTarget, wanted: Collection[str] | None = None
    ) -> dict[str, float]:
        """All metrics of a kind of target that the arrays give, in the order of results.

        Args:
            arrays: by the names in METRIC_ARRAYS; ``biases`` and ``side`` are by bias.
            target: the kind.
            wanted: the names of those that are computed, and no others; by default all.
        """
        values = _Values(self, arrays)
        results: dict[str, float] = {}
        for metric, bias in self._pairs(target, wanted, arrays.get("biases", {})):
            value = values.call(metric.compute, bias)
            if isinstance(value, Mapping):
                results |= value
            elif value is not None:
                results[filled(metric.name, bias)] = value
        return results if wanted is None else {name: value for name, value in results.items() if name in wanted}

    def _pairs(
        self, target: MetricTarget, wanted: Collection[str] | None, biases: Iterable[str]
    ) -> list[tuple[Metric, str]]:
        """The metrics that are wanted, each with its bias; found once, as a bootstrap asks a thousand times."""
        every = self.all()
        key = (target, None if wanted is None else tuple(wanted), tuple(biases))
        if key not in self._plans:
            matches = [match[0] for name in wanted or () if (match := self.find(name))]
            metrics = [metric for metric in every if metric.target == target and (wanted is None or metric in matches)]
            self._plans[key] = with_biases(metrics, key[2])
        return self._plans[key]

    def needs(self, function: Callable[..., Any]) -> tuple[str, ...]:
        """The names of what a metric or a shared result takes."""
        return self._needs[function]

    def shared(self, name: str) -> Callable[..., Any] | None:
        """The function that gives a shared result."""
        return self._shared.get(name)

    def is_of_bias(self, name: str) -> bool:
        """Whether an array or a shared result is of one bias."""
        function = self._shared.get(name)
        return name in OF_BIAS if function is None else any(map(self.is_of_bias, self._needs[function]))


class _Values:
    """The arrays of one computation, and the shared results, each computed when it is first needed."""

    def __init__(self, metrics: Metrics, arrays: Mapping[str, Any]) -> None:
        self.metrics, self.arrays = metrics, arrays
        self.results: dict[tuple[str, str], Any] = {}

    def call(self, function: Callable[..., Any], bias: str) -> Any:
        """What the function gives; None if something that it needs is missing."""
        values = []
        for name in self.metrics.needs(function):
            if (value := self.get(name, bias)) is None:
                return None
            values.append(value)
        return function(*values)

    def get(self, name: str, bias: str) -> Any:
        """An array or a shared result, that of the bias if it is of one; None if it is missing."""
        if name == "bias":
            return self.arrays["biases"].get(bias)
        if name == "side":
            return self.arrays.get("side", {}).get(bias)
        function = self.metrics.shared(name)
        if name in self.arrays or function is None:
            return self.arrays.get(name)
        key = (name, bias if self.metrics.is_of_bias(name) else "")
        if key not in self.results:
            self.results[key] = self.call(function, bias)
        return self.results[key]


def first_match(metrics: Sequence[Metric], name: str) -> tuple[Metric, str] | None:
    """The metric of this name, or the first whose template the name fits; and what stands for the placeholder."""
    for metric in metrics:
        if name == metric.name or name in metric.aliases:
            return metric, ""
    for metric in metrics:
        for template in (metric.name, *metric.aliases):
            if "{" in template and (match := pattern(template).fullmatch(name)):
                return metric, match[1]
    return None


def with_biases(metrics: Sequence[Metric], biases: Iterable[str]) -> list[tuple[Metric, str]]:
    """Each metric, or each with each bias, group by group; within a group one bias after the other."""
    pairs = []
    for group in dict.fromkeys(metric.group for metric in metrics):
        members = [metric for metric in metrics if metric.group == group]
        pairs += [(metric, "") for metric in members if not metric.per_bias]
        pairs += [(metric, bias) for bias in biases for metric in members if metric.per_bias]
    return pairs


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters without a default."""
    every = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in every if parameter.default is parameter.empty)


@cache
def pattern(template: str) -> re.Pattern[str]:
    """What matches the names that a template with a placeholder stands for."""
    start, end = re.split(r"\{(?:bias|class)\}", template)
    return re.compile(f"{re.escape(start)}(.+){re.escape(end)}")


def filled(template: str, part: str) -> str:
    """The template with a bias or a class in the place of its placeholder."""
    return template.replace("{bias}", part).replace("{class}", part)


METRICS = Metrics("csad.auditing.metrics")
