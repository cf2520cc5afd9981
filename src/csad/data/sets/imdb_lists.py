"""Reads the lists of IMDB faces that Kim et al. (CVPR 2019) cleaned and divided; papers compare on their test list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from csad.data.given_files import damaged
from csad.data.pickled import read_objects
from csad.data.sets.face_metadata import Photos

LABELS, PARTS = "imdb_age_gender.npy", "imdb_split.npy"


def read_lists(labels: Path, parts: Path) -> Photos:
    """Every photo that is in a list of ``parts``, first those to train on; gender and age are from ``labels``."""
    known = {_text(path): values for path, values in _dict(labels).items()}
    lists = _dict(parts)
    for name in ("train_list", "test_list"):
        if not isinstance(lists.get(name), list):
            raise damaged(parts, f"has no list called {name}")
    train, test = ([_text(path) for path in lists[name]] for name in ("train_list", "test_list"))
    paths = np.array([*train, *test], dtype=object)
    if len(set(paths)) < len(paths):
        raise damaged(parts, "lists a photo twice")
    try:
        male, age = (np.array([int(known[path][key]) for path in paths]) for key in ("gender", "age"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged(labels, f"does not tell the age and gender of every photo in {parts}") from error
    if not np.isin(male, (0, 1)).all():
        raise damaged(labels, "has a gender that is neither 0 nor 1")
    return Photos(paths, male.astype(np.int64), age.astype(np.int64), np.arange(len(paths)) >= len(train))


def _dict(path: Path) -> dict[Any, Any]:
    found = read_objects(path)
    if not isinstance(found, dict):
        raise damaged(path, "does not hold a dict")
    return found


def _text(word: Any) -> str:
    return word.decode("latin1") if isinstance(word, bytes) else str(word)
