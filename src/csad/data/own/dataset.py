"""The data set of a labeled table: notices about the table are collected, and the data are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from csad.data.augment import Pictures
from csad.data.events import report_table
from csad.data.own.label_columns import Label
from csad.data.own.labeled_table import LabeledTable
from csad.data.own.preprocessor import AnyPreprocessor, Preprocessor
from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.data.tables.table import (
    Column,
    ColumnTable,
    ColumnUse,
    NumberColumn,
    Whole,
    advice_on_signs,
    comma_words,
    kind_of,
    named_few,
    number_name,
    values_of,
)
from csad.data.validate import check_trainable, class_proxies, is_number_proxy
from csad.messages import message

FEWEST = 20  # so many rows can show that one column repeats another


class ColumnLine(NamedTuple):
    """A column, what it holds and what becomes of it."""

    column: str
    kind: str
    becomes: str


def column_lines(labeled: LabeledTable, uses: Mapping[str, ColumnUse], rest: str = "") -> list[ColumnLine]:
    """A line for each column, in the order of the file; ``rest`` is what becomes of columns without a role."""
    about = {label.name: label.about for label in (labeled.y, *labeled.b)}
    roles = {labeled.roles.group: "group: all rows of a group are in one split", labeled.roles.split: "names the split"}
    roles |= dict.fromkeys(labeled.roles.drop, "dropped as requested")
    lines = []
    for name, column in labeled.table.columns.items():
        use = uses.get(name) or ColumnUse(kind_of(column), "")
        parts = (about.get(name, ""), roles.get(name, ""), use.becomes)
        lines.append(ColumnLine(name, use.kind, "; ".join(part for part in parts if part) or rest))
    return lines


def group_notices(name: str, groups: Whole | None) -> list[str]:
    """A sentence if each row has a group of its own, so that the groups change nothing."""
    if groups is None or int(groups.max()) + 1 < len(groups):
        return []
    return [message("group-has-no-effect", column=name)]


def label_notices(table: ColumnTable, rows: Whole, labels: Sequence[Label], trained: Whole) -> list[str]:
    """Sentences on what the user may not expect of the target, the first of ``labels``, and of the biases.

    ``rows`` of the table have a known target; ``trained`` says which of them are training rows.
    """
    y = labels[0]
    notices: list[str] = []
    if lost := table.rows - len(rows):
        notices.append(message("target-missing-in-some-rows", target=y.name, missing=lost, rows=table.rows))
    for label in labels:
        if blanks := table[label.name].blanks:
            notices.append(
                message("values-read-as-missing", column=label.name, values=named_few(tuple(map(repr, blanks))))
            )
        notices += comma_words(label.name, table[label.name])
        if advice := advice_on_signs(table[label.name]):
            notices.append(message("values-used-as-classes", column=label.name, advice=advice))
        if label.width and np.nanmax(label.values) - np.nanmin(label.values) <= label.width:
            width = number_name(label.width)
            notices.append(message("width-makes-all-alike", bias=label.name, width=width))
        if isinstance(label.kind, Classes):
            present = set(label.values[trained].tolist())
            absent = [repr(name) for code, name in enumerate(label.kind.names) if code not in present]
            if absent:
                few = named_few(tuple(absent), 3)
                notices.append(message("values-absent-in-training", values=few, column=label.name))
    return notices


def confusion_notices(labels: Sequence[Label], trained: Whole) -> list[str]:
    """A sentence for each bias that decides the target, the first of ``labels``, in the training rows."""
    y, *biases = labels
    return [
        message("bias-determines-target", bias=bias.name, target=y.name)
        for bias in biases
        if isinstance(y.kind, Classes) and isinstance(bias.kind, Classes)
        if _decides(bias.values[trained], y.values[trained])
    ]


def _decides(bias: Whole, target: Whole) -> bool:
    """Whether each known value of the bias has only one target, although there are several targets."""
    known = bias >= 0
    pairs = np.unique(np.stack([bias[known], target[known]]), axis=1)
    return len(np.unique(pairs[0])) == pairs.shape[1] and len(np.unique(pairs[1])) > 1


def proxy_notices(table: ColumnTable, inputs: Sequence[str], labels: Sequence[Label], rows: Whole) -> list[str]:
    """A sentence for each input that is a proxy of the target, the first of ``labels``, or of a bias.

    ``rows`` of the table are those of the labels.
    """
    y, *biases = labels
    sources = {label.name: table[label.name].take(rows) for label in labels}
    notices: list[str] = []
    for name in inputs:
        if name in sources:
            continue  # a bias is an input if the user chose so
        column, quoted = table[name].take(rows), _quoted(name)
        for bias in biases:
            if _is_proxy(column, bias, sources[bias.name]):
                notices.append(message("column-copies-bias", column=name, bias=bias.name, quoted=quoted))
        if _is_proxy(column, y, sources[y.name]):
            notices.append(message("column-copies-target", column=name, target=y.name, quoted=quoted))
    return notices


def _is_proxy(column: Column, label: Label, source: Column) -> bool:
    """Whether an input is nearly a copy of a label.

    Both must be known in half of the rows, and in so many of them that it cannot be chance.
    """
    known = ~column.missing() & ~source.missing()
    if known.sum() < max(FEWEST, len(known) / 2):
        return False
    values = values_of(column)[known]
    if isinstance(label.kind, Classes) and class_proxies(values[:, None], label.values[known])[0]:
        return True
    if isinstance(column, NumberColumn) and isinstance(source, NumberColumn):
        return is_number_proxy(values, source.values[known])
    return False


def _quoted(name: str) -> str:
    """The name as users type it in a list with commas."""
    return f'"{name}"' if "," in name else name


NOTHING = Preprocessor(())  # fields after the defaults of Dataset need defaults, too
MOST_LINES = 40  # so many columns have a line each; among more, equal neighbours share a line


@dataclass(frozen=True)
class TableDataset(Dataset):
    """The data set of a table of one's own, which knows how its x was made.

    Args:
        preparation: Makes x of other tables in the same way.
        notices: Sentences on what the user may not expect.
        columns: What each column of the file holds, and what becomes of it.
    """

    preparation: AnyPreprocessor = NOTHING
    notices: tuple[str, ...] = ()
    columns: tuple[ColumnLine, ...] = ()

    def describe(self) -> list[str]:
        """Lines for people: what each column holds and what becomes of it; then the splits."""
        is_series = isinstance(self.preparation, Preprocessor) and self.preparation.is_series
        shown_lines = _joined(self.columns) if is_series or len(self.columns) > MOST_LINES else self.columns
        wide, kind = (max(len(line[k]) for line in shown_lines) for k in (0, 1))
        lines = [f"{line.column:<{wide}}  {line.kind:<{kind}}  {line.becomes}" for line in shown_lines]
        splits = ", ".join(f"{name} {len(rows):,}" for name, rows in self.splits.items())
        return [*lines, f"Rows: {splits}. Inputs: {self.preparation.describe()}."]

    def about(self) -> dict[str, Any]:
        """The same as plain values; ``fills`` are the numbers that replace missing ones.

        A target that is a number is learned in units of its ``target_spread`` in the training rows.
        """
        fills = self.preparation.fills() if isinstance(self.preparation, Preprocessor) else {}
        return {
            "rows": {name: len(rows) for name, rows in self.splits.items()},
            "target": _kind(self.task.target),
            "target_spread": self.preparation.target.size if isinstance(self.task.target, Number) else None,
            "biases": dict(zip(self.task.bias_names, map(_kind, self.task.biases), strict=True)),
            "columns": [line._asdict() for line in self.columns],
            "inputs": self.preparation.describe(),
            "fills": fills,
            "notices": list(self.notices),
        }


def preparation_of(dataset: Dataset) -> AnyPreprocessor | None:
    """What made x of a table of one's own; None for other data."""
    return dataset.preparation if isinstance(dataset, TableDataset) else None


def _joined(lines: tuple[ColumnLine, ...]) -> list[ColumnLine]:
    """One line for equal neighbours: those that hold the same and become the same."""
    joined = []
    for (kind, becomes), alike in groupby(lines, key=lambda line: (line.kind, line.becomes)):
        names = tuple(line.column for line in alike)
        many = f"{named_few(names, 2)} ({len(names)} columns)" if len(names) > 2 else named_few(names)
        joined.append(ColumnLine(many, kind, becomes if len(names) == 1 else f"each {becomes}"))
    return joined


def _kind(label: Classes | Number) -> str | list[str]:
    return list(label.names) if isinstance(label, Classes) else "number"


class DatasetParts(NamedTuple):
    """The rows of each split with their x, what made it, and sentences for the user."""

    preparation: AnyPreprocessor
    splits: dict[str, Samples]
    task: Task
    uses: Mapping[str, ColumnUse]  # of the columns that x is made of
    notices: Sequence[str]
    vary: Pictures | None = None


def build_dataset(labeled: LabeledTable, parts: DatasetParts, rest: str = "") -> TableDataset:
    """The data set, reported to whoever listens; ``rest`` is what becomes of columns without a role."""
    labels = [labeled.y, *labeled.b]
    trained = np.flatnonzero(np.isin(labeled.rows, parts.splits["train"].extra["row"].numpy()))
    notices = [*label_notices(labeled.table, labeled.rows, labels, trained), *confusion_notices(labels, trained)]
    notices += [*labeled.notices, *group_notices(labeled.roles.group, labeled.groups), *parts.notices]
    lines = column_lines(labeled, parts.uses, rest)
    table = TableDataset(
        parts.task, parts.splits, vary=parts.vary, preparation=parts.preparation, notices=tuple(dict.fromkeys(notices)),
        columns=tuple(lines),
    )  # fmt: skip
    check_trainable(table, needs_bias=False)
    report_table(table)
    return table
