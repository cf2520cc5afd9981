"""Decodes image files, many at once, into a cache of pixels."""

from __future__ import annotations

import functools
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import Archive
from csad.data.events import Progress
from csad.data.images.cache import BROKEN, WAITING, ImageCache
from csad.errors import InputError, is_os_error, unreadable

if TYPE_CHECKING:
    from PIL import Image

THREADS = min(16, os.cpu_count() or 1)  # Pillow lets other threads run while it decodes and resizes
ORIENTATION = 0x0112  # the tag that says which side is up
TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_270", 7: "TRANSVERSE",
    8: "ROTATE_90",
}  # fmt: skip
BITS, PHOTOMETRIC, WHITE_IS_ZERO = 0x0102, 0x0106, 0  # tags of a TIFF about its greys
PIECE = 2**26  # so many bytes of pixels, at most, are decoded before they are saved
MOST_AT_ONCE = 1024  # and so many images
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")  # other formats of Pillow may start other programs


@dataclass(frozen=True)
class Decoder:
    """Makes pixels of a file's bytes; ``crop`` is the share of width and height around the centre that stays."""

    size: int
    crop: tuple[float, float]

    def __call__(self, data: bytes) -> NDArray[np.uint8]:
        """RGB (3, size, size), resized whatever the proportions; bytes that are no image raise any kind of error."""
        from PIL import Image

        with Image.open(io.BytesIO(data), formats=FORMATS) as stored:
            stored.load()  # here, because a broken image must not pass for one with broken tags
            image = upright(in_bytes(stored), stored)
            (width, height), (across, down) = image.size, self.crop
            left, top = width * (1 - across) / 2, height * (1 - down) / 2
            box = (left, top, width - left, height - top)
            # As torchvision resizes by default: linear, over all pixels that a new one covers.
            small = image.convert("RGB").resize((self.size, self.size), Image.Resampling.BILINEAR, box=box)
        return np.ascontiguousarray(np.asarray(small).transpose(2, 0, 1))


def upright(image: Image.Image, stored: Image.Image) -> Image.Image:
    """The image as viewers show it: cameras store it as it fell on the chip, with a tag for the side that is up."""
    from PIL import Image

    try:
        orientation = stored.getexif().get(ORIENTATION)
    except MemoryError:
        raise
    except Exception:  # Pillow raises any error for damaged tags
        return image
    turn = TURNS.get(orientation) if isinstance(orientation, int) else None
    return image if turn is None else image.transpose(Image.Transpose[turn])


def in_bytes(image: Image.Image) -> Image.Image:
    """The image, with greys of 16 bits as greys of 8: Pillow would make all above 255 white."""
    from PIL import Image

    if image.mode == "F":
        raise InputError("image-pixels-real-numbers")
    if not image.mode.startswith("I"):
        return image
    greys = np.asarray(image)
    bits, is_inverted = _facts_of_greys(image)
    low, high = int(greys.min()), int(greys.max())
    if low < 0 or high >= 2**bits:
        raise InputError("image-grays-out-of-range", low=low, high=high, bits=bits)
    return Image.fromarray(_bytes_of(bits, is_inverted)[greys])


def _facts_of_greys(image: Image.Image) -> tuple[int, bool]:
    """The number of bits of greys with more than 8, and whether 0 is white: a TIFF says so in its tags."""
    tags = getattr(image, "tag_v2", {}) if image.mode != "I" else {}
    return int(tags.get(BITS, (16,))[0]), tags.get(PHOTOMETRIC) == WHITE_IS_ZERO


@functools.cache
def _bytes_of(bits: int, is_inverted: bool) -> NDArray[np.uint8]:
    """The byte of each grey: a table takes less memory than arithmetic on the greys of a large picture."""
    table: NDArray[np.uint8] = np.rint(np.arange(2**bits) * (255 / (2**bits - 1))).astype(np.uint8)
    return table[::-1] if is_inverted else table


def decode_all(
    archive: Archive, names: Sequence[str], decoder: Decoder, cache: ImageCache, most_broken: float
) -> list[int]:
    """Decode all images into the cache, unless more than ``most_broken`` are broken; the places of those that are."""
    step = max(1, min(MOST_AT_ONCE, PIECE // cache.row))
    progress = Progress(f"Decoding images into {cache.folder}", len(names))
    with _strict_pillow(), _pool() as pool, cache.writing() as writer:
        marks = cache.marks()
        broken: list[int] = np.flatnonzero(marks == BROKEN).tolist()
        waiting = sorted(np.flatnonzero(marks == WAITING).tolist(), key=lambda i: archive.place(names[i]))
        for start in range(0, len(waiting), step):
            piece = waiting[start : start + step]
            # The archive is read here, in order; the threads decode the bytes.
            rows = pool.map(_row, ((decoder, names[i], archive.reader(names[i])) for i in piece))
            for i, row in zip(piece, rows, strict=True):
                writer.put(i, row)
                broken += [i] * (row is None)
            writer.save()
            if len(broken) > most_broken:
                break
            progress.report(len(names) - len(waiting) + start + len(piece))
    return sorted(broken)


def _row(job: tuple[Decoder, str, Callable[[], bytes]]) -> NDArray[np.uint8] | None:
    decoder, name, read = job
    try:
        return decoder(read())
    except MemoryError:
        raise
    except InputError as error:
        raise InputError("image-not-usable", name=name, reason=error) from error
    except Exception as error:  # the errors of Pillow's readers have no common class
        if is_os_error(error):
            raise unreadable(f"Image '{name}'", error) from error
        return None


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(THREADS)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)  # Ctrl-C must not wait for work that has not begun


@contextmanager
def _strict_pillow() -> Iterator[None]:
    """Make Pillow refuse images so large that it would only warn of them, and silence its other warnings."""
    image = _pillow()
    with warnings.catch_warnings():
        # Warnings of strange palettes and the like do not matter if the image can be decoded.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image.DecompressionBombWarning)
        yield


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("pillow-not-installed") from error
    return Image
