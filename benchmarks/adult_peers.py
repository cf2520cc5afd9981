"""Ours beside fairlearn's AdversarialFairnessClassifier on Adult, in one run of the program, on the same splits.

    python benchmarks/adult_peers.py --data-root DATA --json docs/results/adult-peers.json
    python benchmarks/adult_peers.py --data-root DATA --method cocl --splits 0,1 --device cpu

Both have the same inputs and, from adult.toml, the same net, batch size, Adam, rate of the target branch and weight
decay, and train the target branch for as many mini-batches (fairlearn's rounded up to whole epochs). Ours draws as many
rows of one class as of the other; fairlearn, which cannot, is given rows of the rarer class again and again until both
classes have as many. Its adversary reads gender and race, under equalised odds, as one column of four classes: it takes
one column of classes only (two of zeros and ones would share a softmax).

The weight of each (its alpha, our debias_weight) is chosen by RULE on a fifth of the training rows: where fairlearn is
as accurate as the paper's CSAD, and where ours is as accurate as fairlearn, so that gaps are compared at one accuracy.
Then each is trained on all training rows and meets the test rows, once; one function takes the figures of both. Seconds
are those of the calls: csad.sweep and csad.train, which read the data and take figures besides, and fairlearn's fit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NoReturn

from adult_contestants import VALIDATION, Contestant, Ours, Predict, Theirs

from csad import InputError
from csad.auditing import all_metrics, consistency
from csad.data import Dataset
from csad.runs.build import read_dataset
from csad.runs.train_run import environment
from csad.training import ComputeSettings, choose_device

FLOOR = 0.804  # balanced accuracy of CSAD in the paper's Table 5
RULE = (
    "of the weights tried, the one with the smallest mean of the two RMS gaps among those whose balanced accuracy on "
    f"the validation rows is at least {FLOOR} (theirs), or that of theirs (ours); or, where none is, the one with the "
    "highest balanced accuracy"
)
GAPS = ("gap_gender_rms", "gap_race_rms")
SHOWN = {
    "balanced_accuracy": "balanced",
    "gap_gender_rms": "gender rms",
    "gap_race_rms": "race rms",
    "gap_gender_max": "gender max",
    "gap_race_max": "race max",
    "spouse_consistency": "spouse",
    "gender_race_consistency": "gender-race",
}
Figures = dict[str, float]


def measured(predict: Predict, dataset: Dataset, split: str) -> Figures:
    """The figures of a split and of its copies, whoever predicts."""
    samples = dataset.splits[split]
    groups = dict(zip(dataset.task.bias_names, samples.b.numpy().T, strict=True))
    found = all_metrics(predict(samples.x.numpy()), samples.y.numpy(), biases=groups)
    for figure, copies in dataset.consistency.items():
        found[figure] = consistency([predict(dataset.splits[f"{split}:{copy}"].x.numpy()) for copy in copies])
    return {name: found[name] for name in SHOWN}


def mean_gap(found: Mapping[str, float]) -> float:
    """The mean of the two RMS gaps."""
    return fmean(found[gap] for gap in GAPS)


def chosen(tried: Mapping[float, Mapping[str, float]], floor: float) -> float:
    """The weight that RULE takes, by figures on the validation rows; of equals the first."""
    accurate = [weight for weight, found in tried.items() if found["balanced_accuracy"] >= floor]
    if accurate:
        return min(accurate, key=lambda weight: mean_gap(tried[weight]))
    return max(tried, key=lambda weight: tried[weight]["balanced_accuracy"])


@dataclass(frozen=True)
class Line:
    """What a contestant came to on a split."""

    contestant: str
    split: int | str
    weight: float | None
    found: Figures  # on the test rows
    training_s: float
    choice_s: float
    tried: Mapping[float, Figures]  # on the validation rows, by weight

    def validated(self) -> float:
        """The balanced accuracy on the validation rows of the weight that was taken, FLOOR where none was chosen."""
        return FLOOR if self.weight is None else self.tried[self.weight]["balanced_accuracy"]

    def told(self) -> dict[str, Any]:
        """The line as plain values."""
        tried = [{"weight": weight, **found} for weight, found in self.tried.items()]
        head = {"contestant": self.contestant, "split": self.split, "weight": self.weight}
        return {**head, **self.found, "training_s": self.training_s, "choice_s": self.choice_s, "tried": tried}

    def __str__(self) -> str:
        weight = "–" if self.weight is None else f"{self.weight:g}"
        cells = [f"{self.found[name]:{len(title)}.3f}" for name, title in SHOWN.items()]
        return "  ".join(
            [f"{self.contestant:14}  {self.split!s:>5}", *cells, f"{weight:>6}", f"{self.training_s:10.1f}",
             f"{self.choice_s:8.1f}"]
        )  # fmt: skip


def measure(contestant: Contestant, split: int, held_out: Dataset, whole: Dataset, floor: float) -> Line:
    """Chooses a weight that is as accurate as ``floor``, trains with it and meets the test rows."""
    weight, tried, choice_s = None, {}, 0.0
    if contestant.weights:
        start = time.perf_counter()
        predictors = contestant.try_all(split, held_out)
        choice_s = time.perf_counter() - start
        if not predictors:
            raise InputError(f"No weight of {contestant.name} came to the end of its training: try smaller ones.")
        tried = {weight: measured(predict, held_out, "validation") for weight, predict in predictors.items()}
        weight = chosen(tried, floor)
    start = time.perf_counter()
    predict = contestant.train(split, whole, weight)
    training_s = time.perf_counter() - start
    return Line(contestant.name, split, weight, measured(predict, whole, "test"), training_s, choice_s, tried)


def mean_of(lines: Sequence[Line]) -> Line:
    """The mean over a contestant's splits."""
    found = {name: fmean(line.found[name] for line in lines) for name in SHOWN}
    training_s, choice_s = fmean(line.training_s for line in lines), fmean(line.choice_s for line in lines)
    return Line(lines[0].contestant, "mean", None, found, training_s, choice_s, {})


def ratios(ours: Line, theirs: Line) -> dict[str, float | None]:
    """Ours / theirs; None where theirs is 0."""
    pairs = {
        "training_s": (ours.training_s, theirs.training_s),
        "choice_s": (ours.choice_s, theirs.choice_s),
        "mean_gap": (mean_gap(ours.found), mean_gap(theirs.found)),
    }
    return {name: mine / other if other else None for name, (mine, other) in pairs.items()}


def compare(ours: Contestant, theirs: Contestant, splits: Sequence[int], data_root: Path | None) -> dict[str, Any]:
    """Prints each line as soon as it is there, then the table and the ratios; gives the same as plain values."""
    lines: dict[str, list[Line]] = {theirs.name: [], ours.name: []}
    for split in splits:
        adult = partial(read_dataset, "adult", data_root=data_root)
        held_out, whole = adult({"split": split, "validation": VALIDATION}), adult({"split": split})
        floor = FLOOR
        for contestant in (theirs, ours):
            line = measure(contestant, split, held_out, whole, floor)
            floor = line.validated()
            lines[contestant.name].append(line)
            print(line, flush=True)
    means = {name: mean_of(own) for name, own in lines.items()}
    shared = ratios(means[ours.name], means[theirs.name])
    print("  ".join([f"\n{'':14}  split", *SHOWN.values(), "weight", "training s", "choice s"]))
    for name, own in lines.items():
        print(*own, means[name], sep="\n")
    for what, name in (("time of training", "training_s"), ("time of choice", "choice_s"), ("mean gap", "mean_gap")):
        value = shared[name]
        print(f"{what}, ours / theirs: {'–' if value is None else f'{value:.2f}'}")
    return {
        "rows": [line.told() for own in lines.values() for line in own],
        "means": [mean.told() for mean in means.values()],
        "ratios": shared,
    }


def numbers(text: str, kind: Callable[[str], Any] = float) -> list[Any]:
    """Numbers with commas between, each once, none below 0."""
    found = [kind(word) for word in text.split(",")]
    if len(set(found)) < len(found) or not min(found) >= 0:
        raise argparse.ArgumentTypeError(f"give numbers, 0 or more, each once, with commas between, not {text}")
    return found


def whole_numbers(text: str) -> list[int]:
    """Whole numbers with commas between."""
    return numbers(text, int)


def main() -> None:
    """Prints the table, and with --json writes the same as an object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-root", type=Path, help="the folder that holds adult/")
    parser.add_argument("--splits", type=whole_numbers, default="0,1,2")
    parser.add_argument("--method", default="csad", help="ours: csad list methods")
    parser.add_argument("--weights", type=numbers, default="1,3,10,30,100", help="our debias_weight: the values tried")
    parser.add_argument("--alphas", type=numbers, default=".1,.3,1,3,10", help="fairlearn's alpha: the values tried")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    try:
        import fairlearn
    except ImportError:
        stop("fairlearn is not installed: pip install 'fairlearn>=0.13', the extra 'peers' of this package.")
    try:
        device = choose_device(options.device)
        ours = Ours(options.method, options.weights, options.data_root, options.device)
        theirs = Theirs(options.alphas, options.method, device)
        found = compare(ours, theirs, options.splits, options.data_root)
    except InputError as error:
        stop(str(error))
    if options.json:
        about = environment(ComputeSettings(device), theirs.course.precision) | {"fairlearn": fairlearn.__version__}
        asked = {"method": options.method, "weights": list(ours.weights), "alphas": options.alphas}
        asked |= {"validation": VALIDATION, "rule": RULE}
        options.json.write_text(json.dumps({"environment": about, "settings": asked, **found}, indent=2) + "\n")


def stop(text: str) -> NoReturn:
    """Ends the program with a sentence."""
    print(text, file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
