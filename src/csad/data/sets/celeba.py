"""CelebA (Liu et al., ICCV 2015; as Nam et al., NeurIPS 2020, use it): an attribute of a face, whatever its others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from csad.data.given_files import find_given
from csad.data.held_out import hold_out
from csad.data.images import read_parts
from csad.data.samples import Classes, Dataset, Samples, Task
from csad.data.sets.celeba_lists import read_lists
from csad.data.split import check_share
from csad.data.vary import Pictures
from csad.errors import InputError
from csad.registry import DATASETS

IMAGES = "img_align_celeba"
FILES = ((f"{IMAGES}.zip", IMAGES), ("list_attr_celeba.txt",), ("list_eval_partition.txt",))
HOME = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (Align&Cropped Images, Anno and Eval)"
SPLITS = {"train": 0, "test": 1, "official-test": 2}  # what the paper calls test is the official validation part
NO_YES = Classes(2, ("no", "yes"))


@DATASETS.register("celeba")
def celeba(
    *,
    target: str = "Blond_Hair",
    bias: tuple[str, ...] = ("Male",),
    size: int = 64,
    crop: tuple[float, ...] = (1.0,),
    flip: bool = True,
    shift: int = 0,
    validation: float = 0.0,
    data_root: Path | None = None,
) -> Dataset:
    """Faces with 40 attributes: ``target`` is to be told, those in ``bias`` are not to be leaned on.

    The authors' parts 0, 1 and 2 are the splits train, test and official-test; the last is tested on in no table of
    the paper, and is left out where the list has none. ``validation`` is the share of the training rows that is held
    out, with every combination of target and bias as frequent as in the rest. The paper's images have ``size`` 224, and
    are resized whole, as here; (1, 178 / 218) as ``crop`` is the square that others cut out of the centre. In training
    half of them are flipped, as in Nam et al., and moved by at most ``shift`` pixels.
    """
    _check_attributes(target, bias)
    check_share(validation)
    images, attributes, partition = find_given(FILES, "celeba", HOME, data_root)
    names, values, parts = read_lists(attributes, partition, (target, *bias))
    inside = "" if images.is_dir() else f"{IMAGES}/"
    rows = {split: np.flatnonzero(parts == part) for split, part in SPLITS.items()}
    if not len(rows["official-test"]):
        del rows["official-test"]
    for split in ("train", "test"):
        if not len(rows[split]):
            raise InputError(f"{partition} gives no image the part {SPLITS[split]}, so the split '{split}' is empty.")
    listed = {split: [inside + names[i] for i in chosen] for split, chosen in rows.items()}
    splits = {}
    for split, (pixels, kept, _) in read_parts(images, listed, size=size, crop=crop).items():
        labels = values[rows[split][kept]]
        splits[split] = Samples(pixels, labels[:, 0], labels[:, 1:])
    task = Task("celeba", (3, size, size), NO_YES, (NO_YES,) * len(bias), bias)
    held = hold_out(splits.pop("train"), validation, "celeba validation")
    return Dataset(task, held | splits, vary=Pictures(flip, shift))


def _check_attributes(target: str, bias: tuple[str, ...]) -> None:
    if not bias:
        raise InputError("CelebA needs an attribute as bias, such as Male.")
    if len({target, *bias}) <= len(bias):
        raise InputError(f"target and bias must be different attributes, not {target} and {', '.join(bias)}.")
