"""What the guide to methods shows: facts of each method, asked of its code, and figures, read from the result files."""

import json
from pathlib import Path

import searches
from choices import RESULTS
from results_page import tables

from csad import InputError
from csad.data import Classes, Number, Task
from csad.methods import Course, Update
from csad.methods.pieces.attack import WorstCase
from csad.nets import Nets, Sizes
from csad.registry import METHODS
from csad.report.formatting import signed, spelled

GUIDE = Path(__file__).parent / "guides" / "which-method.md"
SHOWN = ("0.020", "0.035", "0.050")  # σ² of the columns


def made(name, target=Classes(2), bias=Classes(2)):  # noqa: B008
    """The method on a small table, with its own defaults."""
    task = Task("small", (4,), target, (bias,), ("bias",))
    nets = Nets(Sizes(backbone="mlp"), task.shape, target.outputs, (bias.outputs,))
    return METHODS[name](task, nets, Course())


def takes(name, **kinds):
    """Whether the method can be made for such labels."""
    try:
        made(name, **kinds)
    except InputError:
        return False
    return True


def steps(method):
    """Steps of the last stage on one mini-batch, how many of them move F, and gradients that worst cases take."""
    lines = [line for line in method.schedule()[-1].updates if isinstance(line, Update)]
    told = f"{sum(line.repeat for line in lines)}, {sum(line.repeat for line in lines if 'F' in line.moves)} of F"
    if isinstance(method, WorstCase):
        told += f"; {method.subspace_steps + method.full_steps} gradients of x before"
    return told


def facts_table():
    """A line for each method: the labels it needs and takes, what a mini-batch costs, whether it has a λ."""
    rows = []
    for name in METHODS.names():
        method = made(name)
        labels = "needed" if method.needs_bias else "not needed"
        bias = "classes, numbers" if takes(name, bias=Number()) else "classes"
        target = "class or number" if takes(name, target=Number()) else "class"
        weight = "yes" if hasattr(method, "debias_weight") else "no"
        rows.append([f"`{name}`", labels, bias if method.needs_bias else "any", target, steps(method), weight])
    return searches.table(["method", "bias labels", "bias", "target", "steps per mini-batch", "`debias_weight`"], rows)


def figures_table():
    """Accuracy on Colored MNIST's test digits by method, of those that Table 1 was run for."""
    found = {}
    for cell in json.loads((RESULTS / "colored-mnist.json").read_text())["rows"]:
        found.setdefault(cell["method"], {})[cell["column"]] = cell
    rows = [
        [f"`{name}`", *(f"{cells[column]['mean']:.3f} ± {cells[column]['std']:.3f}" for column in SHOWN)]
        for name, cells in found.items()
        if name in METHODS
    ]
    return searches.table(["method", *(f"σ² = {column}" for column in SHOWN)], rows)


def harder_table():
    """CSAD beside vanilla in all tables that compare the two row by row: the first figure of each table."""
    rows = []
    for path, table in tables().items():
        metric = table.cells[0].metric
        cells = {(cell.method, cell.column): cell for cell in table.cells if cell.metric == metric}
        rows += [
            [
                f"[{table.table}](../results/{path.stem}.md), {one.column}",
                table.labels.get(metric, metric.replace("_", " ")),
                *(spelled(cells[name, one.column].mean) for name in ("vanilla", "csad")),
                f"{signed(one.mean)} [{', '.join(map(signed, one.interval))}]",
            ]
            for one in table.differences
            if (one.method, one.other, one.metric) == ("csad", "vanilla", metric)
        ]
    return searches.table(["table, column", "figure", "`vanilla`", "`csad`", "difference, 95 %"], rows)


def page(text):
    """The guide with its tables as they are now."""
    for mark, table in (("facts", facts_table()), ("figures", figures_table()), ("harder", harder_table())):
        text = searches.filled(text, mark, table)
    return text
