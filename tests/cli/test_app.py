"""The command line as a user types it: answers on stdout, progress on stderr, and what is loaded when."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer

import csad
from csad.cli.console import one_sentence
from csad.messages import message
from csad.registry import BACKBONES, BOUNDS, DATASETS, METHODS
from csad.reproduction.spec import tables
from tests.support.commands import SHORT, python, typed
from tests.support.messages import Refusal


def answer(*words: str) -> dict[str, Any]:
    result = typed(*words)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 1
    found: dict[str, Any] = json.loads(lines[0])
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    place = tmp_path_factory.mktemp("cli") / "run"
    return place, typed("train", "toy-table", *SHORT, "--json", "--quiet", "--out", str(place))


def test_the_version_is_told() -> None:
    result = typed("--version")
    assert (result.exit_code, result.stdout) == (0, f"csad {csad.__version__}\n")


def test_a_terminal_that_lacks_a_letter_is_shown_all_others() -> None:
    done = python("-m", "csad", "train", "--help", env=os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "70"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "Train a method" in done.stdout


def test_methods_are_listed_as_one_json_object() -> None:
    found = answer("list", "methods", "--json")
    assert [entry["name"] for entry in found["methods"]] == METHODS.names()
    settings = {entry["name"]: entry["settings"] for entry in found["methods"]}
    assert settings["csad"]["debias_weight"] == 1.0
    assert settings["csad"]["scale"] == 1.0
    assert settings["ad-jsd"]["bound"] == "jsd"
    assert settings["vanilla"] == {}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("methods", METHODS.names),
        ("datasets", DATASETS.names),
        ("backbones", BACKBONES.names),
        ("bounds", BOUNDS.names),
        ("tables", tables),
        ("settings", lambda: ["train.*", "net.*", "data.*"]),
    ],
)
def test_every_kind_is_listed_for_people_and_for_programs(kind: str, names: Any) -> None:
    found = answer("list", kind, "--json")
    assert list(found) == [kind]
    assert set(names()) <= {entry["name"] for entry in found[kind]}
    shown = typed("list", kind)
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in names())


def test_everything_is_listed_unless_a_kind_is_named() -> None:
    assert list(answer("list", "--json")) == ["methods", "datasets", "backbones", "bounds", "tables", "settings"]


def test_the_settings_listed_for_a_dataset_are_those_it_takes() -> None:
    found = {entry["name"]: entry["settings"] for entry in answer("list", "datasets", "--json")["datasets"]}
    about = {"color_variance": 0.02, "coloring": "biased", "validation": 5000, "test": True, "seed": 0}
    assert found["colored-mnist"] == about


def test_a_table_is_listed_with_its_rows_and_columns() -> None:
    found = {entry["name"]: entry for entry in answer("list", "tables", "--json")["tables"]}
    assert found["digits"]["settings"] == {"rows": "vanilla,csad,oracle,grey", "columns": "0.020,0.050"}
    assert found["colored-mnist"]["about"].startswith("Colored MNIST (Table 1)")


def test_the_presets_of_tasks_are_listed_among_the_settings() -> None:
    found = {entry["name"]: entry["settings"] for entry in answer("list", "settings", "--json")["settings"]}
    assert found["--preset"] == {
        "adult": "two-layer,trade-off",
        "celeba": "paper",
        "colored-mnist": "authors",
        "mpower-simulated": "young-ill",
    }


def test_the_doctor_finds_this_machine_sound(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    found = answer("doctor", "--json", "--data-root", str(tmp_path))
    states = {finding["what"]: finding["state"] for finding in found["findings"]}
    assert found["sound"] is True
    assert (states["torch"], states["training"], states["data"]) == ("ok", "ok", "ok")
    assert "mnist" in found["findings"][-1]["finding"]


def test_the_doctor_says_what_is_broken(tmp_path: Path) -> None:
    result = typed("doctor", "--json", "--data-root", str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["sound"] is False
    assert [f["what"] for f in found["findings"] if f["state"] == "broken"] == ["data"]


def test_training_answers_with_the_result_and_the_run(trained: tuple[Path, Any]) -> None:
    place, result = trained
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    found = json.loads(result.stdout)
    assert found.pop("run") == str(place)
    assert found == json.loads((place / "result.json").read_text())
    assert list(found["metrics"]) == ["train", "validation", "test"]


def test_a_quiet_training_says_nothing_but_its_answer(trained: tuple[Path, Any]) -> None:
    lines = trained[1].stderr.splitlines()
    assert [line for line in lines if "warning:" not in line] == []


def test_evaluating_a_run_gives_the_figures_of_its_training(trained: tuple[Path, Any]) -> None:
    place, result = trained
    found = answer("evaluate", str(place), "--json")
    assert found["metrics"] == json.loads(result.stdout)["metrics"]
    assert (found["task"], found["method"], found["seed"], found["run"]) == ("toy-table", "csad", 0, str(place))


def test_people_get_a_table(trained: tuple[Path, Any]) -> None:
    place, result = trained
    shown = typed("evaluate", str(place)).stdout
    assert "csad on toy-table, seed 0" in shown
    assert f"{json.loads(result.stdout)['metrics']['test']['accuracy']:.4f}" in shown
    assert f"Run: {place}" in shown


def test_a_warning_is_one_line_without_a_place_in_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert typed("list", "bounds").exit_code == 0
        warnings.warn("Three images are broken.", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "csad: warning: Three images are broken.\n"


def test_progress_goes_to_stderr_only(tmp_path: Path) -> None:
    words = ["train", "toy-table", "--method", "vanilla", *SHORT, "--json", "--out", str(tmp_path / "run")]
    result = typed(*words)
    assert result.exit_code == 0
    assert "toy-table vanilla seed 0 continued" in result.stderr
    assert "continued" not in result.stdout
    assert json.loads(result.stdout)["method"] == "vanilla"


def test_a_finished_run_that_goes_on_answers_the_same(trained: tuple[Path, Any]) -> None:
    place, result = trained
    again = typed("train", "toy-table", *SHORT, "--json", "--quiet", "--out", str(place), "--resume")
    assert json.loads(again.stdout) == json.loads(result.stdout)


def test_a_run_has_a_place_of_its_own_if_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = answer("train", "toy-table", "--method", "vanilla", "--seed", "7", *SHORT, "--json", "--quiet")
    assert found["run"] == "runs/toy-table-vanilla-7"
    assert found["seed"] == 7
    assert (tmp_path / "runs" / "toy-table-vanilla-7" / "result.json").exists()


def test_backbone_and_settings_reach_the_run(tmp_path: Path) -> None:
    words = ["--set", "hidden=5,4", "--set", "data.rows=32", "--backbone", "mlp", "--out", str(tmp_path / "run")]
    found = answer("train", "toy-image", "--method", "vanilla", *SHORT, *words, "--json", "--quiet")
    assert found["settings"]["net"]["backbone"] == "mlp"
    assert found["settings"]["net"]["hidden"] == [5, 4]
    assert found["settings"]["data"]["rows"] == 32


def test_a_failure_is_one_json_object_too(tmp_path: Path) -> None:
    result = typed("evaluate", str(tmp_path), "--json")
    assert result.exit_code == 2
    found = json.loads(result.stdout)
    assert found["exit"] == 2
    assert result.stderr == f"csad: {found['error']}\n"


def test_a_backbone_beside_the_user_is_found_in_training_and_in_evaluating(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(
        "from torch import nn\n\nclass Net(nn.Linear):\n    def __init__(self):\n        super().__init__(8, 4)\n"
    )
    # As the installed command does, without the present folder on the path.
    command = [sys.executable, "-P", "-c", "import csad.cli; csad.cli.main()"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120}
    words = ["train", "toy-table", "--method", "vanilla", *SHORT, "--backbone", "beside:Net", "--out", "run", "--json"]
    trained = subprocess.run([*command, *words], **options)
    again = ["evaluate", "run", "--json", "--backbone", "beside:Net"]
    evaluated = subprocess.run([*command, *again], **options)
    assert (trained.returncode, evaluated.returncode) == (0, 0), trained.stderr + evaluated.stderr
    assert json.loads(evaluated.stdout)["metrics"] == json.loads(trained.stdout)["metrics"]


def test_the_exit_code_reaches_the_shell(tmp_path: Path) -> None:
    result = python("-m", "csad", "evaluate", str(tmp_path))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("csad: ")
    assert len(result.stderr.splitlines()) == 1


def test_help_does_not_load_torch() -> None:
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('LOADED', *sorted({name.split('.')[0] for name in sys.modules})))\n"
        "from csad.cli import main\n"
        "sys.argv = ['csad', '--help']\n"
        "main()\n"
    )
    result = python("-c", code)
    loaded = result.stdout.splitlines()[-1].split()
    assert result.returncode == 0
    assert "train" in result.stdout
    assert loaded[0] == "LOADED"
    assert "csad" in loaded
    assert not {"torch", "numpy", "sklearn", "pooch"} & set(loaded)


def test_importing_csad_loads_nothing_it_may_not_need() -> None:
    code = "import csad, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(python("-c", code).stdout.split())
    assert "csad" in loaded
    assert not {"torch", "numpy", "sklearn", "matplotlib", "rich", "pooch", "typer"} & loaded


def test_the_public_names_are_there_and_load_neither_pooch_nor_rich() -> None:
    code = (
        "import csad, sys\n"
        "[getattr(csad, name) for name in csad.__all__ if name != 'DebiasedClassifier']\n"  # that one is scikit-learn's
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    result = python("-c", code)
    loaded = set(result.stdout.split())
    assert result.returncode == 0, result.stderr
    assert "torch" in loaded
    assert not {"sklearn", "matplotlib", "rich", "pooch", "typer"} & loaded


def test_the_terminal_says_which_epoch_was_taken(tmp_path: Path) -> None:
    place = tmp_path / "run"
    shown = typed("train", "toy-table", *SHORT, "--set", "train.select_by=unbiased", "--quiet", "--out", str(place))
    told = json.loads((place / "result.json").read_text())["selection"]
    assert told == "epoch 1 of 1, with the highest unbiased on the validation split"
    assert f"weights: {told}" in shown.stdout


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (
            OSError(errno.EROFS, "Read-only file system", "x"),
            2,
            Refusal("output-not-permitted", place="x", reason="Read-only file system"),
        ),
        (
            OSError(errno.EACCES, "Permission denied", "x"),
            2,
            Refusal("output-not-permitted", place="x", reason="Permission denied"),
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "x"),
            1,
            Refusal("disk-failed", place="x", reason="No space left on device"),
        ),
        (MemoryError(), 2, Refusal("memory-too-small")),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"), 2, Refusal("memory-too-small")),
        (RuntimeError("CUDA out of memory. Tried to allocate 9 GiB"), 2, Refusal("memory-too-small")),
    ],
)
def test_what_the_machine_refuses_is_one_sentence(
    error: Exception, code: int, expected: Refusal, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        one_sentence(failing)()
    assert ended.value.exit_code == code
    stderr = capsys.readouterr().err
    assert stderr == f"csad: {message(expected.code, **expected.facts)}\n"


def test_an_error_of_ours_is_not_taken_for_want_of_memory() -> None:
    def failing() -> None:
        raise RuntimeError("a slip")

    with pytest.raises(RuntimeError, match="a slip"):
        one_sentence(failing)()
