"""What people are told of a table before anything is trained on it: what becomes of each column, and what is odd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from csad.data.copies import copies_of_classes, is_copy_of_numbers
from csad.data.samples import Classes
from csad.data.tables.advice import advice_on_signs, comma_words, quoted
from csad.data.tables.columns import Column, Numbers, Table, Whole, number_name, shown, values_of
from csad.data.tables.inputs import Fate, kind_of
from csad.data.tables.labels import Label
from csad.data.tables.roles import Roles

FEWEST = 20  # rows that can tell that a column says another one over again


class ColumnLine(NamedTuple):
    """A column, what it holds and what becomes of it."""

    column: str
    kind: str
    becomes: str


def column_lines(
    table: Table, roles: Roles, labels: Sequence[Label], fates: Mapping[str, Fate], rest: str = ""
) -> list[ColumnLine]:
    """What becomes of each column, in the order of the file; ``rest`` is said of those that have no part."""
    told = {label.name: label.about for label in labels}
    plays = {roles.group: "group: all its rows are in one split", roles.split: "says the split"}
    plays |= dict.fromkeys(roles.drop, "dropped, as asked")
    lines = []
    for name, column in table.columns.items():
        fate = fates.get(name) or Fate(kind_of(column), "")
        parts = (told.get(name, ""), plays.get(name, ""), fate.becomes)
        lines.append(ColumnLine(name, fate.kind, "; ".join(part for part in parts if part) or rest))
    return lines


def group_notices(name: str, groups: Whole | None) -> list[str]:
    """A sentence where each row has a group of its own, which is none."""
    if groups is None or int(groups.max()) + 1 < len(groups):
        return []
    return [f"Each row is a group of its own in column '{name}', so that it keeps no rows together."]


def label_notices(table: Table, rows: Whole, labels: Sequence[Label], trained: Whole) -> list[str]:
    """Sentences on what a reader might not expect of the target, the first of ``labels``, and the biases.

    ``rows`` are those whose target is known, ``trained`` which of them are trained on.
    """
    y, found = labels[0], []
    if lost := table.rows - len(rows):
        found.append(f"Target '{y.name}' is missing in {lost:,} of {table.rows:,} rows: they are left out.")
    for label in labels:
        if blanks := table[label.name].blanks:
            found.append(f"In column '{label.name}' {shown(tuple(map(repr, blanks)))} counts as missing.")
        found += comma_words(label.name, table[label.name])
        if advice := advice_on_signs(table[label.name]):
            found.append(f"The values of column '{label.name}' count as classes{advice}.")
        if label.width and np.nanmax(label.values) - np.nanmin(label.values) <= label.width:
            width = number_name(label.width)
            found.append(f"All values of '{label.name}' are alike, as none are more than {width} apart.")
        if isinstance(label.kind, Classes):
            present = set(label.values[trained].tolist())
            absent = [repr(name) for code, name in enumerate(label.kind.names) if code not in present]
            found += [f"No training row has {shown(tuple(absent), 3)} as '{label.name}'."] if absent else []
    return found


def confusion_notices(labels: Sequence[Label], trained: Whole) -> list[str]:
    """A sentence for each bias that, in the rows that are trained on, says the target, the first of ``labels``."""
    y, *biases = labels
    return [
        f"In the training rows '{bias.name}' decides '{y.name}': no value of it is there with two targets, so that "
        "nothing in them says which of the two is meant. Add rows that go against the bias."
        for bias in biases
        if isinstance(y.kind, Classes) and isinstance(bias.kind, Classes)
        if _decides(bias.values[trained], y.values[trained])
    ]


def _decides(bias: Whole, target: Whole) -> bool:
    """Of rows whose bias is known, if they have several targets: whether each value of it has only one."""
    known = bias >= 0
    pairs = np.unique(np.stack([bias[known], target[known]]), axis=1)
    return len(np.unique(pairs[0])) == pairs.shape[1] and len(np.unique(pairs[1])) > 1


def copy_notices(table: Table, inputs: Sequence[str], labels: Sequence[Label], rows: Whole) -> list[str]:
    """A sentence for each input that says the target, the first of ``labels``, or a bias over again.

    ``rows`` are those whose target is known, from which the labels were made.
    """
    y, *biases = labels
    sources = {label.name: table[label.name].take(rows) for label in labels}
    found = []
    for name in inputs:
        if name in sources:
            continue  # a bias is an input where the user asked for it
        column, leave = table[name].take(rows), f"leave it out (drop {quoted(name)})"
        for bias in biases:
            if else_ := _else_told(column, bias, sources[bias.name]):
                advice = f"{leave}, or the model is handed what it should unlearn"
                found.append(f"Column '{name}' tells the bias '{bias.name}' and {else_}: {advice}.")
        if else_ := _else_told(column, y, sources[y.name]):
            advice = f"{leave}, unless it is known whenever the model is to answer"
            found.append(f"Column '{name}' tells the target '{y.name}' and {else_}: {advice}.")
    return found


def _else_told(column: Column, label: Label, source: Column) -> str:
    """What else an input tells that says a label, or the column it was made of, over again; empty of any other.

    Both must be known in half of the rows, and in enough of them that chance is out of the question.
    """
    known = ~column.missing() & ~source.missing()
    if known.sum() < max(FEWEST, len(known) / 2):
        return ""
    told = values_of(column)[known]
    if isinstance(label.kind, Classes) and copies_of_classes(told[:, None], label.values[known])[0]:
        return "nothing else"
    if isinstance(column, Numbers) and isinstance(source, Numbers) and is_copy_of_numbers(told, source.values[known]):
        return "hardly anything else"
    return ""
