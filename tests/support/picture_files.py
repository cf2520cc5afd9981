"""Small picture files for tests, good and broken, in everything that pictures are distributed in."""

from __future__ import annotations

import functools
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

KINDS = ("folder", "zip", "deflated.zip", "tar", "tar.gz", "tgz")


@functools.cache
def picture(seed: int = 0, *, width: int = 12, height: int = 10, kind: str = "PNG", mode: str = "RGB") -> bytes:
    """The file of a picture that has eight coarse patches of colour, other ones for each seed."""
    patches = np.random.default_rng(seed).integers(0, 256, (2, 4, 3), dtype=np.uint8)
    image = Image.fromarray(patches).resize((width, height), Image.Resampling.NEAREST).convert(mode)
    return as_file(image, kind)


def as_file(image: Image.Image, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def pictures(count: int, folder: str = "faces/") -> dict[str, bytes]:
    """Files by name."""
    return {f"{folder}{n:04}.png": picture(n) for n in range(count)}


@functools.cache
def broken_pictures() -> dict[str, bytes]:
    """Files that are no pictures, each in its own way."""
    jpeg, png = picture(1, width=64, height=64, kind="JPEG"), picture(1, width=64, height=64)
    return {
        "cut.jpg": jpeg[: len(jpeg) // 2],
        "cut.png": png[: len(png) // 2],
        "empty.jpg": b"",
        "text.jpg": b"<html>404: there is no such picture</html>",
        "zeros.png": bytes(1000),
        "damaged.png": png[:60] + bytes(20) + png[80:],
        "huge.png": as_file(Image.new("1", (12_000, 10_000))),  # Pillow warns of 120 million pixels
        "larger.png": as_file(Image.new("1", (20_000, 10_000))),  # and refuses 200 million
        "page.eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n",
    }


def stored(kind: str, place: Path, files: Mapping[str, bytes]) -> Path:
    """The files in a folder or an archive of that kind."""
    if kind == "folder":
        return as_folder(place / "pictures", files)
    path = place / f"pictures.{kind}"
    return as_zip(path, files) if kind.endswith("zip") else as_tar(path, files)


def as_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def as_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    packing = zipfile.ZIP_DEFLATED if "deflated" in path.name else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def as_tar(path: Path, files: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}" if path.suffix == ".tgz" else name)  # as tar itself may write it
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path
