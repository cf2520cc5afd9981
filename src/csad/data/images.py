"""Images of real size: decoded and resized once, then memory-mapped, so that no epoch decodes one again."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csad.data.archives import check_names, open_archive, stamp
from csad.data.decoding import Decoder, decode_all
from csad.data.image_cache import BROKEN, KEPT, ImageCache, fingerprint
from csad.data.places import cache_folder
from csad.errors import InputError

TOLERATED = 0.01  # the share of images that may be broken
LARGEST = 4096  # pixels along a side
SHOWN = 3  # broken images that a message names


class Images(NamedTuple):
    """Pixels (k, 3, size, size) of the images that could be decoded, and which of the names asked for they are."""

    pixels: NDArray[np.uint8]  # memory-mapped; torch shares it, and what is written there never reaches the file
    kept: NDArray[np.int64]  # places in the list of names, ascending
    broken: tuple[str, ...]  # names that are left out


def most_broken(tolerated: float, count: int) -> float:
    """How many of so many may be broken where that share is tolerated: never all."""
    return min(tolerated * count, count - 1)


class ImageWarning(UserWarning):
    """Images that could not be decoded are left out."""


def read_images(
    source: Path,
    names: Sequence[str],
    *,
    size: int,
    crop: float | tuple[float, ...] = 1.0,
    cache: Path | None = None,
    tolerated: float = TOLERATED,
) -> Images:
    """The images of these names, paths inside a folder, .zip, .tar or .tar.gz, as RGB bytes of size × size pixels.

    An image is resized whatever its proportions, once ``crop``, a share of its width and height or one of each, is cut
    out of the centre. Pixels are kept in ``cache``, by default "images" in ``CSAD_CACHE`` or the system's cache: later
    calls only open them, and a call that was stopped goes on where it was. Broken images are left out with an
    ``ImageWarning``; more than the share that is ``tolerated``, one in a hundred, are an error, and so are all.
    """
    decoder = Decoder(_side(size), _shares(crop))
    source = Path(source)
    check_names(names)
    found = _cache(source, names, decoder, cache)
    if not found.is_whole():
        _decode(source, names, decoder, found, tolerated)
    marks = found.marks()
    broken = tuple(names[i] for i in np.flatnonzero(marks == BROKEN).tolist())
    _check_broken(source, names, broken, tolerated)  # they may have been decoded where more were tolerated
    if broken:
        warnings.warn(f"{_told(source, names, broken)}: left out.", ImageWarning, stacklevel=2)
    return Images(found.pixels(), np.flatnonzero(marks == KEPT), broken)


def read_parts(
    source: Path,
    parts: Mapping[str, Sequence[str]],
    *,
    size: int,
    crop: float | tuple[float, ...] = 1.0,
    tolerated: float = TOLERATED,
) -> dict[str, Images]:
    """The images of several lists of names, such as those of splits; ``kept`` counts within each list.

    They lie in one file, list after list, so that each is a stretch of it and nothing is copied into memory.
    """
    names = [name for part in parts.values() for name in part]
    whole = read_images(source, names, size=size, crop=crop, tolerated=tolerated)
    ends = itertools.accumulate(map(len, parts.values()), initial=0)
    found = {}
    for (part, own), (start, end) in zip(parts.items(), itertools.pairwise(ends), strict=True):
        first, last = np.searchsorted(whole.kept, (start, end))
        kept = whole.kept[first:last] - start
        broken = tuple(own[i] for i in np.setdiff1d(np.arange(len(own)), kept).tolist())
        found[part] = Images(whole.pixels[first:last], kept, broken)
    return found


def kept_in() -> Path:
    """The folder of all that is kept of decoded images, each of the caches in a folder of its own."""
    return cache_folder() / "images"


def pixels_at(pixels: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The pixels at these places: of a stretch as they lie, so that they stay memory-mapped, of others a copy."""
    if len(places) and (np.diff(places) == 1).all():
        return pixels[places[0] : places[-1] + 1]
    return pixels[places]


def _side(size: int) -> int:
    if not isinstance(size, int | np.integer) or not 1 <= size <= LARGEST:
        raise InputError(f"size must be a whole number of pixels, from 1 to {LARGEST}, not {size!r}.")
    return int(size)


def _shares(crop: float | tuple[float, ...]) -> tuple[float, float]:
    """The shares of width and height."""
    given = crop if isinstance(crop, tuple | list) else (crop,)
    if len(given) not in (1, 2) or not all(0 < share <= 1 for share in given):
        wanted = "a share of width and height above 0 and at most 1, or one of each"
        raise InputError(f"crop must be {wanted}, not {crop!r}.")
    return float(given[0]), float(given[-1])


def _cache(source: Path, names: Sequence[str], decoder: Decoder, folder: Path | None) -> ImageCache:
    """The place of just these images at this size."""
    if not names:
        raise InputError(f"No image of {source} is asked for: give at least one name.")
    key = fingerprint(stamp(source, names), repr(decoder), *names)
    title = f"{source.resolve().name.split('.')[0]}-{decoder.size}px-{key}"
    shape = (3, decoder.size, decoder.size)
    return ImageCache((folder or kept_in()) / title, len(names), shape, str(source.resolve()))


def _decode(source: Path, names: Sequence[str], decoder: Decoder, cache: ImageCache, tolerated: float) -> None:
    """Makes the cache whole, unless another process does; where too many images are broken, nothing is kept."""
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
        told = _told(source, names, broken)
        told = f"At least {told}: at most {tolerated:.0%} may be, so" if tolerated < 1 else f"{told}:"
        raise InputError(f"{told} download them again or leave them out.")


def _told(source: Path, names: Sequence[str], broken: Sequence[str]) -> str:
    shown = ", ".join(broken[:SHOWN]) + (", …" if len(broken) > SHOWN else "")
    are = "is" if len(broken) == 1 else "are"
    return f"{len(broken):,} of {len(names):,} images in {source} {are} broken and cannot be decoded ({shown})"
