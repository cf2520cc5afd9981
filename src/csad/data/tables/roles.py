"""Which column of a table is what: the target, the biases, a group, a split; and what the user may say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from csad.data.tables.cells import number_of
from csad.data.tables.columns import Table
from csad.errors import InputError, unknown


class Roles(NamedTuple):
    """The columns that have a part to play; all others are inputs, less those to ``drop``."""

    target: str
    bias: tuple[str, ...]
    drop: tuple[str, ...] = ()
    group: str = ""
    split: str = ""

    def check(self, measured: Iterable[str]) -> None:
        """Nothing, or an error on what is wrong before the file is read; ``measured`` have bins or a width."""
        if not self.target:
            raise InputError("A table needs a target, the column that is to be learned: give --target COLUMN.")
        if not self.bias:
            raise InputError("A table needs a bias, a column that is not to be leaned on: give --bias COLUMN.")
        for names in (self.bias, self.drop):
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError(f"Column '{twice[0]}' is named twice; name it once.")
        if self.target in self.bias:
            raise InputError(f"Column '{self.target}' is the target and a bias: what is learned cannot be a bias.")
        if self.group and self.group == self.target:
            raise InputError(f"Column '{self.group}' is the target and the group: it cannot be both.")
        if self.split and self.split in (self.target, self.group, *self.bias):
            raise InputError(f"Column '{self.split}' says the split, so it is neither target nor bias nor group.")
        for name in self.drop:
            if name in (self.target, self.group, self.split, *self.bias):
                raise InputError(f"Column '{name}' is dropped, but it is the target, a bias, the group or the split.")
        for name in measured:
            if name not in self.bias:
                raise unknown("bias", name, self.bias)

    def check_files(self, column: str, what: str, option: str) -> None:
        """Nothing, or an error where the column that names files, such as pictures, has another part to play."""
        if not column:
            raise InputError(f"{what.title()} need the column of a table that names them: give {option} COLUMN.")
        if column in (self.target, self.group, self.split, *self.bias):
            raise InputError(f"Column '{column}' names the {what}, so it is not the target, a bias, group or split.")

    def check_columns(self, table: Table) -> None:
        """Nothing, or an error on a column that the table does not have."""
        for name in (*self.bias, *self.drop):
            if name not in table.columns and (whole := table.with_part(name)):
                quotes = f"on the command line a name that has a comma stands in quotes, as '\"{whole}\"'"
                raise InputError(f"Column '{name}' is not in {table.path}. Nearest: {whole}; {quotes}.")
        if self.split and self.split not in table.columns and self.split[0] in "-.0123456789":
            told = "shares are two or three numbers with commas between, as 0.7,0.1,0.2"
            raise InputError(f"The split '{self.split}' is neither a column of {table.path} nor shares: {told}.")
        for name in (self.target, *self.bias, *self.drop, self.group, self.split):
            if name:
                table[name]

    def inputs(self, table: Table, *, keep_bias: bool) -> list[str]:
        """The columns that x is made of."""
        apart = {self.target, self.group, self.split, *self.drop}
        apart |= set() if keep_bias else set(self.bias)
        return [name for name in table.columns if name not in apart]


def names_of(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def numbers_by_column(option: str, words: Iterable[str], *, one: bool = False) -> dict[str, tuple[float, ...]]:
    """The numbers that each word gives a column: ``age=0,30,60``, where a space may stand for a comma."""
    found: dict[str, tuple[float, ...]] = {}
    for word in words:
        name, _, given = word.rpartition("=")
        name = name.strip()
        if re.match(r"[^=]+=[-\d.,\s]+,[^=]+$", name):  # two columns in one word; a name may hold a = as well
            raise InputError(
                f"--{option} is given once for each column, as --{option} {word.split(',')[0]}, not '{word}'."
            )
        numbers = [number_of(part) for part in given.replace(",", " ").split()]
        known = tuple(number for number in numbers if number is not None)
        if not name or not known or len(known) < len(numbers) or (one and len(known) > 1):
            wanted = "its number, as age=5" if one else "its numbers, as age=0,30,60"
            raise InputError(f"--{option} must name a column and {wanted}, not '{word}'.")
        if name in found:
            raise InputError(f"--{option} names column '{name}' twice; name it once.")
        found[name] = known
    return found


def one_by_column(option: str, words: Iterable[str]) -> dict[str, float]:
    """The one number that each word gives a column: ``age=5``."""
    return {name: given[0] for name, given in numbers_by_column(option, words, one=True).items()}
