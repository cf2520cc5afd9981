"""Training rows kept aside to validate on: every combination of target and bias gives its share of them."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

from csad.data.samples import Samples
from csad.data.splits import hold_out


def made() -> Samples:
    """Four rows of each of 2 classes × 25 × 2 biases, in no order; x tells the row."""
    cells = np.array([*product(range(2), range(25), range(2))] * 4)[np.random.default_rng(0).permutation(400)]
    return Samples(np.arange(400.0)[:, None], cells[:, 0], cells[:, 1:])


def counts(samples: Samples) -> Counter[tuple[int, ...]]:
    return Counter((y, *b) for y, b in zip(samples.y.tolist(), samples.b.tolist(), strict=True))


def test_rows_are_held_out_of_every_combination_of_target_and_biases_alike() -> None:
    found = hold_out(made(), 0.25, "a purpose")
    assert set(counts(found["validation"]).values()) == {1}
    assert set(counts(found["train"]).values()) == {3}
    assert len(counts(found["validation"])) == len(counts(found["train"])) == 100


def test_each_row_is_in_one_of_the_two_and_the_draw_is_always_the_same() -> None:
    one, again, other = (hold_out(made(), 0.25, purpose) for purpose in ("a purpose", "a purpose", "another"))
    rows = [row for samples in one.values() for row in samples.x[:, 0].tolist()]
    assert sorted(rows) == list(range(400))
    assert one["validation"].fingerprint() == again["validation"].fingerprint()
    assert one["validation"].fingerprint() != other["validation"].fingerprint()


def test_without_a_share_to_validate_on_all_rows_are_trained_on_and_none_is_copied() -> None:
    whole = made()
    assert hold_out(whole, 0.0, "a purpose") == {"train": whole}
