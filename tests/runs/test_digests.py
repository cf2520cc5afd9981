"""What a run's folder knows of its rows: which splits have others now, or are gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from csad.data.samples import Samples
from csad.runs.digests import ROWS_FILE, changed_splits, rows_text, weights_digest
from tests.support.own_data import DATASET


def test_splits_with_other_rows_and_splits_that_are_gone_have_changed(tmp_path: Path) -> None:
    (tmp_path / ROWS_FILE).write_text(rows_text(DATASET))
    assert changed_splits(tmp_path, DATASET) == []
    test = DATASET.splits["test"]
    other = Samples(test.x, test.y, 1 - test.b)
    assert changed_splits(tmp_path, replace(DATASET, splits=DATASET.splits | {"test": other})) == ["test"]
    assert changed_splits(tmp_path, replace(DATASET, splits={"train": DATASET.train})) == [
        name for name in DATASET.splits if name != "train"
    ]
    more = DATASET.splits | {"later": other}
    assert changed_splits(tmp_path, replace(DATASET, splits=more)) == []  # nothing was kept of it


def test_where_nothing_was_kept_nothing_is_known_to_have_changed(tmp_path: Path) -> None:
    assert changed_splits(tmp_path, DATASET) == changed_splits(None, DATASET) == []
    assert weights_digest(tmp_path / "no.safetensors") == ""
