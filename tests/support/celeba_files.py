"""Made-up images in CelebA's layout: an archive, the list of attributes and that of the parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.picture_files import as_zip, picture

HEADER = (
    "5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair "
    "Blond_Hair Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup "
    "High_Cheekbones Male Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose "
    "Receding_Hairline Rosy_Cheeks Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat "
    "Wearing_Lipstick Wearing_Necklace Wearing_Necktie Young"
)
ATTRIBUTES = HEADER.split()
COUNT = 90
NAMES = [f"{n:06}.jpg" for n in range(1, COUNT + 1)]
VALUES = np.random.default_rng(0).choice([-1, 1], (COUNT, 40))
PARTS = [0] * 50 + [1] * 20 + [0] * 10 + [2] * 10  # the real ones follow one another; a loader must not count on it


def attribute_lines() -> list[str]:
    """As the file is distributed: a blank at the end of the header, two before a 1."""
    rows = [name + "".join(f"{value:3}" for value in row) for name, row in zip(NAMES, VALUES.tolist(), strict=True)]
    return [str(COUNT), f"{HEADER} ", *rows]


def partition_lines() -> list[str]:
    return [f"{name} {part}" for name, part in zip(NAMES, PARTS, strict=True)]


def written(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def images() -> dict[str, bytes]:
    return {name: picture(n, width=18, height=22, kind="JPEG") for n, name in enumerate(NAMES)}


def write_celeba(place: Path) -> None:
    """All three files, in a new folder."""
    place.mkdir(parents=True)
    as_zip(place / "img_align_celeba.zip", {f"img_align_celeba/{name}": data for name, data in images().items()})
    written(place / "list_attr_celeba.txt", attribute_lines())
    written(place / "list_eval_partition.txt", partition_lines())
