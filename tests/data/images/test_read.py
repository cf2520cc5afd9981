"""Pictures in all that they are distributed in become the same pixels; broken ones are named, never a crash."""

from __future__ import annotations

import errno
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from csad.data import archives
from csad.data.images import decode
from csad.data.images.decode import Decoder
from csad.data.images.read import Images, ImageWarning, pixels_at, read_images, read_parts
from csad.data.samples import Samples
from tests.support.messages import Refusal, refused, warned
from tests.support.picture_files import KINDS, as_folder, as_zip, broken_pictures, picture, pictures, stored
from tests.support.real_data import root_of

pytestmark = pytest.mark.usefixtures("cache")


def wanted(files: dict[str, bytes], names: list[str], size: int) -> np.ndarray:
    """What Pillow makes of each picture by itself."""
    rows = [np.asarray(Decoder(size, (1.0, 1.0))(files[name])) for name in names]
    return np.stack(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_and_every_archive_give_the_same_pixels_in_the_order_of_the_names(tmp_path: Path, kind: str) -> None:
    files = pictures(20) | {"more/deep/one.jpg": picture(50, kind="JPEG"), "top.bmp": picture(51, kind="BMP")}
    names = [*sorted(files, reverse=True), "faces/0003.png"]
    found = read_images(stored(kind, tmp_path, files), names, size=8)
    assert found.pixels.shape == (23, 3, 8, 8)
    assert found.pixels.dtype == np.uint8
    assert isinstance(found.pixels, np.memmap)
    assert found.places.tolist() == list(range(23))
    assert found.broken == ()
    assert (found.pixels == wanted(files, names, 8)).all()


def test_nothing_is_unpacked_to_the_disk(tmp_path: Path, cache: Path) -> None:
    source = stored("tar", tmp_path, pictures(5))
    read_images(source, ["faces/0001.png"], size=4)
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["about", "lock", "marks", "pictures.tar", "pixels"]
    assert [path.name.rpartition("-")[0] for path in (cache / "images").iterdir()] == ["pictures-4px"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", broken_pictures())
def test_a_broken_picture_is_named_and_left_out(tmp_path: Path, broken: str, kind: str) -> None:
    files = {f"{n}.png": picture(n % 7) for n in range(150)}
    files = files | {broken: broken_pictures()[broken]}
    names = sorted(files, key=lambda name: (name != "3.png", name != broken, name))
    source = stored(kind, tmp_path, files)
    with warned(ImageWarning, "images-left-out", broken=1, total=151, source=source, names=broken):
        found = read_images(source, names, size=4)
    assert found.broken == (broken,)
    assert found.places.tolist() == [0, *range(2, 151)]
    assert (found.pixels == wanted(files, [names[i] for i in found.places], 4)).all()


def test_a_member_of_a_zip_that_was_damaged_is_a_broken_picture(tmp_path: Path) -> None:
    files = {f"{n}.png": picture(n % 7) for n in range(150)}
    source = as_zip(tmp_path / "deflated.zip", files)
    with zipfile.ZipFile(source) as archive:
        place = archive.getinfo("70.png").header_offset + 45
    data = bytearray(source.read_bytes())
    data[place : place + 30] = bytes(30)
    source.write_bytes(data)
    with warned(ImageWarning, "images-left-out", names="70.png"):
        assert read_images(source, list(files), size=4).broken == ("70.png",)


def test_a_file_too_large_for_a_picture_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 10_000)
    files = {f"{n}.png": picture(n % 7) for n in range(150)} | {"bomb.bmp": picture(1, width=99, height=99, kind="BMP")}
    for kind in KINDS:
        with warned(ImageWarning, "images-left-out", names="bomb.bmp"):
            assert read_images(stored(kind, tmp_path, files), list(files), size=4).broken == ("bomb.bmp",)


def test_more_than_one_broken_picture_in_a_hundred_is_an_error_that_names_the_first(tmp_path: Path) -> None:
    files = {f"{n:03}.jpg": picture(n % 7, kind="JPEG") for n in range(396)}
    bad = {f"bad{n}.jpg": b"" for n in range(5)}
    source = as_folder(tmp_path / "p", files | bad)
    first = {"source": source, "names": "bad0.jpg, bad1.jpg, bad2.jpg, …"}
    with warned(ImageWarning, "images-left-out", broken=4, total=400, **first):
        read_images(source, [*files, *list(bad)[:4]], size=4)
    with refused("too-many-broken-images", broken=5, total=401, tolerated=0.01, **first):
        read_images(source, [*files, *bad], size=4)
    with refused("too-many-broken-images", broken=1, total=1, source=source):
        read_images(source, ["bad0.jpg"], size=4)


def test_pictures_that_were_decoded_where_more_may_be_broken_are_still_too_many_elsewhere(tmp_path: Path) -> None:
    names = ["a.png", "b.png", "c.png"]
    source = as_folder(tmp_path / "own", {name: picture(k) for k, name in enumerate(names)} | {"b.png": b"none"})
    with warned(ImageWarning, "images-left-out", broken=1, total=3, source=source):
        found = read_images(source, names, size=4, tolerated=0.5)
    assert (found.places.tolist(), found.broken) == ([0, 2], ("b.png",))
    with refused("too-many-broken-images"):
        read_images(source, names, size=4)
    with pytest.warns(ImageWarning):
        assert read_images(source, names, size=4, tolerated=0.5).broken == ("b.png",)


@settings(deadline=None, max_examples=200)
@given(
    place=st.integers(0, 700),
    cut=st.integers(0, 300),
    junk=st.binary(max_size=12),
    kind=st.sampled_from(["JPEG", "PNG", "GIF", "TIFF"]),
)
def test_whatever_the_bytes_are_pixels_come_back_or_the_picture_is_broken(
    place: int, cut: int, junk: bytes, kind: str
) -> None:
    good = picture(2, width=20, height=20, kind=kind)
    with decode._strict_pillow():
        row = decode._row((Decoder(4, (1.0, 1.0)), "a", lambda: good[:place] + junk + good[place + cut :]))
    assert row is None or row.shape == (3, 4, 4)


def test_a_disk_that_fails_is_told_and_does_not_make_a_picture_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    source = as_folder(tmp_path / "p", pictures(3))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", failing)
        said = Refusal("file-unreadable", file="Image 'faces/0000.png'", reason="Input/output error")
        with refused(said):
            read_images(source, list(pictures(3)), size=4)
    assert len(read_images(source, list(pictures(3)), size=4).places) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    ["../secret.png", "faces/../../secret.png", "/etc/secret.png", r"..\secret.png", "C:/secret.png", "C:secret"],
)
def test_a_name_that_leads_out_of_the_source_is_an_error(tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    source = stored(kind, tmp_path, pictures(2))
    with refused("path-leaves-folder", name=name):
        read_images(source, ["faces/0000.png", name], size=4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["faces/0009.png", "faces", "faces/", "", "odd\0name"])
def test_names_that_are_not_there_are_counted_and_the_first_is_told(tmp_path: Path, kind: str, name: str) -> None:
    source = stored(kind, tmp_path, pictures(2))
    with refused("files-missing", missing=2, total=3, files="images"):
        read_images(source, ["faces/0001.png", name, "other.png"], size=4)


def test_a_source_that_is_not_there_or_of_no_known_kind_is_an_error(tmp_path: Path) -> None:
    with refused("file-unreadable", file=f"The images {tmp_path / 'nowhere.zip'}"):
        read_images(tmp_path / "nowhere.zip", ["a.png"], size=4)
    (tmp_path / "pictures.rar").write_bytes(b"Rar!")
    with refused("archive-format-unknown", files="images"):
        read_images(tmp_path / "pictures.rar", ["a.png"], size=4)
    with refused("no-image-names", source=tmp_path):
        read_images(tmp_path, [], size=4)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.97])
def test_an_archive_that_was_cut_short_is_told_and_what_to_do(tmp_path: Path, kind: str, share: float) -> None:
    source = stored(kind, tmp_path, {name: data * 20 for name, data in pictures(100).items()})
    data = source.read_bytes()
    source.write_bytes(data[: int(share * len(data) * 0.97)])
    with refused("archive-unreadable", file=source) as error:
        read_images(source, list(pictures(100)), size=4)
    assert "\n" not in str(error.value)


def test_an_archive_of_another_kind_than_its_name_says_is_told(tmp_path: Path) -> None:
    as_zip(tmp_path / "a.zip", pictures(1)).rename(tmp_path / "a.tar")
    stored("tar", tmp_path, pictures(1)).rename(tmp_path / "b.zip")
    for name in ("a.tar", "b.zip"):
        with refused("archive-unreadable", file=tmp_path / name):
            read_images(tmp_path / name, list(pictures(1)), size=4)


@pytest.mark.parametrize("size", [0, -1, 4097, 2.5, "64", None])
def test_a_size_that_is_none_is_an_error(tmp_path: Path, size: int) -> None:
    with refused("image-size-out-of-range", most=4096, size=size):
        read_images(tmp_path, ["a.png"], size=size)


@pytest.mark.parametrize("crop", [0.0, -0.5, 1.5, float("nan"), (1.0, 0.0), (1.0, 1.0, 1.0), ()])
def test_a_crop_that_is_no_share_is_an_error(tmp_path: Path, crop: float) -> None:
    with refused("crop-out-of-range", crop=crop):
        read_images(tmp_path, ["a.png"], size=4, crop=crop)


def test_without_pillow_one_sentence_says_what_to_install_and_decoded_pictures_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = as_folder(tmp_path / "p", pictures(3))
    before = read_images(source, ["faces/0000.png"], size=4)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with refused("pillow-not-installed"):
        read_images(source, ["faces/0001.png"], size=4)
    assert (read_images(source, ["faces/0000.png"], size=4).pixels == before.pixels).all()


@pytest.mark.parametrize("named", [True, False])
def test_pooch_is_not_needed(tmp_path: Path, named: bool) -> None:
    source = as_folder(tmp_path / "p", pictures(1))
    code = (
        "import sys; sys.modules['pooch'] = None; from pathlib import Path; "
        "from csad.data.images.read import read_images;"
        f"found = read_images(Path({str(source)!r}), ['faces/0000.png'], size=4); print(found.pixels.filename)"
    )
    place = {"CSAD_CACHE": str(tmp_path / "named")} if named else {}
    run = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(run, env={"HOME": str(tmp_path), **place}, capture_output=True, text=True, check=True)
    wanted = tmp_path / "named" / "images" if named else tmp_path / ".cache" / "csad" / "images"
    assert Path(done.stdout.strip()).parents[1] == wanted


def test_samples_share_the_memory_of_the_pixels_and_rows_copy_only_what_is_chosen(tmp_path: Path) -> None:
    found = read_images(as_folder(tmp_path / "p", pictures(10)), list(pictures(10)), size=4)
    samples = Samples(found.pixels, np.zeros(10), np.zeros(10))
    assert samples.x.data_ptr() == found.pixels.ctypes.data
    assert samples.x.dtype == torch.uint8
    chosen = samples.rows([3, 1])
    assert not np.shares_memory(chosen.x.numpy(), found.pixels)
    assert (chosen.x.numpy() == found.pixels[[3, 1]]).all()


def test_what_is_written_into_the_pixels_never_reaches_the_file(tmp_path: Path) -> None:
    source = as_folder(tmp_path / "p", pictures(2))
    found = read_images(source, list(pictures(2)), size=4)
    before = found.pixels.copy()
    torch.from_numpy(found.pixels).zero_()
    assert not found.pixels.any()
    assert (read_images(source, list(pictures(2)), size=4).pixels == before).all()


def test_parts_are_stretches_of_one_file_and_know_their_own_broken_pictures(tmp_path: Path, cache: Path) -> None:
    files = {f"{n:03}.png": picture(n) for n in range(300)} | {"bad.png": b"", "worse.png": b"?"}
    names = sorted(files)
    parts = {
        "train": [*names[:100], "bad.png"],
        "EB2": names[100:101],
        "none": [],
        "test": ["worse.png", *names[101:300]],
    }
    with warned(ImageWarning, "images-left-out", broken=2, total=302):
        found = read_parts(as_folder(tmp_path / "p", files), parts, size=4)
    assert {part: images.broken for part, images in found.items()} == {
        "train": ("bad.png",), "EB2": (), "none": (), "test": ("worse.png",),
    }  # fmt: skip
    for part, images in found.items():
        kept = [parts[part][i] for i in images.places]
        assert kept == [name for name in parts[part] if name not in images.broken]
        assert len(kept) == len(images.pixels)
        if kept:
            assert (images.pixels == wanted(files, kept, 4)).all()
            samples = Samples(images.pixels, np.zeros(len(kept)), np.zeros(len(kept)))
            assert samples.x.data_ptr() == images.pixels.ctypes.data
    assert len(list((cache / "images").iterdir())) == 1
    assert found["test"].pixels.ctypes.data == found["train"].pixels.ctypes.data + 101 * 3 * 4 * 4


def test_pixels_of_a_stretch_are_as_they_lie_and_those_of_other_places_a_copy(tmp_path: Path) -> None:
    found = read_images(as_folder(tmp_path / "p", pictures(9)), list(pictures(9)), size=4).pixels
    stretch = pixels_at(found, np.array([3, 4, 5]))
    assert stretch.ctypes.data == found[3:].ctypes.data
    assert (stretch == found[3:6]).all()
    for places in ([3, 5], [5, 4, 3], [2, 2], []):
        apart = pixels_at(found, np.array(places, dtype=np.int64))
        assert not np.shares_memory(apart, found)
        assert (apart == np.asarray(found)[places]).all() if places else apart.shape == (0, 3, 4, 4)


@pytest.mark.parametrize(("folder", "archive"), [("celeba", "img_align_celeba.zip"), ("fairface", "images.zip")])
def test_real_pictures_are_decoded_from_the_archive_as_it_is(folder: str, archive: str) -> None:
    source = root_of(folder, folder, archive) / folder / archive
    with zipfile.ZipFile(source) as opened:
        names = opened.namelist()[:200]
        first = Image.open(opened.open(names[7])).convert("RGB")
    found: Images = read_images(source, names, size=16)
    assert found.pixels.shape == (200, 3, 16, 16)
    assert found.pixels.std() > 30
    wanted = np.asarray(first.resize((16, 16), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    assert (found.pixels[7] == wanted).all()
