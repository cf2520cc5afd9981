"""Pictures that are broken leave the rows after them where they are, for a run and for its ONNX file."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

import csad
from csad import deploy
from csad.data.images.read import read_images
from csad.export.export import export_run
from csad.messages import message
from csad.runs.predict import predict_file
from tests.support.messages import refused

N, UNNAMED, BROKEN = 110, 2, 5  # rows, and two without a picture: one in a hundred may be broken, no more


def png(k: int) -> bytes:
    """A picture unlike all others."""
    stream = io.BytesIO()
    pixels = np.random.default_rng(k).integers(0, 60, size=(9, 9, 3)) + 180 * (k % 2)
    Image.fromarray(pixels.astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def test_each_row_has_the_prediction_of_its_own_picture(tmp_path: Path, cache: Path) -> None:
    for k in range(N):
        (tmp_path / f"{k}.png").write_bytes(png(k))
    lines = [f"{k}.png,{('dark', 'light')[k % 2]},{k // 2 % 2}" for k in range(N)]
    (tmp_path / "faces.csv").write_text("\n".join(["file,y,b", *lines]))
    roles = {"data.target": "y", "data.bias": "b", "data.image": "file", "data.size": 8}
    settings = {"train.target_epochs": 2, "train.epochs": 0, **roles}
    run = csad.train(tmp_path / "faces.csv", "vanilla", settings=settings, device="cpu")
    path = export_run(run, tmp_path / "model.onnx").path

    good = [k for k in range(N) if k not in (UNNAMED, BROKEN)]
    wanted = run.predict_proba(read_images(tmp_path, [f"{k}.png" for k in good], size=8).pixels)
    (tmp_path / f"{BROKEN}.png").write_bytes(png(BROKEN)[:100])
    names = ["" if k == UNNAMED else f"{k}.png" for k in range(N)]
    (tmp_path / "new.csv").write_text("\n".join(["file,other", *(f"{name},a" for name in names)]))
    for found in (predict_file(run, tmp_path / "new.csv"), deploy.predict_file(path, tmp_path / "new.csv")):
        assert np.flatnonzero(np.isnan(found.scores).any(1)).tolist() == [UNNAMED, BROKEN]
        np.testing.assert_allclose(found.scores[good], wanted, atol=1e-5)
        assert found.notices == (
            message("broken-files-left-out", files="One picture is", names=f"{BROKEN}.png", reason=""),
            message("rows-without-prediction", rows=2, files="picture"),
        )
    for k in (0, 1):
        (tmp_path / f"{k}.png").write_bytes(b"no picture")
    # half of them, where one in a hundred is too many to learn
    (tmp_path / "few.csv").write_text("file\n0.png\n3.png\n")
    (tmp_path / "none.csv").write_text("file\n0.png\n1.png\n")
    for predict in (partial(predict_file, run), partial(deploy.predict_file, path)):
        found = predict(tmp_path / "few.csv")
        assert found.notices == (
            message("broken-files-left-out", files="One picture is", names="0.png", reason=""),
            message("rows-without-prediction", rows=1, files="picture"),
        )
        np.testing.assert_allclose(found.scores[1], wanted[good.index(3)], atol=1e-5)
        with refused("no-image-readable", broken=2, total=2, names="0.png, 1.png"):
            predict(tmp_path / "none.csv")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "new.csv").write_text("file\n3.png\n")
    with refused("files-may-be-elsewhere", option="--images") as error:
        deploy.predict_file(path, tmp_path / "away" / "new.csv")
    assert "1 of 1 listed images is missing" in error.value.facts["problem"]
    with refused("files-missing", missing=1, total=1, files="images"):
        deploy.predict_file(path, tmp_path / "away" / "new.csv", images=tmp_path / "away")
    assert len(deploy.predict_file(path, tmp_path / "away" / "new.csv", images=tmp_path).ids) == 1
    assert np.median(np.abs(np.diff(wanted[:, 0]))) > 0.5  # a row is not predicted as its neighbour is
