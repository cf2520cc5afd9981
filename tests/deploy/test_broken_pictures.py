"""Pictures that are broken leave the rows after them where they are, for a run and for its ONNX file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

import csad
from csad import deploy
from csad.data.images import read_images
from csad.experiments import predicting
from csad.experiments.exports.exporting import export_run

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
    for found in (predicting.predict_file(run, tmp_path / "new.csv"), deploy.predict_file(path, tmp_path / "new.csv")):
        assert np.flatnonzero(np.isnan(found.scores).any(1)).tolist() == [UNNAMED, BROKEN]
        np.testing.assert_allclose(found.scores[good], wanted, atol=1e-5)
        assert found.notices == (
            f"One picture is broken and left out: {BROKEN}.png.",
            "2 rows have no picture, so nothing is predicted there.",
        )
    assert np.median(np.abs(np.diff(wanted[:, 0]))) > 0.5  # a row is not predicted as its neighbour is
