"""The parts of the page, one function each: numbers of the contestants in, plots and table rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csad.report import svg, words
from csad.report.contestant import Contestant, Probe
from csad.report.digits import MISSING
from csad.report.drawing import count, finite, percent
from csad.report.png import Pixels

MOST_COLUMNS = 12

MEANINGS = {
    "target": "how badly the digit is named; the encoder and the target branch lower it",
    "bias": "how badly the colour is named; only the bias branch lowers it",
    "estimator": "minus the information found shared by h_y and h_b; the estimator lowers it to find more",
    "debias": "that shared information, weighted; the encoder lowers it to share less",
}


def card(contestant: Contestant) -> dict[str, object]:
    """What stands on a model's card; own and other colours need one colour per digit."""
    cells = contestant.cells
    own: list[float | None] = []
    other: list[float | None] = []
    if all(len(row) == len(cells) for row in cells):
        for i, row in enumerate(cells):
            for j, value in enumerate(row):
                (own if i == j else other).append(value)
    return {
        "name": contestant.name,
        "accuracy": percent(contestant.accuracy, 1),
        "share": 100 * min(max(contestant.accuracy, 0), 1) if finite(contestant.accuracy) else 0,
        "own": percent(words.mean_and_deviation(own)[0], 1),
        "other": percent(words.mean_and_deviation(other)[0], 1),
        "updates": count(contestant.target_updates),
        "seconds": f"{contestant.seconds:,.1f}" if finite(contestant.seconds) else MISSING,
        "warnings": list(contestant.warnings),
    }


def heat_map(contestant: Contestant, colors: Sequence[tuple[int, int, int]], classes: Sequence[str]) -> str:
    """Accuracy by colour and digit; a colour goes by its digit's name where each digit has one."""
    paired = len(colors) == len(classes)
    return svg.heat_map(
        contestant.cells,
        list(classes) if paired else ["#{:02x}{:02x}{:02x}".format(*color) for color in colors],
        classes,
        title=f"Test accuracy of {contestant.name} by colour and digit",
        describe=f"Rows are colours, columns are digits, cells are per cent right. "
        f"Over all, {contestant.name} is right {percent(contestant.accuracy, 1)} of the time.",
        row_swatches=colors,
        row_title="colour of" if paired else "colour",
        column_title="digit",
    )


def leaks(contestants: Sequence[Contestant]) -> list[dict[str, object]]:
    """For each kind of features: a chart, a sentence, and the figures as a table."""
    found: dict[str, dict[str, dict[str, Probe]]] = {}
    for contestant in contestants:
        for probe in contestant.probes:
            found.setdefault(probe.features, {}).setdefault(probe.column, {})[contestant.name] = probe
    names = [contestant.name for contestant in contestants]
    parts: list[dict[str, object]] = []
    for features, columns in found.items():
        dots, table, chances = [], [], []
        scores: dict[str, list[float]] = {name: [] for name in names}
        for column, by_name in columns.items():
            chance = next((probe.chance for probe in by_name.values() if finite(probe.chance)), None)
            values = {name: by_name[name].score if name in by_name else None for name in names}
            dots.append(svg.Dot(column, values, chance))
            table.append([column, *(percent(value, 1) for value in values.values()), percent(chance, 1)])
            chances += [chance] if finite(chance) else []
            for name, value in values.items():
                scores[name] += [value] if finite(value) else []
        sentence = words.leak_sentence(features, scores, chances)
        chart = svg.dot_chart(
            dots, title=f"What a probe reads from {features}", describe=sentence, x_label="probe accuracy"
        )
        table_head = ["", *names, "chance"]
        parts.append({"features": features, "sentence": sentence, "chart": chart, "head": table_head, "rows": table})
    return parts


def seed_table(seeds: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Header, one row per seed, and the mean and standard deviation of each column of fractions."""
    head = list(dict.fromkeys(["seed", *(name for row in seeds for name in row)]))
    rows = [
        [str(row.get(name, MISSING)) if name == "seed" else percent(words.rate(row.get(name)), 1) for name in head]
        for row in seeds
    ]
    foot = [["mean"], ["standard deviation"]]
    for name in head[1:]:
        mean, deviation = words.mean_and_deviation(words.rate(row.get(name)) for row in seeds)
        foot[0].append(percent(mean, 1))
        foot[1].append(percent(deviation, 1))
    return {"head": head, "rows": rows, "foot": foot}


def curves(contestant: Contestant) -> str:
    """The losses of one model over its steps, with its last values as text."""
    last = {name: curve[-1][1] for name, curve in contestant.curves.items() if len(curve)}
    ends = ", ".join(f"{name} {value:.3g}" for name, value in last.items())
    return svg.line_chart(
        contestant.curves,
        title=f"Losses of {contestant.name} while it trained",
        describe=f"Last values: {ends}.",
        x_label="step",
        y_label="loss",
        breaks=contestant.breaks,
    )


def picture_rows(pictures: Pixels, classes: Sequence[str], title: str, describe: str) -> str:
    """The pictures with one column per class; nothing where there are none."""
    if not len(pictures):
        return ""
    columns = len(classes) if 0 < len(classes) <= MOST_COLUMNS else MOST_COLUMNS
    return svg.picture_grid(pictures, columns, title=title, describe=describe)
