"""A little IMDB-WIKI: photos of made-up people, each in one colour that tells its row."""

from __future__ import annotations

from PIL import Image

from csad.data.samples import Dataset
from tests.support.face_files import NAN
from tests.support.picture_files import as_file

AGED = (5, 24, 29, 30, 39, 40, 64, 100)  # each age, of a woman and a man, ten times: 160 photos
BORN = {age: (2000 - age, 3, 1) for age in AGED}
ROWS = [{"born": BORN[age], "gender": float(male)} for age in AGED for male in (0, 1)] * 10
DROPPED = [{"gender": NAN}, {"second": 1.5}, {"score": 0.5}, {"born": (1890, 1, 1)}]


def pictures(prefix: str = "wiki_crop/", rows: int = len(ROWS) + len(DROPPED)) -> dict[str, bytes]:
    return {f"{prefix}{row % 100:02}/{row}.jpg": picture(row) for row in range(rows)}


def picture(row: int) -> bytes:
    return as_file(Image.new("RGB", (5, 4), (row, 255 - row, 7)))


def numbers(dataset: Dataset, split: str) -> list[int]:
    """The rows that a split's pictures show."""
    x = dataset.splits[split].x
    assert bool((x == x[:, :, :1, :1]).all())
    assert bool((x[:, 0, 0, 0] == 255 - x[:, 1, 0, 0]).all())
    found: list[int] = x[:, 0, 0, 0].tolist()
    return found
