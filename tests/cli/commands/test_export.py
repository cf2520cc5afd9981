"""csad export as a user types it: one file, told of, or one sentence on why not, and nothing changed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import csad
from csad.deploy import Model, predict_file
from csad.export.formats import load_exported
from csad.messages import message
from tests.support.commands import SHORT, contents, typed
from tests.support.messages import Refusal, says


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export") / "run"
    result = typed("train", "toy-table", *SHORT, "--set", "data.rows=64", "--quiet", "--out", str(place))
    assert result.exit_code == 0, result.stderr
    return place


def test_a_run_is_exported_in_each_format_and_predicts_the_same(trained: Path, tmp_path: Path) -> None:
    run = csad.load(trained, device="cpu")
    x = np.random.default_rng(0).normal(size=(7, 8)).astype(np.float32)
    for format_ in ("onnx", "pt2", "safetensors"):
        out = tmp_path / f"model.{format_}"
        result = typed("export", str(trained), "--format", format_, "--out", str(out), "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert len(result.stdout.splitlines()) == 1
        found = json.loads(result.stdout)
        assert found["bytes"] == out.stat().st_size
        assert found["compared"].pop("difference") <= 1e-4
        assert found == {
            "run": str(trained), "file": str(out), "format": format_, "bytes": found["bytes"], "weights": 2722,
            "finished": True,
            "task": "toy-table", "method": "csad", "classes": ["no", "yes"],
            "input": {"shape": [8], "dtype": "float32"}, "preparation": False,
            "compared": {"rows": 32, "source": "the test split of toy-table", "limit": 1e-4},
        }  # fmt: skip
    assert np.allclose(Model(tmp_path / "model.onnx").predict_proba(x), run.predict_proba(x), atol=1e-5)
    assert np.array_equal(load_exported(tmp_path / "model.safetensors").predict_proba(x), run.predict_proba(x))


def test_people_read_what_was_written_and_how_it_was_checked(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.safetensors"
    result = typed("export", str(trained), "--out", str(out), "--no-data")
    assert result.exit_code == 0
    assert f"Written: {out} (2,722 weights," in result.stdout
    assert "Input: x (rows, 8) as float32." in result.stdout
    assert "on 64 rows of random numbers" in result.stdout
    assert says(result.stderr, "export-compared-on-noise", reason=re.compile("--no-data"))
    assert len(result.stderr.splitlines()) == 1
    quiet = typed("export", str(trained), "--out", str(out), "--no-data", "--force", "--quiet")
    assert (quiet.exit_code, quiet.stderr) == (0, "")


def test_a_run_that_is_not_finished_is_exported_as_it_stands_and_that_is_told(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "result.json").unlink()
    result = typed("export", str(tmp_path / "run"), "--format", "safetensors")
    assert result.exit_code == 0
    assert result.stderr == f"{message('unfinished-run-exported', run=tmp_path / 'run')}\n"
    as_json = typed("export", str(tmp_path / "run"), "--format", "safetensors", "--force", "--json", "--quiet")
    assert (as_json.stderr, json.loads(as_json.stdout)["finished"]) == ("", False)


def test_onnx_in_the_run_folder_is_the_default(trained: Path) -> None:
    result = typed("export", str(trained), "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["file"], told["finished"]) == (str(trained / "model.onnx"), True)
    again = typed("export", str(trained), "--json")
    assert again.exit_code == 2
    assert says(again.stderr, "out-file-exists", file=trained / "model.onnx")
    (trained / "model.onnx").unlink()


def test_a_table_of_ones_own_takes_its_preparation_along(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    age, sex = generator.integers(20, 80, 80), generator.integers(2, size=80)
    rows = [f"{a},{'fm'[s]},{'yes' if a > 50 else 'no'}" for a, s in zip(age, sex, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    told = ["--set", "data.target=ill", "--set", "data.bias=sex", "--quiet", "--out", str(tmp_path / "run")]
    assert typed("train", str(tmp_path / "people.csv"), *SHORT, *told).exit_code == 0
    result = typed("export", str(tmp_path / "run"), "--out", str(tmp_path / "model.onnx"), "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["preparation"] is True
    raw = {"age": age.tolist()}
    expected = csad.load(tmp_path / "run", device="cpu").predict_proba(raw)
    found = predict_file(tmp_path / "model.onnx", tmp_path / "people.csv")
    assert np.allclose(found.scores, expected, atol=1e-5)
    assert str(tmp_path).encode() not in (tmp_path / "model.onnx").read_bytes()


BAD = [
    (["--format", "onxn"], Refusal("misspelled-name", kind="format", name="onxn", nearest="onnx")),
    (["--out", "model.pt2", "--format", "onnx"], Refusal("export-format-mismatch", ending="pt2", format="onnx")),
    (["--out", "model.foo"], Refusal("unknown-export-ending", ending="foo", known="onnx, .pt2, .safetensors")),
    (["--out", "model.foo", "--format", "onnx"], Refusal("unknown-export-ending", ending="foo")),
    (["--out", "nowhere/model.onnx"], Refusal("export-folder-missing", folder="nowhere")),
    (["--out", "."], Refusal("export-path-is-folder", path=".")),
    (["--pixels", "uint8"], Refusal("pixels-without-pictures")),
    (["--pixels", "int7"], Refusal("misspelled-name", kind="kind of pixels", name="int7")),
]


@pytest.mark.parametrize(
    ("words", "expected"), BAD, ids=lambda value: "-".join(value)[:30] if isinstance(value, list) else ""
)
def test_bad_input_gives_one_sentence_and_changes_nothing(
    words: list[str], expected: Refusal, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained.parent)
    before = contents(trained.parent)
    result = typed("export", "run", *words)
    assert result.exit_code == 2, repr(result.exception)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert expected.is_in(result.stderr), result.stderr
    assert contents(trained.parent) == before


def test_a_folder_that_is_no_run_is_bad_input(tmp_path: Path) -> None:
    result = typed("export", str(tmp_path), "--json")
    assert result.exit_code == 2
    assert says(json.loads(result.stdout)["error"], "run-config-missing", folder=tmp_path)


def test_without_the_extra_the_sentence_says_what_to_install(trained: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['onnxscript'] = sys.modules['onnxruntime'] = None\n"  # as if they were not installed
        "from csad.cli import main\n"
        f"sys.argv = ['csad', 'export', {str(trained)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"csad: {message('onnx-packages-missing', packages='onnxscript and onnxruntime')}\n"
    assert not (trained / "model.onnx").exists()
