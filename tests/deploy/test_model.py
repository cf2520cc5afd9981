"""An exported ONNX file in use, where torch need not be."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

import csad
from csad.data import chunks
from csad.data.images.read import read_images
from csad.deploy import Model, predict_file
from csad.deploy.predictions import check_free, write_predictions
from csad.export.export import export_run
from csad.messages import message
from tests.support.messages import Refusal, noticed, refused

SHORT = {"train.target_epochs": 2, "train.epochs": 0}
N = 90


def people(rows: int = N) -> dict[str, list[Any]]:
    """Columns of a table: numbers, words, some missing."""
    generator = np.random.default_rng(1)
    age, sex = generator.integers(20, 80, rows), generator.integers(2, size=rows)
    return {
        "age": ["" if k % 17 == 3 else str(value) for k, value in enumerate(age.tolist())],
        "city": [("Ulm", "Bonn", "Kiel")[k % 3] for k in range(rows)],
        "sex": [("f", "m")[k] for k in sex.tolist()],
        "ill": [("no", "yes")[int(a > 50)] for a in age.tolist()],
        "cost": [f"{1000 + 10 * a}" for a in age.tolist()],
    }


def write_csv(path: Path, columns: dict[str, list[Any]]) -> Path:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


class Exported:
    """A run on a table of one's own and the ONNX file of it."""

    def __init__(self, place: Path, target: str, drop: str) -> None:
        self.table = write_csv(place / "people.csv", people())
        self.dataset = csad.from_table(self.table, target=target, bias="sex", drop=drop)
        self.run = csad.train(self.dataset, "vanilla", settings=SHORT, device="cpu")
        self.path = export_run(self.run, place / "model.onnx", dataset=self.dataset).path
        self.x = self.dataset.splits["test"].x.numpy()


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(tmp_path_factory.mktemp("classes"), "ill", "cost")


@pytest.fixture(scope="module")
def number(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(tmp_path_factory.mktemp("number"), "cost", "ill")


def test_it_predicts_as_the_run_does(classes: Exported) -> None:
    model = Model(classes.path)
    assert model.classes == classes.run.classes == ("no", "yes")
    assert np.allclose(model.predict_proba(classes.x), classes.run.predict_proba(classes.x), atol=1e-5)
    assert np.array_equal(model.predict(classes.x), classes.run.predict(classes.x))
    assert model.predict(classes.x[:0]).shape == (0,)
    assert model.predict_proba(classes.x[:0]).shape == (0, 2)


class Noting:
    """A session that notes how many rows it is given at a time."""

    def __init__(self, session: Any) -> None:
        self.session, self.seen = session, []

    def run(self, names: Any, given: dict[str, Any]) -> Any:
        self.seen.append(len(given["x"]))
        return self.session.run(names, given)


def test_many_rows_are_predicted_in_parts(classes: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(classes.path)
    monkeypatch.setattr(chunks, "MOST_ROWS", 300)
    monkeypatch.setattr(model, "_session", noting := Noting(model._session))
    many = np.tile(classes.x, (2500 // len(classes.x) + 1, 1))
    assert np.array_equal(model.predict(many)[: len(classes.x)], model.predict(classes.x))
    assert np.allclose(
        model.scores(many), np.tile(model.scores(classes.x), (len(many) // len(classes.x), 1)), atol=1e-5
    )
    assert max(noting.seen) == 300


def test_a_table_goes_through_the_preparation_that_the_file_carries(classes: Exported, tmp_path: Path) -> None:
    columns = people(12)
    columns["city"][5] = "Rom"
    shuffled = dict(reversed([(name, column) for name, column in columns.items() if name not in ("ill", "cost")]))
    found = predict_file(classes.path, write_csv(tmp_path / "new.csv", shuffled))
    expected = classes.run.predict_proba(columns)
    assert np.allclose(found.scores, expected, atol=1e-5)
    assert found.names() == [("no", "yes")[k] for k in expected.argmax(1)]
    assert (found.id_name, list(found.ids)) == ("row", [str(k) for k in range(1, 13)])
    assert "'Rom'" in found.notices[0]
    assert noticed(found.notices[1:2], "input-column-missing-values", column="age", rows=1)
    raw = Model(classes.path).predict_proba(columns)
    assert np.allclose(raw, expected, atol=1e-5)


def test_rows_of_a_table_are_known_by_a_column_and_written_as_csv(classes: Exported, tmp_path: Path) -> None:
    columns = {"who": ["007", "x"], "age": ["30", "70"], "city": ["Ulm", "Kiel"]}
    found = predict_file(classes.path, write_csv(tmp_path / "new.csv", columns), id_column="who")
    check_free(tmp_path / "out.csv", tmp_path / "new.csv", force=False)
    write_predictions(tmp_path / "out.csv", found)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "who,prediction,probability no,probability yes"
    id_, name, no, yes = lines[1].split(",")
    assert (id_, name) == ("007", found.names()[0])
    assert float(no) + float(yes) == pytest.approx(1)
    assert sum(found.counts().values()) == 2
    for out, says in (
        ("out.csv", Refusal("out-file-exists")),
        ("new.csv", Refusal("out-is-input")),
        ("o.txt", Refusal("predictions-not-csv")),
    ):
        with refused(says):
            check_free(tmp_path / out, tmp_path / "new.csv", force=False)
    with refused("id-column-name-taken", column="prediction"):
        predict_file(classes.path, tmp_path / "new.csv", id_column="prediction")
    with refused("file-place-not-needed"):
        predict_file(classes.path, tmp_path / "new.csv", images=tmp_path)


def test_a_number_comes_back_in_the_unit_of_the_table(number: Exported) -> None:
    model = Model(number.path)
    found = predict_file(model, number.table)
    raw = {name: column for name, column in people().items() if name != "cost"}
    assert np.allclose(found.scores[:, 0], number.run.predict(raw), rtol=1e-4)
    assert 1000 < found.scores.min() < found.scores.max() < 2000
    assert np.allclose(model.predict(raw), found.scores[:, 0], rtol=1e-6)
    assert np.allclose(model.predict(number.x), number.run.predict(number.x), atol=1e-5)
    assert found.classes == model.classes == ()
    with refused("model-without-probabilities"):
        model.predict_proba(number.x)


def test_arrays_are_predicted_from_npy_and_npz(classes: Exported, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", classes.x)
    np.savez(tmp_path / "x.npz", x=classes.x, who=np.arange(len(classes.x)) + 100, few=[1, 2], empty=classes.x[:0])
    names = [("no", "yes")[k] for k in classes.run.predict(classes.x)]
    assert predict_file(classes.path, tmp_path / "x.npy").names() == names
    found = predict_file(classes.path, tmp_path / "x.npz", id_column="who")
    assert (found.names(), found.ids[0]) == (names, "100")
    with refused("id-count-mismatch", column="few", count=2):
        predict_file(classes.path, tmp_path / "x.npz", id_column="few")
    np.save(tmp_path / "none.npy", classes.x[:0])
    with refused("file-without-rows"):
        predict_file(classes.path, tmp_path / "none.npy")


def test_pictures_that_a_table_names_are_predicted(tmp_path: Path, cache: Path) -> None:
    generator = np.random.default_rng(0)
    for k in range(40):
        pixels = generator.integers(0, 60, size=(9, 9, 3)) + (180 if k % 2 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{k}.png")
    columns = {"file": [f"{k}.png" for k in range(40)], "y": [("dark", "light")[k % 2] for k in range(40)]}
    table = write_csv(tmp_path / "faces.csv", columns | {"b": [str(k // 2 % 2) for k in range(40)]})
    settings = SHORT | {"data.target": "y", "data.bias": "b", "data.image": "file", "data.size": 8}
    run = csad.train(table, "vanilla", settings=settings, device="cpu")
    path = export_run(run, tmp_path / "model.onnx").path
    names = ["3.png", "", "0.png"]
    found = predict_file(path, write_csv(tmp_path / "new.csv", {"file": names, "other": ["a", "b", "c"]}))
    assert np.isnan(found.scores).all(1).tolist() == [False, True, False]
    assert found.notices == (message("rows-without-prediction", rows=1, files="picture"),)
    rows = read_images(tmp_path, ["3.png", "0.png"], size=8).pixels
    assert np.allclose(found.scores[[0, 2]], run.predict_proba(rows), atol=1e-5)
    assert [bool(name) for name in found.names()] == [True, False, True]
    elsewhere = write_csv(tmp_path.parent / f"{tmp_path.name}.csv", {"file": names, "other": ["a", "b", "c"]})
    assert predict_file(path, elsewhere, images=tmp_path).names() == found.names()
    nothing = write_csv(tmp_path / "nothing.csv", {"file": ["", ""], "other": ["a", "b"]})
    with refused("no-files-named", column="file", files="picture"):
        predict_file(path, nothing)


def test_neither_torch_nor_what_training_needs_is_loaded(classes: Exported) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'sklearn', 'scipy', 'safetensors', 'typer', 'rich', 'pooch', 'filelock', 'onnx'):\n"
        "    sys.modules[name] = None\n"  # to import it is now an error
        "import json\n"
        "from csad.deploy import Model, predict_file\n"
        "found = predict_file(*sys.argv[1:])\n"
        "assert sys.modules['torch'] is None\n"
        "print(json.dumps(found.names()))\n"
    )
    words = [sys.executable, "-c", code, str(classes.path), str(classes.table)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == predict_file(classes.path, classes.table).names()
    plain = "import sys; from csad.deploy import Model; Model(sys.argv[1]); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", plain, words[3]], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.zeros((3, 2)), Refusal("x-row-shape-mismatch")),
        (np.zeros(3), Refusal("x-row-shape-mismatch")),
        (3.0, Refusal("x-row-shape-mismatch")),
        ([[1, 2], [3]], Refusal("ragged-x")),
        ([["a", "b"]], Refusal("x-not-numeric")),
        ({"age": [30]}, Refusal("unknown-column", column="city", file="the given rows")),
    ],
)
def test_x_that_does_not_fit_is_an_input_error(classes: Exported, x: Any, says: Refusal) -> None:
    with refused(says):
        Model(classes.path).predict(x)


def test_x_that_is_not_a_number_is_not_predicted(classes: Exported) -> None:
    x = classes.x.copy()
    x[1, 0] = np.nan
    with refused("input-not-finite"):
        Model(classes.path).predict(x)


def number_in_npz() -> bytes:
    """A file whose x is a lone number."""
    stream = io.BytesIO()
    np.savez(stream, x=3.0)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no.csv", None, Refusal("file-unreadable")),
        ("new.png", b"x", Refusal("prediction-input-unknown")),
        ("new.npy", b"x", Refusal("invalid-npy-file")),
        ("none.npy", None, Refusal("file-unreadable")),
        ("one.npz", number_in_npz(), Refusal("x-row-shape-mismatch")),
        ("new.npz", b"x", Refusal("invalid-npz-file", problem="is not an .npz file")),
        ("new.csv", b"age,town\n30,Ulm\n", Refusal("unknown-column", column="city")),
    ],
)
def test_a_file_that_cannot_be_read_is_an_input_error(
    classes: Exported, tmp_path: Path, name: str, content: bytes | None, says: Refusal
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with refused(says):
        predict_file(classes.path, tmp_path / name)


def test_pixels_on_another_scale_and_tables_for_a_model_of_arrays_are_input_errors(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(256, size=(40, 3, 6, 6), dtype=np.uint8)
    dataset = csad.from_arrays(x, np.arange(40) % 2, np.arange(40) // 2 % 2)
    run = csad.train(dataset, "vanilla", settings=SHORT | {"net.backbone": "small-conv"}, device="cpu")
    pixels, floats = (
        Model(export_run(run, tmp_path / f"{kind}.onnx", dataset=dataset, pixels=kind).path)
        for kind in ("uint8", "float32")
    )
    assert np.allclose(pixels.scores(x), floats.scores(x.astype(np.float32) / 127.5 - 1), atol=1e-5)
    with refused("pixel-type-mismatch", expected="bytes of 0 … 255 (uint8)", dtype="float64"):
        pixels.predict(x / 127.5 - 1)
    with refused("pixel-type-mismatch", expected="floats, as in training", dtype="uint8"):
        floats.predict(x)
    with refused("model-takes-no-table", shape="3, 6, 6"):
        predict_file(pixels, write_csv(tmp_path / "new.csv", people(3)))


def test_what_is_no_export_of_csad_is_an_input_error(tmp_path: Path) -> None:
    with refused("onnx-file-missing"):
        Model(tmp_path / "model.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with refused("onnx-file-unreadable"):
        Model(tmp_path / "broken.onnx")
    put = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "other", put[:1], put[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "o.onnx")
    with refused("not-a-csad-export"):
        Model(tmp_path / "o.onnx")


def test_without_onnxruntime_the_error_says_what_to_install(classes: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with refused("onnxruntime-not-installed"):
        Model(classes.path)
