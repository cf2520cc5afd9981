"""The rules by which settings are taken from what a search tried: the tables' and the tasks' are held to them."""

import json
import re
import statistics
import tomllib
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def sweeps(search):
    """What each sweep of a search was, and its runs; those that were not run yet are left out."""
    stacks = tomllib.loads((search / "stacks.toml").read_text())
    for name, told in stacks.items():
        if (search / f"{name}.jsonl").exists():
            lines = (search / f"{name}.jsonl").read_text().splitlines()
            yield name, told, [json.loads(line) for line in lines]


def chosen_weights(search, family):
    """The λ that the rule takes, by row and column: of the highest mean on validation digits, on a tie the smaller.

    ``family`` begins the names of the sweeps that try weights; the row is what follows, but for a number at the end.
    """
    found = {}
    for name, told, runs in sweeps(search):
        row = re.fullmatch(rf"{family}-(.+?)(-\d+)?", name)
        for run in runs if row else ():
            values = told["set"] | run["values"]  # what a sweep does not vary is told once, for all its runs
            column = f"{float(values['data.color_variance']):.3f}"
            tried = found.setdefault(row[1], {}).setdefault(column, {})
            tried.setdefault(float(values["debias_weight"]), []).append(run["validation"])
    return {
        row: {
            column: min(tried, key=lambda weight: (-statistics.mean(tried[weight]), weight))
            for column, tried in sorted(columns.items())
        }
        for row, columns in found.items()
    }


NEAR_PAPER = 0.015  # of balanced accuracy: how far from the paper's row a rival's weight may bring it on Adult


def rivals_weights(search, paper):
    """The weight of each rival on Adult, as {row: (setting, value)}, all by figures on validation rows.

    Of those whose balanced accuracy is near the paper's for that row, or nearest to it if none is, the one with the
    smallest mean of both RMS gaps. ``paper`` has the paper's balanced accuracy of each row; the sweeps are called
    weight-ROW, weight-ROW-2 and so on.
    """
    tried = {}
    for name, _, runs in sweeps(search):
        row = re.fullmatch(r"weight-(.+?)(-\d+)?", name)
        for run in runs if row else ():
            (weight,) = (item for item in run["values"].items() if item[0] != "data.split")
            tried.setdefault(row[1], {}).setdefault(weight, []).append(run["figures"])
    return {row: _near_with_small_gaps(weights, paper[row]) for row, weights in tried.items()}


def _near_with_small_gaps(weights, wanted):
    def mean(weight, metric):
        return statistics.mean(figures[metric] for figures in weights[weight])

    away = {weight: abs(mean(weight, "balanced_accuracy") - wanted) for weight in weights}
    near = [weight for weight in weights if away[weight] <= max(NEAR_PAPER, min(away.values()))]
    setting, value = min(near, key=lambda weight: mean(weight, "gap_gender_rms") + mean(weight, "gap_race_rms"))
    return setting, float(value)


def settings_tried(search, method, over):
    """The runs of a method by their settings, those of the same in whatever sweep together; ``over`` are left out.

    What all sweeps have in common counts as far as it is of the training: a sweep may set it again. The "place" of a
    run is its values of ``over``.
    """
    common = tomllib.loads((search / "stacks.toml").read_text())["common"].get("set", {})
    shared = {key: value for key, value in common.items() if key.startswith("train.") and key != "train.precision"}
    tried = {}
    for _, told, runs in sweeps(search):
        for run in runs if told.get("method", "csad") == method else ():
            told_of = told["set"] | run["values"]
            values = {key: _number(value) for key, value in (shared | told_of).items() if key not in over}
            place = tuple(str((common | told_of).get(key)) for key in over)
            tried.setdefault(tuple(sorted(values.items())), []).append(run | {"place": place})
    return tried


def _number(value):
    try:
        return float({"false": 0, "true": 1}.get(value, value))
    except ValueError:
        return value


def best_settings(search, method, figure="", *, over=("data.setting",), seeds=1, places=1, where=()):
    """The settings with the highest mean of a figure, or of all figures, whatever those of ``over`` are.

    Those that lack one of ``where``, or were tried with fewer seeds or other values of ``over``, do not count.
    """
    enough = {
        values: [run["figures"][figure] if figure else statistics.mean(run["figures"].values()) for run in made]
        for values, made in settings_tried(search, method, over).items()
        if set(values) >= set(where)
        and len({run["place"] for run in made}) >= places
        and len({run["seed"] for run in made}) >= seeds
    }
    return dict(max(enough, key=lambda values: statistics.mean(enough[values])))


def fairest_settings(search, method, *, floor=0.806, splits=10):
    """The settings on Adult with the smallest sum of both RMS gaps on validation rows.

    Those that were tried on fewer splits do not count, nor those with a balanced accuracy below ``floor``, which is a
    little above the .804 that the paper has on test rows.
    """
    tried = settings_tried(search, method, ["data.split"])

    def mean(values, metric):
        return statistics.mean(run["figures"][metric] for run in tried[values])

    enough = [own for own in tried if len(tried[own]) >= splits and mean(own, "balanced_accuracy") >= floor]
    return dict(min(enough, key=lambda own: mean(own, "gap_gender_rms") + mean(own, "gap_race_rms")))
