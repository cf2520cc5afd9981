"""csad predict with an exported ONNX file in the place of the run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import csad
from csad.export.export import export_run

SHORT = {"train.target_epochs": 1, "train.epochs": 0}


def test_an_onnx_file_predicts_as_its_run_does_and_loads_no_torch(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = [f"{a},{'fm'[s]},{'yes' if a > 50 else 'no'}" for a, s in generator.integers(2, 80, (80, 2)) % (80, 2)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    settings = SHORT | {"data.target": "ill", "data.bias": "sex"}
    run = csad.train(tmp_path / "people.csv", "vanilla", settings=settings, out=tmp_path / "run", device="cpu")
    export_run(run, tmp_path / "model.onnx")
    code = (
        "import sys\n"
        "from csad.cli import main\n"
        "sys.modules['torch'] = None\n"
        "sys.argv = ['csad', 'predict', *sys.argv[1:]]\n"
        "main()\n"
    )
    words = ["model.onnx", "people.csv", "--out", "file.csv", "--quiet"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    words = ["run", "people.csv", "--out", "run.csv", "--quiet"]
    assert subprocess.run([sys.executable, "-m", "csad", "predict", *words], cwd=tmp_path).returncode == 0
    by_file, by_run = ((tmp_path / name).read_text().splitlines() for name in ("file.csv", "run.csv"))
    assert [line.split(",")[:2] for line in by_file] == [line.split(",")[:2] for line in by_run]
    assert len(by_file) == 81
