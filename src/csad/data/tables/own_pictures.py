"""Pictures of one's own as a data set: a table names them and has their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from csad.data.tables.by_settings import by_settings
from csad.data.tables.file_columns import looked_for
from csad.data.tables.inputs import Fate, kind_of
from csad.data.tables.labelled import read_labelled
from csad.data.tables.made import Made, owned
from csad.data.tables.named_files import named_parts, splits_of
from csad.data.tables.owned import OwnTable
from csad.data.tables.pictures import PicturePreparation
from csad.data.tables.roles import Roles, names_of
from csad.data.vary import Pictures


def from_pictures(
    path: str | Path,
    *,
    target: str,
    bias: str | Sequence[str],
    image: str,
    images: str | Path = "",
    size: int = 64,
    crop: float | Sequence[float] = 1.0,
    flip: bool = False,
    shift: int = 0,
    group: str = "",
    split: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    seed: int = 0,
    bins: Mapping[str, Sequence[float]] | None = None,
    widths: Mapping[str, float] | None = None,
    target_kind: str = "",
) -> OwnTable:
    """The data set of pictures that the column ``image`` of a CSV or Parquet file names; x is made of nothing else.

    Names are paths inside ``images``, a folder, .zip, .tar or .tar.gz, or the folder of the table where none is given.
    A picture is resized to ``size`` pixels each way, once the share ``crop`` is cut out of its centre; in training half
    of them are flipped, where ``flip``, and all moved by at most ``shift`` pixels. Rows without a picture, or with one
    that is broken, are left out. All else is as in ``from_table``.
    """
    roles = Roles(target, names_of(bias), (), group, split)
    roles.check_files(image, "pictures", "--image")
    found = read_labelled(
        path, roles, fractions=fractions, seed=seed, bins=bins, widths=widths, target_kind=target_kind
    )
    shares = tuple(crop) if isinstance(crop, Sequence) else (crop,)
    preparation = PicturePreparation(image, size, shares, found.target_unit())
    named = named_parts(found, image, preparation.what)
    with looked_for(found.table.path.parent, images, preparation.what) as place:
        read, broken = preparation.read(place, named.paths)
    lacking = f"picture (column '{image}')"
    splits, task = splits_of(found, named.parts, read, (3, size, size), preparation.target, lacking)
    fates = {image: Fate(kind_of(found.table[image]), f"input: {preparation.told()}")}
    vary = Pictures(flip, shift) if flip or shift else None
    made = Made(preparation, splits, task, fates, [*named.notices, *broken], vary)
    return owned(found, made, rest="not used: x is the pictures")


pictures_from_settings = by_settings(from_pictures)
