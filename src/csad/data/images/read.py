"""Reads images: decoded and resized once, then memory-mapped, so that no epoch decodes an image again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import TOLERATED, check_names, most_broken, open_archive, stamp
from csad.data.events import report_notice
from csad.data.images.cache import BROKEN, DECODED, ImageCache, fingerprint
from csad.data.images.decode import Decoder, decode_all
from csad.data.local_files import cache_folder
from csad.errors import InputError
from csad.messages import message

LARGEST = 4096  # pixels along a side
SHOWN = 3  # broken images that a message names


class Images(NamedTuple):
    """Pixels (k, 3, size, size) of the images that could be decoded, and which of the listed names they are."""

    pixels: NDArray[np.uint8]  # memory-mapped; torch shares them, and changes never reach the file
    places: NDArray[np.int64]  # ascending: positions in the list of names
    broken: tuple[str, ...]  # names that are left out


class ImageWarning(UserWarning):
    """Notice of images that are left out, because they cannot be decoded."""


def read_images(
    source: Path,
    names: Sequence[str],
    *,
    size: int,
    crop: float | tuple[float, ...] = 1.0,
    tolerated: float = TOLERATED,
) -> Images:
    """Images as RGB bytes of size × size pixels.

    Pixels are kept in "images" in ``CSAD_CACHE``, or in the cache of the system: later calls only open them, and a call
    after one that was stopped decodes the rest. Broken images are left out with an ``ImageWarning``.

    Args:
        source: A folder, .zip, .tar or .tar.gz.
        names: The paths of the images inside it.
        size: The pixels of a side, to which images are resized whatever their proportions.
        crop: The share of width and height that is cut out of the centre before, or a share for each of them.
        tolerated: The share of images that may be broken. More of them are an error, and so are all.
    """
    decoder = Decoder(_side(size), _shares(crop))
    source = Path(source)
    check_names(names)
    decoded = _cache(source, names, decoder)
    if not decoded.is_whole():
        _decode(source, names, decoder, decoded, tolerated)
    marks = decoded.marks()
    broken = tuple(names[i] for i in np.flatnonzero(marks == BROKEN).tolist())
    _check_broken(source, names, broken, tolerated)  # an earlier call may have tolerated more
    if broken:
        report_notice(ImageWarning(message("images-left-out", **_broken_facts(source, names, broken))))
    return Images(decoded.pixels(), np.flatnonzero(marks == DECODED), broken)


def read_parts(
    source: Path,
    parts: Mapping[str, Sequence[str]],
    *,
    size: int,
    crop: float | tuple[float, ...] = 1.0,
    tolerated: float = TOLERATED,
) -> dict[str, Images]:
    """The images of several lists of names, such as those of splits; ``places`` count within each list.

    One file holds them list after list, so that each list is a stretch of it and nothing is copied into memory.
    """
    names = [name for part in parts.values() for name in part]
    whole = read_images(source, names, size=size, crop=crop, tolerated=tolerated)
    ends = itertools.accumulate(map(len, parts.values()), initial=0)
    images = {}
    for (part, part_names), (start, end) in zip(parts.items(), itertools.pairwise(ends), strict=True):
        first, last = np.searchsorted(whole.places, (start, end))
        places = whole.places[first:last] - start
        broken = tuple(part_names[i] for i in np.setdiff1d(np.arange(len(part_names)), places).tolist())
        images[part] = Images(whole.pixels[first:last], places, broken)
    return images


def images_folder() -> Path:
    """The folder of all caches of decoded images; each cache has a folder of its own."""
    return cache_folder() / "images"


def pixels_at(pixels: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pixels at these places: a stretch stays memory-mapped, other places are copied."""
    if len(places) and (np.diff(places) == 1).all():
        return pixels[places[0] : places[-1] + 1]
    return pixels[places]


def _side(size: int) -> int:
    if not isinstance(size, int | np.integer) or not 1 <= size <= LARGEST:
        raise InputError("image-size-out-of-range", most=LARGEST, size=size)
    return int(size)


def _shares(crop: float | tuple[float, ...]) -> tuple[float, float]:
    """The shares of width and height."""
    shares = crop if isinstance(crop, tuple | list) else (crop,)
    if len(shares) not in (1, 2) or not all(0 < share <= 1 for share in shares):
        raise InputError("crop-out-of-range", crop=crop)
    return float(shares[0]), float(shares[-1])


def _cache(source: Path, names: Sequence[str], decoder: Decoder) -> ImageCache:
    """The cache of exactly these images at this size."""
    if not names:
        raise InputError("no-image-names", source=source)
    key = fingerprint(stamp(source, names), repr(decoder), *names)
    title = f"{source.resolve().name.split('.')[0]}-{decoder.size}px-{key}"
    shape = (3, decoder.size, decoder.size)
    return ImageCache(images_folder() / title, len(names), shape, str(source.resolve()))


def _decode(source: Path, names: Sequence[str], decoder: Decoder, cache: ImageCache, tolerated: float) -> None:
    """Make the cache whole, unless another process does; if too many images are broken, remove it."""
    with cache.locked():
        if cache.is_whole():
            return
        with open_archive(source, names) as archive:
            broken = decode_all(archive, names, decoder, cache, most_broken(tolerated, len(names)))
        try:
            _check_broken(source, names, [names[i] for i in broken], tolerated)
        except InputError:
            cache.discard()
            raise
        cache.finish()


def _check_broken(source: Path, names: Sequence[str], broken: Sequence[str], tolerated: float) -> None:
    if len(broken) > most_broken(tolerated, len(names)):
        facts = _broken_facts(source, names, broken)
        if tolerated < 1:
            raise InputError("too-many-broken-images", tolerated=tolerated, **facts)
        raise InputError("no-image-readable", **facts)


def _broken_facts(source: Path, names: Sequence[str], broken: Sequence[str]) -> dict[str, Any]:
    """How many of how many images of a source are broken, and the first of them."""
    shown = ", ".join(broken[:SHOWN]) + (", …" if len(broken) > SHOWN else "")
    return {"broken": len(broken), "total": len(names), "source": source, "names": shown}
