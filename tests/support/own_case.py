"""A case of a user's own data: what is typed, what was done before, what must be said."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.messages import Refusal
from tests.support.own_faults import Change

PREDICT = ["predict", "run", "own.csv", "--device", "cpu"]


class Case(NamedTuple):
    """What is typed where own.csv and a run on it are, what was done to these before, and what must be said.

    Where ``works``, it is what is said on the way to success.
    """

    name: str
    words: list[str]
    says: str | Refusal
    before: Change = lambda folder: None
    works: bool = False
