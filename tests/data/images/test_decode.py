"""What one picture becomes: its pixels in bytes of RGB, upright, resized over all that a new one covers."""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from csad.data.images.read import read_images
from csad.data.samples import as_float
from tests.support.messages import Refusal, refused
from tests.support.picture_files import as_file, as_folder, picture, pictures

pytestmark = pytest.mark.usefixtures("cache")

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def corners() -> Image.Image:
    """Four by four pixels: the outer ring is black, the four inside are red, green, blue and white."""
    image = Image.new("RGB", (4, 4))
    for place, colour in {(1, 1): RED, (2, 1): GREEN, (1, 2): BLUE, (2, 2): WHITE}.items():
        image.putpixel(place, colour)
    return image


def test_a_picture_of_the_right_size_keeps_its_very_pixels(tmp_path: Path) -> None:
    source = as_folder(tmp_path / "p", {"a.png": as_file(corners())})
    (pixels,) = read_images(source, ["a.png"], size=4).pixels
    assert pixels.shape == (3, 4, 4)
    assert [tuple(pixels[:, y, x].tolist()) for y, x in ((1, 1), (1, 2), (2, 1), (2, 2))] == [RED, GREEN, BLUE, WHITE]
    assert pixels[:, 0].max() == pixels[:, :, 3].max() == 0
    assert as_float(torch.from_numpy(pixels[None])).unique().tolist() == [-1, 1]


def test_crop_is_the_share_that_is_kept_around_the_centre(tmp_path: Path) -> None:
    source = as_folder(tmp_path / "p", {"a.png": as_file(corners())})
    (half,) = read_images(source, ["a.png"], size=2, crop=0.5).pixels
    assert half.transpose(1, 2, 0).tolist() == [[list(RED), list(GREEN)], [list(BLUE), list(WHITE)]]
    (lower,) = read_images(source, ["a.png"], size=2, crop=(1.0, 0.5)).pixels
    assert lower.tolist() == np.asarray(corners().crop((0, 1, 4, 3)).resize((2, 2), 2)).transpose(2, 0, 1).tolist()
    assert len({read_images(source, ["a.png"], size=2, crop=c).pixels.tobytes() for c in (1.0, 0.5, (1.0, 0.5))}) == 3


def test_a_picture_is_resized_over_all_pixels_that_a_new_one_covers(tmp_path: Path) -> None:
    stripes = Image.fromarray(np.tile(np.array([[0], [255]], dtype=np.uint8), (32, 64)))
    (pixels,) = read_images(as_folder(tmp_path / "p", {"a.png": as_file(stripes)}), ["a.png"], size=8).pixels
    assert abs(pixels.astype(int) - 127).max() <= 8  # nearest pixels would be black or white


@pytest.mark.parametrize(
    ("mode", "kind"), [("L", "PNG"), ("P", "PNG"), ("RGBA", "PNG"), ("CMYK", "JPEG"), ("1", "PNG"), ("P", "GIF")]
)
def test_pictures_of_other_colour_modes_become_rgb(tmp_path: Path, mode: str, kind: str) -> None:
    source = as_folder(tmp_path / "p", {"a": picture(3, mode=mode, kind=kind)})
    (pixels,) = read_images(source, ["a"], size=6).pixels
    assert pixels.shape == (3, 6, 6)
    assert pixels.std() > 10
    assert (mode in "L1") == bool((pixels[0] == pixels[1]).all() and (pixels[1] == pixels[2]).all())


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "<u2"), ("TIFF", "<u2"), ("TIFF", ">u2"), ("TIFF", "<i4")])
def test_greys_of_sixteen_bits_become_those_of_eight(tmp_path: Path, kind: str, mode: str) -> None:
    greys = np.arange(256)
    # Each as it is, and on either side of where the next one begins.
    ramp = np.concatenate([greys * 257, greys[:-1] * 257 + 128, greys[:-1] * 257 + 129])
    expected = np.concatenate([greys, greys[:-1], greys[1:]])
    side = len(ramp)
    files = {"deep": as_file(Image.fromarray(np.tile(ramp, (side, 1)).astype(mode)), kind)}
    (found,) = read_images(as_folder(tmp_path / "pictures", files), ["deep"], size=side).pixels
    assert (found == expected).all()


def test_a_tiff_tells_how_many_bits_its_greys_have_and_whether_0_is_white(tmp_path: Path) -> None:
    greys = np.tile([0, 1000, 2000, 4095], (4, 1))
    packed = b"".join(bytes((a >> 4, (a & 15) << 4 | b >> 8, b & 255)) for a, b in greys.reshape(-1, 2).tolist())
    whole = (greys * 16).astype("<u2").tobytes()
    files = {"12 bits": tiff(packed, 4, 12, 1), "16": tiff(whole, 4, 16, 1), "inverted": tiff(whole, 4, 16, 0)}
    deep, plain, inverted = read_images(as_folder(tmp_path / "p", files), list(files), size=4).pixels[:, 0, 0]
    assert deep.tolist() == [0, 62, 125, 255]
    assert plain.tolist() == [0, 62, 125, 255]
    assert inverted.tolist() == [255, 193, 130, 0]


def tiff(greys: bytes, side: int, bits: int, photometric: int) -> bytes:
    """A file of side × side greys, in one strip: Pillow writes none of 12 bits."""
    facts = {256: side, 257: side, 258: bits, 259: 1, 262: photometric, 273: 122, 277: 1, 278: side, 279: len(greys)}
    entries = b"".join(struct.pack("<HHIHH", key, 3, 1, value, 0) for key, value in facts.items())
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(facts)) + entries + bytes(4) + greys


@pytest.mark.parametrize(
    ("greys", "said"),
    [
        (
            np.linspace(0, 1, 12, dtype=np.float32),
            Refusal("image-not-usable", name="odd.tif", reason=re.compile("real numbers")),
        ),
        (
            np.arange(12, dtype=np.int32) - 1,
            Refusal("image-not-usable", reason=re.compile("from -1 to 10, .* 16 bits")),
        ),
        (
            np.arange(12, dtype=np.int32) * 10**4,
            Refusal("image-not-usable", reason=re.compile("from 0 to 110000, .* 16 bits")),
        ),
    ],
)
def test_pictures_of_which_nobody_says_what_is_white_are_refused(
    tmp_path: Path, greys: np.ndarray, said: Refusal
) -> None:
    folder = as_folder(tmp_path / "pictures", {"odd.tif": as_file(Image.fromarray(greys.reshape(3, 4)), "TIFF")})
    with refused(said):
        read_images(folder, ["odd.tif"], size=4)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_stands_as_its_camera_was_held(tmp_path: Path, orientation: int, kind: str) -> None:
    """Stored as each of the eight ways to hold a camera has it: Exif tells what is to be done to it."""
    turn = Image.Transpose
    turns = (None, turn.FLIP_LEFT_RIGHT, turn.ROTATE_180, turn.FLIP_TOP_BOTTOM)
    turns += (turn.TRANSPOSE, turn.ROTATE_90, turn.TRANSVERSE, turn.ROTATE_270)
    turned = turns[orientation - 1]
    held = corners() if turned is None else corners().transpose(turned)
    exif = Image.Exif()
    exif[0x0112] = orientation
    stream = io.BytesIO()
    held.save(stream, kind, exif=exif)
    assert beside_upright(tmp_path, stream.getvalue())


def test_greys_of_sixteen_bits_stand_as_their_camera_was_held_too(tmp_path: Path) -> None:
    greys = np.arange(16, dtype=np.uint16).reshape(4, 4) * 257
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter to the right makes it upright
    stream = io.BytesIO()
    Image.fromarray(np.rot90(greys).copy()).save(stream, "PNG", exif=exif)
    folder = as_folder(tmp_path / "pictures", {"held.png": stream.getvalue()})
    (found,) = read_images(folder, ["held.png"], size=4).pixels
    assert found[0].tolist() == np.arange(16).reshape(4, 4).tolist()


# Facts beside which side is up that Pillow cannot write again, as a tag, its type, how many and its bytes: a resolution
# in words, a unit beyond 16 bits, a placing in words.
@pytest.mark.parametrize(
    "odd", [(0x011A, 2, 2, b"a\0\0\0"), (0x0128, 4, 1, struct.pack("<I", 70000)), (0x0213, 2, 2, b"a\0\0\0")]
)
def test_a_picture_with_an_odd_fact_in_its_exif_is_turned_all_the_same(
    tmp_path: Path, odd: tuple[int, int, int, bytes]
) -> None:
    turned = (0x0112, 3, 1, struct.pack("<HH", 6, 0))
    entries = b"".join(struct.pack("<HHI", *entry[:3]) + entry[3] for entry in sorted([turned, odd]))
    exif = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", 2) + entries + bytes(4)
    stream = io.BytesIO()
    corners().transpose(Image.Transpose.ROTATE_90).save(stream, "PNG", exif=exif)
    assert beside_upright(tmp_path, stream.getvalue())


@pytest.mark.parametrize("exif", [b"MM\0*\0\0\0\x08\0\x09junk", b"MM\0*", b"\x88\0"])
def test_a_picture_whose_exif_cannot_be_read_is_taken_as_it_lies(tmp_path: Path, exif: bytes) -> None:
    stream = io.BytesIO()
    corners().save(stream, "PNG", exif=b"Exif\0\0" + exif)
    assert beside_upright(tmp_path, stream.getvalue())


def test_a_picture_for_which_memory_lacks_is_not_taken_as_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(_: Image.Image) -> None:
        raise MemoryError

    monkeypatch.setattr(Image.Image, "getexif", lacks)
    with pytest.raises(MemoryError):
        read_images(as_folder(tmp_path / "pictures", pictures(1)), list(pictures(1)), size=4)


def beside_upright(place: Path, stored: bytes) -> bool:
    """Whether a stored picture is seen as that of ``corners`` is, which is stored upright."""
    folder = as_folder(place / "pictures", {"held": stored, "up.png": as_file(corners())})
    found = read_images(folder, ["held", "up.png"], size=corners().size[0]).pixels
    return bool((found[0] == found[1]).all())
