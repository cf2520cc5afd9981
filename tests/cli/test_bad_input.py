"""Whatever a user gets wrong: exit code 2, one sentence on stderr that helps, and nothing written or overwritten."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pooch
import pytest
from commands import SHORT, contents, typed
from typer.testing import CliRunner

from csad.cli import app

TRAIN = ["train", "toy-table", *SHORT, "--out", "new"]
Change = Callable[[Path], Any]


class Case(NamedTuple):
    """What is typed in a folder that holds a finished run, what was done to the folder before, what must be said."""

    name: str
    words: list[str]
    says: str
    before: Change = lambda folder: None


def npz(**changes: Any) -> Change:
    n = 60
    x = np.random.default_rng(0).normal(size=(n, 3))
    arrays = {"x": x, "y": np.arange(n) % 2, "b": np.arange(n) // 2 % 2} | changes
    return lambda folder: np.savez(folder / "own.npz", **arrays)


def with_nan() -> Any:
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[7, 1] = np.nan
    return x


def write(name: str, text: str | bytes) -> Change:
    def do(folder: Path) -> None:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())

    return do


def edit(name: str, old: str, new: str) -> Change:
    def do(folder: Path) -> None:
        text = (folder / name).read_text()
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new))

    return do


def cut(name: str, size: int) -> Change:
    def do(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:size])

    return do


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def unfinished(folder: Path) -> None:
    (folder / "run" / "result.json").unlink()


def unkept(folder: Path) -> None:
    (folder / STATE).unlink()


OWN = ["train", "own.npz", *SHORT, "--out", "new"]
RESUME = ["train", "toy-table", *SHORT, "--out", "run", "--resume"]
EVALUATE = ["evaluate", "run"]
STATE = "run/checkpoint/state.safetensors"
CONFIG = "run/config.toml"
IMAGES = "data/mnist/train-images-idx3-ubyte"
TABLE = ["reproduce", "digits", "--out", "new"]
MNIST = ["train", "colored-mnist", "--data-root", "data", "--out", "new"]
DAMAGED = "cannot be read as a checkpoint of this run"

CASES = [
    Case("an unknown task", ["train", "toy-tabel"], "No dataset is called 'toy-tabel'. Nearest: toy-table."),
    Case("an unknown method", [*TRAIN, "--method", "csda"], "No method is called 'csda'. Nearest: csad."),
    Case("a name of the paper's", [*TRAIN, "--set", "lambda=2"], "'lambda' is called debias_weight here"),
    Case("an unknown form of I_CS", [*TRAIN, "--set", "pairs=all"], "No form of I_CS is called 'all'"),
    Case("a rate that would turn round", [*TRAIN, "--set", "train.decay=-1"], "train.decay must lie above 0"),
    Case("a decay every −1 epochs", [*TRAIN, "--set", "train.decay_every=-1"], "train.decay_every must not be"),
    Case("an unknown setting", [*TRAIN, "--set", "debias_wieght=2"], "Nearest: debias_weight."),
    Case("a setting of another method", [*TRAIN, "--method", "vanilla", "--set", "debias_weight=2"], "other methods"),
    Case("an unknown section", [*TRAIN, "--set", "trian.epochs=2"], "Nearest: train."),
    Case("a setting of the wrong type", [*TRAIN, "--set", "batch_size=many"], "a whole number, not 'many'"),
    Case("several wrong settings", [*TRAIN, "--set", "rate=fast", "--set", "x=1"], "'fast'. No setting is called 'x'."),
    Case("a setting without '='", [*TRAIN, "--set", "batch_size"], "must read name=value, not 'batch_size'"),
    Case("a setting twice", [*TRAIN, "--set", "rate=1", "--set", "rate=2"], "'rate' is given twice"),
    Case("a setting twice in two spellings", [*TRAIN, "--set", "rate=1", "--set", "train.rate=2"], "is given twice"),
    Case("a setting over two lines", [*TRAIN, "--set", "a\nb=1"], "No setting is called 'a b'."),
    Case("an unknown preset", [*TRAIN, "--preset", "authors"], "No preset is called 'authors'. Known: none."),
    Case("an unknown backbone", [*TRAIN, "--backbone", "mpl"], "No backbone is called 'mpl'. Nearest: mlp."),
    Case("a backbone nowhere", [*TRAIN, "--backbone", "no_module:Net"], "No module named 'no_module'"),
    Case("a backbone without a module", [*TRAIN, "--backbone", ":Net"], "give package.module:Class"),
    Case("a backbone that is no class", [*TRAIN, "--backbone", "math:pie"], "No class in math is called 'pie'"),
    Case("a backbone that is a number", [*TRAIN, "--backbone", "math:pi"], "No class in math is called 'pi'"),
    Case("a backbone that lacks an argument", [*TRAIN, "--backbone", "torch.nn:Linear"], "missing 2 required"),
    Case("a backbone of another shape", [*TRAIN, "--backbone", "conv"], "(channels, height, width), not (8,)"),
    Case("an unknown device", [*TRAIN, "--device", "tpu9"], "There is no device 'tpu9' here"),
    Case("a device that is not there", [*TRAIN, "--device", "cuda:99"], "There is no device 'cuda:99' here"),
    Case("an unknown list", ["list", "method"], "No list is called 'method'. Nearest: methods."),
    Case("a batch of one", [*TRAIN, "--set", "batch_size=1"], "must be at least 2 (pairs need two samples), not 1"),
    Case("negative epochs", ["train", "toy-table", "--set", "epochs=-1"], "epochs cannot be negative"),
    Case("a rate of zero", [*TRAIN, "--set", "rate=0"], "must be above 0"),
    Case("a rate that is not a number", [*TRAIN, "--set", "rate=nan"], "rate must be a number, not 'nan'"),
    Case("a part without a width", [*TRAIN, "--set", "branch=-1"], "must be 1 or more, not net.branch = -1"),
    Case("a negative width", [*TRAIN, "--set", "hidden=-3"], "must be 1 or more, not net.hidden = (-3,)"),
    Case("a negative weight", [*TRAIN, "--set", "debias_weight=-1"], "debias_weight must be 0 or more"),
    Case("a walk that restarts too seldom", [*TRAIN, "--set", "walk_on=0.9"], "walk_on must lie in 0 … 0.6"),
    Case("an unknown bound", [*TRAIN, "--set", "bound=kl"], "No bound is called 'kl'"),
    Case("an unknown form", [*TRAIN, "--set", "form=mine"], "No form of similarity is called 'mine'"),
    Case("no variance of colours", ["train", "digits", "--set", "color_variance=0"], "must be above 0 and at most 1"),
    Case("a share above one", [*TRAIN, "--set", "agreement=2"], "agreement is a share"),
    Case("a seed too large", [*TRAIN, "--seed", str(10**30)], "seed must be 0 or more, and below 2**63"),
    Case("a demo's seed that is a word", ["demo", "--seed", "1,b"], "--seed must be whole numbers"),
    Case("a demo's seed below zero", ["demo", "--seed=-1", "--out", "new"], "seed must be 0 or more"),
    # Several values and seeds.
    Case("a seed that is a word", [*TRAIN, "--seed", "a"], "--seed must be whole numbers with commas between, not 'a'"),
    Case("a seed that is half a number", [*TRAIN, "--seed", "0,1.5"], "--seed must be whole numbers"),
    Case("a seed below zero", [*TRAIN, "--seed", "-1"], "--seed must be 0 or more, not -1."),
    Case("one of several seeds below zero", [*TRAIN, "--seed", "0,-1"], "--seed must be 0 or more, not -1."),
    Case("no seed", [*TRAIN, "--seed", ""], "--seed must be whole numbers with commas between, not ''."),
    Case("no seed after a comma", [*TRAIN, "--seed", "0,"], "--seed must be whole numbers with commas between"),
    Case("a seed twice", [*TRAIN, "--seed", "0,0"], "--seed names a seed twice: 0,0."),
    Case("no value between commas", [*TRAIN, "--set", "debias_weight=1,,2"], "several with commas between, not '1,,2'"),
    Case("no value at all", [*TRAIN, "--set", "debias_weight="], "debias_weight must be a number, not ''."),
    Case("one of several values a word", [*TRAIN, "--set", "debias_weight=1,x"], "must be a number, not 'x'"),
    Case("several values of no setting", [*TRAIN, "--set", "debias_wieght=1,2"], "Nearest: debias_weight."),
    Case("several values of another method's", [*TRAIN, "--method", "vanilla", "--set", "K=1,2"], "'K' is called"),
    Case("a sweep of an unknown task", ["train", "toy-tabel", "--seed", "0,1"], "Nearest: toy-table."),
    Case("a sweep of an unknown method", [*TRAIN, "--seed", "0,1", "--method", "csda"], "Nearest: csad."),
    Case("a sweep with an unknown preset", [*TRAIN, "--seed", "0,1", "--preset", "p"], "No preset is called 'p'"),
    Case("a sweep on no device", [*TRAIN, "--seed", "0,1", "--device", "tpu9"], "There is no device 'tpu9' here"),
    Case("a sweep of a file that is not there", [*OWN, "--seed", "0,1"], "own.npz cannot be read"),
    Case("a sweep below a file", [*TRAIN[:-1], "f", "--seed", "0,1"], "cannot be written", write("f", "")),
    # Tables.
    Case("an unknown table", ["reproduce", "digit"], "No table is called 'digit'. Nearest: digits."),
    Case("a data set that is no table", ["reproduce", "toy-table"], "No table is called 'toy-table'"),
    Case("an unknown row", [*TABLE, "--methods", "csad,vanila"], "No row of digits is called 'vanila'. Nearest: van"),
    Case("an unknown column", [*TABLE, "--columns", ".02,.2"], "No column of digits is called '.2'. Nearest: 0.0"),
    Case("a word for a column", [*TABLE, "--columns", "first"], "No column of digits is called 'first'. Known: 0.020"),
    Case("no seeds for a table", [*TABLE, "--seeds", "0"], "--seeds must be 1 or more, not 0."),
    Case("less than no seeds", [*TABLE, "--seeds", "-2"], "--seeds must be 1 or more, not -2."),
    Case("an unknown setting of a table", [*TABLE, "--set", "train.epoch=1"], "Nearest: epochs."),
    Case("a setting no row has", [*TABLE, "--set", "debias_wieght=1"], "No setting is called 'debias_wieght'"),
    Case("a table's setting of the wrong type", [*TABLE, "--set", "batch_size=many"], "a whole number, not 'many'"),
    Case("a table's setting out of range", [*TABLE, "--set", "train.rate=0"], "must be above 0"),
    Case("a table's setting without '='", [*TABLE, "--set", "batch_size"], "must read name=value"),
    Case("several values in a table", [*TABLE, "--set", "train.epochs=1,2"], "must be a whole number, not '1,2'"),
    Case("a table on no device", [*TABLE, "--device", "tpu9"], "There is no device 'tpu9' here"),
    Case("a table below a file", [*TABLE[:-1], "f"], "cannot be written (Not a directory)", write("f", "")),
    Case("a table without its data", ["reproduce", "colored-mnist", "--data-root", "d"], "folder d does not exist"),
    Case("a check of nothing", [*TABLE, "--check"], "docs/results/digits.json cannot be read (No such file"),
    Case("a check of no table", [*TABLE, "--check", "--against", "f"], "is not the JSON of a table", write("f", "")),
    Case("a file without a check", [*TABLE, "--against", "f"], "--against names the file that --check reads: give"),
    Case("a check of an unknown row", [*TABLE, "--check", "--methods", "csda"], "No row of digits is called 'csda'"),
    # The user's own files.
    Case("a file that is not there", OWN, "own.npz cannot be read: No such file or directory"),
    Case("a folder in its place", OWN, "own.npz cannot be read: Is a directory", lambda f: (f / "own.npz").mkdir()),
    Case("a file that is no npz", OWN, "own.npz is not an .npz file", write("own.npz", "x,y,b\n1,2,3\n")),
    Case("an empty npz", OWN, "own.npz is not an .npz file", write("own.npz", "")),
    Case("an npz cut short", OWN, "own.npz is not an .npz file", both(npz(), cut("own.npz", 700))),
    Case("an npz of Python objects", OWN, "holds Python objects", npz(b=np.array([{}] * 60, dtype=object))),
    Case("one class only", OWN, "two classes or more are needed", npz(y=np.ones(60, int))),
    Case("one bias only", OWN, "has only one value in the training rows", npz(b=np.ones(60, int))),
    Case("no bias known", OWN, "No training row has all its bias labels known", npz(b=np.full(60, -1))),
    Case("NaN in x", OWN, "x holds NaN or infinity (first in row 7)", npz(x=with_nan())),
    Case("words in x", OWN, "x must be numbers", npz(x=np.array([["a", "b"]] * 60))),
    Case("y of another length", OWN, "y must have shape (60,)", npz(y=np.zeros(59, int))),
    Case("two rows", OWN, "rows are too few", npz(x=np.eye(2), y=np.arange(2), b=np.arange(2))),
    Case("near_bias of no width", [*OWN, "--set", "related=near_bias"], "near_bias needs a tolerance", npz()),
    Case("an unknown rule", [*OWN, "--set", "related=far"], "No rule for related samples is called 'far'", npz()),
    # Files that others distribute.
    Case("no MNIST", MNIST, "train-images-idx3-ubyte.gz could not be fetched", lambda f: (f / "data").mkdir()),
    Case("where to put MNIST", MNIST, "put it into FOLDER/mnist by hand", lambda f: (f / "data").mkdir()),
    Case("no data folder", MNIST, "The data folder data does not exist"),
    Case("MNIST cut short", MNIST, "its checksum differs", write(IMAGES + ".gz", b"\x1f\x8b\x08\x00")),
    # Runs.
    Case(
        "a net that no memory holds",
        ["train", "toy-table", "--set", "net.hidden=100000000,100000000"],
        "not enough memory for this: take smaller settings",
    ),
    Case("rows of a table that name none", [*TABLE, "--methods", ","], "',' names nothing: give names with commas"),
    Case("a run already there", ["train", "toy-table", *SHORT, "--out", "run"], "run already holds a run"),
    Case("a file as --out", ["train", "toy-table", *SHORT, "--out", "f"], "f exists and is not a run", write("f", "")),
    Case("a file above --out", [*TRAIN[:-1], "f/new"], "cannot be written (Not a directory)", write("f", "")),
    Case("a folder of others", [*TRAIN[:-1], "of"], "of exists and is not a run", write("of/a.txt", "")),
    Case("force over others", [*TRAIN[:-1], "of", "--force"], "is not a run", write("of/config.toml", "a = 1\n")),
    Case("force with a wrong setting", [*TRAIN[:-1], "run", "--force", "--set", "rate=0"], "must be above 0"),
    Case("nothing to go on with", [*TRAIN, "--resume"], "new holds no run to go on with"),
    Case("other settings", [*RESUME, "--seed", "1", "--set", "rate=1"], "other settings (seed, train.rate)"),
    Case("a folder that is no run", ["evaluate", "of"], "of is not a run folder", write("of/a.txt", "")),
    Case("no folder", ["evaluate", "nowhere"], "nowhere is not a run folder"),
    Case("a file for a run", ["evaluate", "f"], "f is not a run folder", write("f", "")),
    Case("a run without weights", EVALUATE, "were not kept", unkept),
    Case("a run not begun", EVALUATE, "no checkpoint yet: go on with", both(unfinished, unkept)),
    Case("weights cut short", EVALUATE, DAMAGED, cut(STATE, 2000)),
    Case("no weights left", EVALUATE, DAMAGED, cut(STATE, 0)),
    Case("weights that are none", EVALUATE, DAMAGED, write(STATE, b"PK\x03\x04 not weights at all")),
    Case("going on from weights cut short", RESUME, DAMAGED, both(unfinished, cut(STATE, 2000))),
    Case("a finished run with weights cut short", RESUME, DAMAGED, cut(STATE, 2000)),
    Case("a config that is broken", EVALUATE, "cannot be read", write(CONFIG, "seed = \n")),
    Case("a config in another code", EVALUATE, "cannot be read", write(CONFIG, b"a = '\xff'\n")),
    Case("going on from a broken config", RESUME, "cannot be read", write(CONFIG, "seed = \n")),
    Case("a config without a seed", EVALUATE, "not whole ('seed')", edit(CONFIG, '"csad"\nseed = 0', '"csad"')),
    Case("a config without a task", EVALUATE, "not whole ('task')", edit(CONFIG, 'task = "toy-table"\n', "")),
    Case("a config without the net", EVALUATE, "not whole ('net')", edit(CONFIG, "[net]", "[nut]")),
    Case("a config of other data", EVALUATE, "No setting of data is called 'cols'", edit(CONFIG, "rows = ", "cols = ")),
    Case("an unknown task in a config", EVALUATE, "Nearest: toy-table", edit(CONFIG, 'task = "toy-', 'task = "my-')),
    Case("a broken result", EVALUATE, "result.json cannot be read", cut("run/result.json", 30)),
    Case("evaluating on no device", ["evaluate", "run", "--device", "tpu9"], "There is no device 'tpu9' here"),
]  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("finished") / "run"
    result = CliRunner().invoke(app, [*TRAIN[:-1], str(place), "--quiet"])
    assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def folder(finished: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user stands: a finished run is there, no data, and no way to fetch any."""
    place = tmp_path / "here"
    shutil.copytree(finished, place / "run")
    monkeypatch.chdir(place)
    monkeypatch.delenv("CSAD_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("csad.data.sets.colored_mnist.MIRRORS", ("http://127.0.0.1:9/mnist",))
    # Its line on each download that begins is progress, and written to the stderr of its first use.
    level = pooch.get_logger().level
    pooch.get_logger().setLevel(logging.WARNING)
    yield place
    pooch.get_logger().setLevel(level)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_bad_input_gives_one_sentence_and_changes_nothing(
    case: Case, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case.before(folder)
    before = contents(folder)
    result = CliRunner().invoke(app, case.words)
    assert result.exit_code == 2, result.output + repr(result.exception)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("csad: ")
    assert re.search(re.escape(case.says), result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert contents(folder) == before
    assert capfd.readouterr() == ("", "")


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_one_bias_only_is_enough_for_a_method_that_needs_none(folder: Path) -> None:
    npz(b=np.ones(60, int))(folder)
    result = CliRunner().invoke(app, [*OWN, "--method", "vanilla", "--quiet"])
    assert result.exit_code == 0, result.output
    assert (folder / "new" / "result.json").exists()


def test_unpacked_mnist_cut_short_is_an_input_error_too(folder: Path) -> None:
    head = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in (60_000, 28, 28))
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        write(f"data/mnist/{name}-ubyte", head + bytes(1000))(folder)
    result = CliRunner().invoke(app, MNIST)
    assert result.exit_code == 2, repr(result.exception)
    assert result.stderr.startswith("csad: ")
    assert "train-images-idx3-ubyte is cut short: it holds 1,000 of 47,040,000 bytes" in result.stderr
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    "words", [["train"], ["trian"], ["train", "toy-table", "--sede", "1"], ["reproduce", "digits", "--seeds", "y"]]
)
def test_a_slip_of_the_command_line_itself_is_one_sentence_too(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "csad", *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"csad: .+ See csad --help\.\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "digits", "--seed", "0", "--seed=1"], "--seed is given 2 times"),
        (["train", "own.csv", "--target", "a", "--target", "b", "--target", "c"], "--target is given 3 times"),
        (["predict", "run", "own.csv", "--out", "a", "--out", "b"], "--out is given 2 times"),
        (["reproduce", "digits", "--seeds", "1", "--seeds", "2"], "--seeds is given 2 times"),
    ],
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(words: list[str], told: str) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert f"{told}, but takes one value: give it once." in " ".join(result.stderr.replace("│", " ").split())


def test_options_of_several_values_and_switches_may_be_given_again(folder: Path) -> None:
    words = ["--set", "data.rows=64", "--set", "train.batch_size=16", "-q", "--quiet", *SHORT]
    assert typed("train", "toy-table", *words, "--out", "new").exit_code == 0
    assert (folder / "new" / "result.json").exists()
