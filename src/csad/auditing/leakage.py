"""Does it still leak? Features and bias labels in; readings of fresh readers and verdicts in plain words out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.auditing.bench import Draws, ReadOut, bench_of, read_out
from csad.auditing.columns import numbered, sight
from csad.auditing.readers import READERS
from csad.auditing.verdicts import Rule, Verdict, holm, judge, untold
from csad.errors import InputError, unknown

PROBES = ("linear", "mlp", "neighbours")
MOST_ROWS = 20_000  # are read


@dataclass(frozen=True)
class Leakage:
    """All verdicts, one for each layer and bias, and the rule by which they were found.

    ``draws`` has, by (layer, bias, probe), the score in rows drawn anew: the same rows whatever the layers, for the
    same labels and seed, so that two models can be compared draw by draw.
    """

    verdicts: tuple[Verdict, ...]
    margin: float
    level: float
    conditional: bool  # whether rows were compared within the classes of what was given
    seed: int
    draws: Mapping[tuple[str, str, str], Draws] = field(default_factory=dict, repr=False, compare=False)

    @property
    def leaks(self) -> tuple[Verdict, ...]:
        """The verdicts that are "leaks"."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == "leaks")

    def as_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and words, for JSON."""
        rule = {name: getattr(self, name) for name in ("margin", "level", "conditional", "seed")}
        return {"verdicts": [_plain(verdict) for verdict in self.verdicts], **rule}


def audit_features(
    layers: Mapping[str, NDArray[Any]],
    biases: Mapping[str, NDArray[Any]],
    *,
    same: NDArray[Any] | None = None,
    given: NDArray[Any] | None = None,
    probes: Sequence[str] = PROBES,
    margin: float = 0.05,
    level: float = 0.95,
    most_rows: int = MOST_ROWS,
    seed: int = 0,
    tell: Callable[[str], None] | None = None,
) -> Leakage:
    """A verdict for each layer and bias: whether fresh readers can tell the bias from the layer's features.

    Layers have rows first; whole numbers in one column are classes. Biases hold classes (whole numbers, −1 unknown,
    or words) or real numbers (NaN unknown). Rows alike in ``same`` (one person) are never both learnt from and read.
    With ``given`` (the target's classes) rows are compared within its classes only: where target and bias go together,
    what knows the target knows the bias as far, and this asks what it knows beyond. The score is the AUC, for a number
    the mean over the cuts between its fifths; see blocks.py for how it is taken, and judge for the rule.
    """
    check_settings(probes, margin, level, most_rows)
    rows = _check(layers, biases)
    units = np.arange(rows) if same is None else numbered(np.asarray(same), rows, "same")
    strata = numbered(given, rows, "given")
    rule = Rule(margin, level, len(layers) * len(biases) * len(probes))
    among = "" if given is None else " among rows of the same target"
    found: list[tuple[str, str, ReadOut | str]] = []
    for bias, labels in biases.items():
        key = [seed, *bias.encode()]
        generator = np.random.default_rng(key)
        column = sight(np.asarray(labels), units, (strata >= 0) & (units >= 0), most_rows, generator)
        bench = column if isinstance(column, str) else bench_of(column, units, strata, rule, generator, key)
        for layer, features in layers.items():
            if tell is not None:
                tell(f"Reading {bias} from {layer} …")
            got = bench if isinstance(bench, str) else read_out(layer, bias, features, bench, probes, rule)
            found.append((layer, bias, got))
    draws = {
        (layer, bias, probe): drawn
        for layer, bias, got in found
        if not isinstance(got, str)
        for probe, drawn in got.draws.items()
    }
    return Leakage(_verdicts(found, rule, among), margin, level, given is not None, seed, draws)


def _verdicts(found: Sequence[tuple[str, str, ReadOut | str]], rule: Rule, among: str) -> tuple[Verdict, ...]:
    """All verdicts, once the p-values of all readings are corrected together."""
    corrected = iter(holm([r.p for *_, got in found if not isinstance(got, str) for r in got.readings]))
    verdicts = []
    for layer, bias, got in found:
        if isinstance(got, str):
            verdicts.append(untold(layer, bias, got, among))
            continue
        readings = [replace(reading, p_corrected=next(corrected)) for reading in got.readings]
        verdicts.append(judge(readings, rule, planted=got.planted, among=among, notes=got.notes))
    return tuple(verdicts)


def check_settings(probes: Sequence[str], margin: float, level: float, most_rows: int) -> None:
    """Nothing, or an input error where a setting of an audit cannot be used."""
    for probe in probes:
        if probe not in READERS:
            raise unknown("probe", probe, READERS)
    if not probes:
        raise InputError(f"An audit needs one probe at least: {', '.join(PROBES)}.")
    if not 0 < margin < 0.25 or not 0.5 < level < 1 or most_rows < 1:
        raise InputError(
            f"An audit needs a margin between 0 and .25, a level between .5 and 1 and one row at least, "
            f"not {margin}, {level} and {most_rows}."
        )


def _check(layers: Mapping[str, NDArray[Any]], biases: Mapping[str, NDArray[Any]]) -> int:
    """How many rows there are; an input error where something given cannot be used."""
    if not layers or not biases:
        raise InputError("An audit needs at least one layer and one bias.")
    for name, values in layers.items():
        if not np.ndim(values) or np.asarray(values).dtype.kind not in "fiub":
            raise InputError(f"The layer {name} must be an array of numbers with rows first.")
    for name, labels in biases.items():
        if np.ndim(labels) != 1:
            raise InputError(f"The bias {name} must be one column of labels, not of the shape {np.shape(labels)}.")
    lengths = [(name, len(values)) for name, values in (*layers.items(), *biases.items())]
    if len({length for _, length in lengths}) > 1:
        raise InputError(f"All must have the same rows, not {', '.join(f'{name} {rows}' for name, rows in lengths)}.")
    return lengths[0][1]


def _plain(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict) | {"readings": [asdict(one) for one in verdict.readings], "notes": list(verdict.notes)}
