"""Series of one's own at the command line, in files and in columns: trained on, audited, predicted for, exported."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import csad
from csad.data.own.from_files import from_series
from csad.messages import message
from csad.report.shown_data import shown_data
from csad.runs.run import data_of
from tests.support.commands import typed
from tests.support.csv_tables import read_rows, write_rows
from tests.support.messages import says

N, STEPS = 80, 12
SHORT = [
    "--method", "vanilla", "--set", "train.target_epochs=8", "--set", "train.epochs=1", "--set", "train.batch_size=16",
    "--set", "train.pretrain_rate=0.02", "--set", "net.filters=4", "--set", "net.layers=1", "--device", "cpu",
]  # fmt: skip
ROLES = ["--target", "ill", "--bias", "sex"]


def walk(k: int) -> list[float]:
    """Slow ones are ill; all series of odd rows are a little higher."""
    return [float(np.sin(t * (0.4 if k % 2 else 2.0)) + 3 * (k % 2) + 0.2 * (k // 2 % 2)) for t in range(STEPS)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same series in the files of walks.zip, which walks.csv names, and in columns of wide.csv; a run on each."""
    place = tmp_path_factory.mktemp("series")
    labels = [["yes" if k % 2 else "no", "f" if k // 2 % 2 else "m"] for k in range(N)]
    with zipfile.ZipFile(place / "walks.zip", "w") as archive:
        for k in range(N):
            archive.writestr(f"w/{k}.csv", "height\n" + "\n".join(f"{value:.6f}" for value in walk(k)))
    write_rows(place / "walks.csv", [["file", "ill", "sex"], *([f"w/{k}.csv", *labels[k]] for k in range(N))])
    wide = [[*labels[k], *(f"{value:.6f}" for value in walk(k))] for k in range(N)]
    write_rows(place / "wide.csv", [["ill", "sex", *(f"t{t}" for t in range(STEPS))], *wide])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for words in (
            ["walks.csv", "--series", "file", "--series-in", "walks.zip", "--out", "files"],
            ["wide.csv", "--series-columns", "t", "--out", "columns"],
        ):
            result = typed("train", *words, *ROLES, *SHORT, "--json", "--quiet")
            assert result.exit_code == 0, result.stderr
            told = json.loads(result.stdout)["data"]["inputs"]
            assert told == f"series of {STEPS} steps, 1 channel ({'height' if 'files' in words else 't'})"
    return place


@pytest.fixture
def elsewhere(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_series_in_files_and_in_columns_are_one_training(home: Path) -> None:
    one, two = (csad.load(home / name, device="cpu") for name in ("files", "columns"))
    assert one.config["net"]["backbone"] == "tcn"
    assert one.config["data"]["series_in"] == str(home / "walks.zip")
    assert one.method.task.shape == (1, STEPS)
    assert one.result["metrics"]["test"]["accuracy"] == two.result["metrics"]["test"]["accuracy"] > 0.9
    assert csad.evaluate(one, data_of(one)) == one.result["metrics"]


def test_a_list_of_series_is_predicted_for_from_another_folder(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["file"], ["w/1.csv"], ["w/2.csv"]])
    assert typed("predict", str(home / "files"), "list.csv", "--id", "file", "--quiet").exit_code == 0
    rows = read_rows(elsewhere / "predictions.csv")
    assert [(row["file"], row["prediction"]) for row in rows] == [("w/1.csv", "yes"), ("w/2.csv", "no")]


def test_series_may_lie_in_another_place_and_rows_may_name_none(home: Path, elsewhere: Path) -> None:
    np.save(elsewhere / "new.npy", np.array(walk(1)))
    write_rows(elsewhere / "list.csv", [["file", "x"], ["new.npy", "1"], ["", "2"]])
    result = typed("predict", str(home / "files"), "list.csv", "--series-in", ".", "--json", "--quiet")
    assert json.loads(result.stdout)["notices"] == [message("rows-without-prediction", rows=1, files="series")]
    assert [row["prediction"] for row in read_rows(elsewhere / "predictions.csv")] == ["yes", ""]


def test_series_that_were_moved_are_found_in_the_data_root(home: Path, elsewhere: Path) -> None:
    shutil.copytree(home / "files", elsewhere / "run")
    shutil.copy(home / "walks.zip", elsewhere)
    config = elsewhere / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(home / "walks.zip"), "/gone/walks.zip"))
    write_rows(elsewhere / "list.csv", [["file"], ["w/1.csv"]])
    lost = typed("predict", "run", "list.csv")
    assert says(lost.stderr, "training-file-not-found", file="/gone/walks.zip", name="walks.zip")
    assert typed("predict", "run", "list.csv", "--data-root", ".", "--quiet").exit_code == 0
    assert typed("evaluate", "run", "--data-root", ".", "--quiet").exit_code == 0


def test_raw_columns_are_predicted_for_as_a_file_and_from_python(home: Path, elsewhere: Path) -> None:
    result = typed("predict", str(home / "columns"), str(home / "wide.csv"), "--quiet")
    assert result.exit_code == 0, result.stderr
    said = [row["prediction"] for row in read_rows(elsewhere / "predictions.csv")]
    assert said == ["yes" if k % 2 else "no" for k in range(N)]
    run = csad.load(home / "columns", device="cpu")
    row = {f"t{t}": value for t, value in enumerate(walk(1))}
    assert [run.classes[k] for k in run.predict([row])] == ["yes"]


def test_a_file_that_lacks_a_step_is_one_sentence(home: Path, elsewhere: Path) -> None:
    write_rows(elsewhere / "list.csv", [["t0", "t1"], ["1", "2"]])
    result = typed("predict", str(home / "columns"), "list.csv")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert says(result.stderr, "unknown-column", column="t2", file="list.csv", advice=re.compile("t0, t1"))


@pytest.mark.parametrize("name", ["files", "columns"])
def test_a_run_on_series_is_audited_and_has_a_page_and_a_card(home: Path, elsewhere: Path, name: str) -> None:
    run = shutil.copytree(home / name, elsewhere / "run")
    result = typed("audit", "run", "--json", "--quiet", "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    assert {verdict["layer"] for verdict in json.loads(result.stdout)["leakage"]["verdicts"]} >= {"x", "prediction"}
    made = typed("report", "run", "--card", "card.md", "--show-data", "--device", "cpu", "--quiet")
    assert made.exit_code == 0, made.stderr
    page, card = (run / "report.html").read_text(), (elsewhere / "card.md").read_text()
    assert f"series of {STEPS} steps" in page
    assert f"series of {STEPS} steps" in card
    assert str(home) not in page + card


@pytest.mark.parametrize(("name", "channel"), [("files", "height"), ("columns", "t")])
def test_series_that_are_shown_have_the_names_and_values_of_the_user(home: Path, name: str, channel: str) -> None:
    run = csad.load(home / name, device="cpu")
    shown = shown_data({"it": run}, data := data_of(run), "test", [])
    rows = data.splits["test"].extra["row"]
    for line, curves in zip(shown.rows, shown.series, strict=False):
        assert list(curves) == [channel]
        expected = walk(int(rows[int(line[0]) - 1]))
        np.testing.assert_allclose([value for _, value in curves[channel]], expected, atol=1e-5)


@pytest.mark.skipif(not find_spec("onnxruntime") or not find_spec("onnx"), reason="needs onnxruntime")
@pytest.mark.parametrize(("name", "table"), [("files", "walks.csv"), ("columns", "wide.csv")])
def test_an_exported_run_predicts_the_same(home: Path, elsewhere: Path, name: str, table: str) -> None:
    made = typed("export", str(home / name), "--out", "model.onnx", "--json", "--quiet")
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["input"] == {"shape": [1, STEPS], "dtype": "float32"}
    place = ["--series-in", str(home / "walks.zip")] if name == "files" else []
    for source, out in ((str(home / name), "run.csv"), ("model.onnx", "file.csv")):
        result = typed("predict", source, str(home / table), *place, "--out", out, "--quiet")
        assert result.exit_code == 0, result.stderr
    one, two = (read_rows(elsewhere / out) for out in ("run.csv", "file.csv"))
    assert [row["prediction"] for row in one] == [row["prediction"] for row in two]
    np.testing.assert_allclose(*([float(row["probability yes"]) for row in rows] for rows in (one, two)), atol=1e-5)
    assert str(home).encode() not in (elsewhere / "model.onnx").read_bytes()


def test_an_exported_file_does_not_say_in_which_folder_the_series_lie(home: Path, elsewhere: Path) -> None:
    made = typed("export", str(home / "files"), "--format", "safetensors", "--out", "model.safetensors", "--quiet")
    assert made.exit_code == 0, made.stderr
    held = (elsewhere / "model.safetensors").read_bytes()
    assert (b"walks.zip" in held, str(home).encode() in held) == (True, False)


def test_the_place_of_series_that_were_given_from_python_has_to_be_said(home: Path, elsewhere: Path) -> None:
    place = home / "walks.zip"
    data = from_series(home / "walks.csv", target="ill", bias="sex", series="file", series_in=place)
    csad.train(data, "vanilla", target_epochs=1, epochs=1, filters=4, layers=1, out="run", device="cpu")
    result = typed("predict", "run", str(home / "walks.csv"))
    assert result.exit_code == 2
    assert says(result.stderr, "training-files-not-located", files="series", option="--series-in")
    again = typed("predict", "run", str(home / "walks.csv"), "--series-in", str(place), "--quiet")
    assert again.exit_code == 0, again.stderr
