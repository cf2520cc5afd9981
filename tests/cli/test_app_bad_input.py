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
from typer.testing import CliRunner

from csad.cli import app
from tests.support.commands import SHORT, contents, typed
from tests.support.messages import Refusal, says

TRAIN = ["train", "toy-table", *SHORT, "--out", "new"]
Change = Callable[[Path], Any]


class Case(NamedTuple):
    """What is typed in a folder that holds a finished run, what was done to the folder before, what must be said."""

    name: str
    words: list[str]
    says: Refusal
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


def invalid(setting: str) -> Refusal:
    return Refusal("training-settings-invalid", problems=Refusal("training-setting-out-of-range", setting=setting))


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
WRONG = [*TRAIN, "--set", "rate=fast", "--set", "x=1"]
MISSING = "Linear.__init__() missing 2 required positional arguments: 'in_features' and 'out_features'"
DAMAGED = Refusal("checkpoint-unreadable", file=STATE)

CASES = [
    Case(
        "an unknown task",
        ["train", "toy-tabel"],
        Refusal("misspelled-name", kind="dataset", name="toy-tabel", nearest="toy-table"),
    ),
    Case(
        "an unknown method",
        [*TRAIN, "--method", "csda"],
        Refusal("misspelled-name", kind="method", name="csda", nearest="csad"),
    ),
    Case(
        "a name of the paper's",
        [*TRAIN, "--set", "lambda=2"],
        Refusal("setting-has-other-name", name="lambda", setting="debias_weight"),
    ),
    Case(
        "an unknown form of I_CS",
        [*TRAIN, "--set", "pairs=all"],
        Refusal("unknown-name", kind="form of I_CS", name="all"),
    ),
    Case("a rate that would turn round", [*TRAIN, "--set", "train.decay=-1"], invalid("decay")),
    Case("a decay every −1 epochs", [*TRAIN, "--set", "train.decay_every=-1"], invalid("decay_every")),
    Case(
        "an unknown setting", [*TRAIN, "--set", "debias_wieght=2"], Refusal("misspelled-name", nearest="debias_weight")
    ),
    Case(
        "a setting of another method",
        [*TRAIN, "--method", "vanilla", "--set", "debias_weight=2"],
        Refusal("setting-of-other-method", name="debias_weight"),
    ),
    Case("an unknown section", [*TRAIN, "--set", "trian.epochs=2"], Refusal("misspelled-name", nearest="train")),
    Case(
        "a setting of the wrong type",
        [*TRAIN, "--set", "batch_size=many"],
        Refusal("setting-wrong-type", expected="a whole number", value="many"),
    ),
    Case("the first of two wrong settings", WRONG, Refusal("setting-wrong-type", setting="rate", value="fast")),
    Case("the second of two wrong settings", WRONG, Refusal("unknown-name", kind="setting", name="x")),
    Case(
        "a setting without '='", [*TRAIN, "--set", "batch_size"], Refusal("setting-not-name-value", value="batch_size")
    ),
    Case(
        "a setting twice", [*TRAIN, "--set", "rate=1", "--set", "rate=2"], Refusal("setting-given-twice", name="rate")
    ),
    Case(
        "a setting twice in two spellings",
        [*TRAIN, "--set", "rate=1", "--set", "train.rate=2"],
        Refusal("setting-under-two-names", name="rate"),
    ),
    Case("a setting over two lines", [*TRAIN, "--set", "a\nb=1"], Refusal("unknown-name", kind="setting", name="a b")),
    Case(
        "an unknown preset",
        [*TRAIN, "--preset", "authors"],
        Refusal("unknown-name", kind="preset", name="authors", known="none"),
    ),
    Case(
        "an unknown backbone",
        [*TRAIN, "--backbone", "mpl"],
        Refusal("misspelled-name", kind="backbone", name="mpl", nearest="mlp"),
    ),
    Case(
        "a backbone nowhere",
        [*TRAIN, "--backbone", "no_module:Net"],
        Refusal("backbone-import-failed", reason="No module named 'no_module'"),
    ),
    Case("a backbone without a module", [*TRAIN, "--backbone", ":Net"], Refusal("backbone-import-failed", path=":Net")),
    Case(
        "a backbone that is no class",
        [*TRAIN, "--backbone", "math:pie"],
        Refusal("unknown-name", kind="class in math", name="pie"),
    ),
    Case(
        "a backbone that is a number",
        [*TRAIN, "--backbone", "math:pi"],
        Refusal("unknown-name", kind="class in math", name="pi"),
    ),
    Case(
        "a backbone that lacks an argument",
        [*TRAIN, "--backbone", "torch.nn:Linear"],
        Refusal("backbone-build-failed", backbone="torch.nn.modules.linear:Linear", reason=MISSING),
    ),
    Case("a backbone of another shape", [*TRAIN, "--backbone", "conv"], Refusal("conv-input-shape", shape="(8,)")),
    Case("an unknown device", [*TRAIN, "--device", "tpu9"], Refusal("device-not-available", device="tpu9")),
    Case(
        "a device that is not there", [*TRAIN, "--device", "cuda:99"], Refusal("device-not-available", device="cuda:99")
    ),
    Case(
        "an unknown list", ["list", "method"], Refusal("misspelled-name", kind="list", name="method", nearest="methods")
    ),
    Case("a batch of one", [*TRAIN, "--set", "batch_size=1"], invalid("batch_size")),
    Case("negative epochs", ["train", "toy-table", "--set", "epochs=-1"], invalid("epochs")),
    Case("a rate of zero", [*TRAIN, "--set", "rate=0"], invalid("rate")),
    Case(
        "a rate that is not a number",
        [*TRAIN, "--set", "rate=nan"],
        Refusal("setting-wrong-type", setting="rate", expected="a number", value="nan"),
    ),
    Case(
        "a part without a width", [*TRAIN, "--set", "branch=-1"], Refusal("net-size-below-one", sizes="net.branch = -1")
    ),
    Case("a negative width", [*TRAIN, "--set", "hidden=-3"], Refusal("net-size-below-one", sizes="net.hidden = (-3,)")),
    Case(
        "a negative weight", [*TRAIN, "--set", "debias_weight=-1"], Refusal("negative-setting", setting="debias_weight")
    ),
    Case(
        "a walk that restarts too seldom", [*TRAIN, "--set", "walk_on=0.9"], Refusal("walk-on-out-of-range", most=0.6)
    ),
    Case("an unknown bound", [*TRAIN, "--set", "bound=kl"], Refusal("unknown-name", kind="bound", name="kl")),
    Case(
        "an unknown form",
        [*TRAIN, "--set", "form=mine"],
        Refusal("unknown-name", kind="form of similarity", name="mine"),
    ),
    Case(
        "no variance of colours",
        ["train", "digits", "--set", "color_variance=0"],
        Refusal("color-variance-out-of-range", variance=0.0),
    ),
    Case("a share above one", [*TRAIN, "--set", "agreement=2"], Refusal("agreement-out-of-range", agreement=2.0)),
    Case(
        "a seed too large",
        [*TRAIN, "--seed", str(10**30)],
        Refusal("seed-out-of-range", seed=1000000000000000000000000000000),
    ),
    Case("a demo's seed that is a word", ["demo", "--seed", "1,b"], Refusal("seed-not-whole-number", value="1,b")),
    Case("a demo's seed below zero", ["demo", "--seed=-1", "--out", "new"], Refusal("negative-seed-option", seed=-1)),
    # Several values and seeds.
    Case("a seed that is a word", [*TRAIN, "--seed", "a"], Refusal("seed-not-whole-number", value="a")),
    Case("a seed that is half a number", [*TRAIN, "--seed", "0,1.5"], Refusal("seed-not-whole-number", value="0,1.5")),
    Case("a seed below zero", [*TRAIN, "--seed", "-1"], Refusal("negative-seed-option", seed=-1)),
    Case("one of several seeds below zero", [*TRAIN, "--seed", "0,-1"], Refusal("negative-seed-option", seed=-1)),
    Case("no seed", [*TRAIN, "--seed", ""], Refusal("seed-not-whole-number", value="")),
    Case("no seed after a comma", [*TRAIN, "--seed", "0,"], Refusal("seed-not-whole-number", value="0,")),
    Case("a seed twice", [*TRAIN, "--seed", "0,0"], Refusal("seed-named-twice", seeds="0,0")),
    Case(
        "no value between commas",
        [*TRAIN, "--set", "debias_weight=1,,2"],
        Refusal("sweep-values-invalid", value="1,,2"),
    ),
    Case(
        "no value at all",
        [*TRAIN, "--set", "debias_weight="],
        Refusal("setting-wrong-type", setting="debias_weight", expected="a number"),
    ),
    Case(
        "one of several values a word",
        [*TRAIN, "--set", "debias_weight=1,x"],
        Refusal("setting-wrong-type", expected="a number", value="x"),
    ),
    Case(
        "several values of no setting",
        [*TRAIN, "--set", "debias_wieght=1,2"],
        Refusal("misspelled-name", nearest="debias_weight"),
    ),
    Case(
        "several values of another method's",
        [*TRAIN, "--method", "vanilla", "--set", "K=1,2"],
        Refusal("setting-has-other-name", name="K"),
    ),
    Case(
        "a sweep of an unknown task",
        ["train", "toy-tabel", "--seed", "0,1"],
        Refusal("misspelled-name", nearest="toy-table"),
    ),
    Case(
        "a sweep of an unknown method",
        [*TRAIN, "--seed", "0,1", "--method", "csda"],
        Refusal("misspelled-name", nearest="csad"),
    ),
    Case(
        "a sweep with an unknown preset",
        [*TRAIN, "--seed", "0,1", "--preset", "p"],
        Refusal("unknown-name", kind="preset", name="p"),
    ),
    Case(
        "a sweep on no device",
        [*TRAIN, "--seed", "0,1", "--device", "tpu9"],
        Refusal("device-not-available", device="tpu9"),
    ),
    Case("a sweep of a file that is not there", [*OWN, "--seed", "0,1"], Refusal("file-unreadable", file="own.npz")),
    Case(
        "a sweep below a file",
        [*TRAIN[:-1], "f", "--seed", "0,1"],
        Refusal("out-not-writable", file="f/seed=0"),
        write("f", ""),
    ),
    # Tables.
    Case(
        "an unknown table",
        ["reproduce", "digit"],
        Refusal("misspelled-name", kind="table", name="digit", nearest="digits"),
    ),
    Case(
        "a data set that is no table",
        ["reproduce", "toy-table"],
        Refusal("unknown-name", kind="table", name="toy-table"),
    ),
    Case(
        "an unknown row",
        [*TABLE, "--methods", "csad,vanila"],
        Refusal("misspelled-name", kind="row of digits", name="vanila"),
    ),
    Case(
        "an unknown column",
        [*TABLE, "--columns", ".02,.2"],
        Refusal("misspelled-name", kind="column of digits", name=".2"),
    ),
    Case(
        "a word for a column",
        [*TABLE, "--columns", "first"],
        Refusal("unknown-name", kind="column of digits", name="first"),
    ),
    Case("no seeds for a table", [*TABLE, "--seeds", "0"], Refusal("seed-count-below-one", count=0)),
    Case("less than no seeds", [*TABLE, "--seeds", "-2"], Refusal("seed-count-below-one", count=-2)),
    Case(
        "an unknown setting of a table",
        [*TABLE, "--set", "train.epoch=1"],
        Refusal("misspelled-name", nearest="epochs"),
    ),
    Case(
        "a setting no row has",
        [*TABLE, "--set", "debias_wieght=1"],
        Refusal("misspelled-name", kind="setting", name="debias_wieght"),
    ),
    Case(
        "a table's setting of the wrong type",
        [*TABLE, "--set", "batch_size=many"],
        Refusal("setting-wrong-type", expected="a whole number", value="many"),
    ),
    Case("a table's setting out of range", [*TABLE, "--set", "train.rate=0"], invalid("rate")),
    Case(
        "a table's setting without '='",
        [*TABLE, "--set", "batch_size"],
        Refusal("setting-not-name-value", value="batch_size"),
    ),
    Case(
        "several values in a table",
        [*TABLE, "--set", "train.epochs=1,2"],
        Refusal("setting-wrong-type", expected="a whole number", value="1,2"),
    ),
    Case("a table on no device", [*TABLE, "--device", "tpu9"], Refusal("device-not-available", device="tpu9")),
    Case(
        "a table below a file",
        [*TABLE[:-1], "f"],
        Refusal("out-not-writable", reason="Not a directory"),
        write("f", ""),
    ),
    Case(
        "a table without its data",
        ["reproduce", "colored-mnist", "--data-root", "d"],
        Refusal("data-folder-missing", folder="d"),
    ),
    Case(
        "a check of nothing", [*TABLE, "--check"], Refusal("reference-file-unreadable", file="docs/results/digits.json")
    ),
    Case(
        "a check of no table",
        [*TABLE, "--check", "--against", "f"],
        Refusal("reference-file-invalid", file="f"),
        write("f", ""),
    ),
    Case("a file without a check", [*TABLE, "--against", "f"], Refusal("against-without-check")),
    Case(
        "a check of an unknown row",
        [*TABLE, "--check", "--methods", "csda"],
        Refusal("misspelled-name", kind="row of digits", name="csda"),
    ),
    # The user's own files.
    Case(
        "a file that is not there", OWN, Refusal("file-unreadable", file="own.npz", reason="No such file or directory")
    ),
    Case(
        "a folder in its place",
        OWN,
        Refusal("file-unreadable", file="own.npz", reason="Is a directory"),
        lambda f: (f / "own.npz").mkdir(),
    ),
    Case(
        "a file that is no npz",
        OWN,
        Refusal("invalid-npz-file", file="own.npz", problem="is not an .npz file"),
        write("own.npz", "x,y,b\n1,2,3\n"),
    ),
    Case(
        "an empty npz",
        OWN,
        Refusal("invalid-npz-file", file="own.npz", problem="is not an .npz file"),
        write("own.npz", ""),
    ),
    Case(
        "an npz cut short",
        OWN,
        Refusal("invalid-npz-file", file="own.npz", problem="is not an .npz file"),
        both(npz(), cut("own.npz", 700)),
    ),
    Case(
        "an npz of Python objects",
        OWN,
        Refusal("invalid-npz-file", problem="holds Python objects"),
        npz(b=np.array([{}] * 60, dtype=object)),
    ),
    Case("one class only", OWN, Refusal("training-target-constant", value="1"), npz(y=np.ones(60, int))),
    Case("one bias only", OWN, Refusal("bias-has-one-value", names="bias"), npz(b=np.ones(60, int))),
    Case("no bias known", OWN, Refusal("no-known-bias-labels", names="bias"), npz(b=np.full(60, -1))),
    Case("NaN in x", OWN, Refusal("x-not-finite", row=7), npz(x=with_nan())),
    Case("words in x", OWN, Refusal("values-not-numeric", name="x"), npz(x=np.array([["a", "b"]] * 60))),
    Case(
        "y of another length",
        OWN,
        Refusal("array-shape-mismatch", array="y", expected="(60,)"),
        npz(y=np.zeros(59, int)),
    ),
    Case(
        "two rows",
        OWN,
        Refusal("too-few-rows-for-fractions", units="rows"),
        npz(x=np.eye(2), y=np.arange(2), b=np.arange(2)),
    ),
    Case("near_bias of no width", [*OWN, "--set", "related=near_bias"], Refusal("near-bias-without-tolerance"), npz()),
    Case(
        "an unknown rule",
        [*OWN, "--set", "related=far"],
        Refusal("unknown-name", kind="rule for related samples", name="far"),
        npz(),
    ),
    # Files that others distribute.
    Case(
        "no MNIST", MNIST, Refusal("download-failed", file="train-images-idx3-ubyte.gz"), lambda f: (f / "data").mkdir()
    ),
    Case(
        "where to put MNIST",
        MNIST,
        Refusal("download-failed", advice=re.compile("FOLDER/mnist")),
        lambda f: (f / "data").mkdir(),
    ),
    Case("no data folder", MNIST, Refusal("data-folder-missing", folder="data")),
    Case(
        "MNIST cut short",
        MNIST,
        Refusal("file-damaged", file=IMAGES + ".gz", problem=re.compile("checksum")),
        write(IMAGES + ".gz", b"\x1f\x8b\x08\x00"),
    ),
    # Runs.
    Case(
        "a net that no memory holds",
        ["train", "toy-table", "--set", "net.hidden=100000000,100000000"],
        Refusal("memory-too-small"),
    ),
    Case("rows of a table that name none", [*TABLE, "--methods", ","], Refusal("empty-name-list", value=",")),
    Case(
        "a run already there",
        ["train", "toy-table", *SHORT, "--out", "run"],
        Refusal("run-exists-already", folder="run"),
    ),
    Case(
        "a file as --out",
        ["train", "toy-table", *SHORT, "--out", "f"],
        Refusal("folder-not-a-run", path="f"),
        write("f", ""),
    ),
    Case(
        "a file above --out",
        [*TRAIN[:-1], "f/new"],
        Refusal("out-not-writable", reason="Not a directory"),
        write("f", ""),
    ),
    Case("a folder of others", [*TRAIN[:-1], "of"], Refusal("folder-not-a-run", path="of"), write("of/a.txt", "")),
    Case(
        "force over others",
        [*TRAIN[:-1], "of", "--force"],
        Refusal("folder-not-a-run", path="of"),
        write("of/config.toml", "a = 1\n"),
    ),
    Case("force with a wrong setting", [*TRAIN[:-1], "run", "--force", "--set", "rate=0"], invalid("rate")),
    Case("nothing to go on with", [*TRAIN, "--resume"], Refusal("no-run-to-resume", folder="new")),
    Case(
        "other settings",
        [*RESUME, "--seed", "1", "--set", "rate=1"],
        Refusal("run-settings-changed", settings="seed, train.rate"),
    ),
    Case(
        "a folder that is no run", ["evaluate", "of"], Refusal("run-config-missing", folder="of"), write("of/a.txt", "")
    ),
    Case("no folder", ["evaluate", "nowhere"], Refusal("run-config-missing", folder="nowhere")),
    Case("a file for a run", ["evaluate", "f"], Refusal("run-config-missing", folder="f"), write("f", "")),
    Case("a run without weights", EVALUATE, Refusal("weights-not-kept", folder="run"), unkept),
    Case("a run not begun", EVALUATE, Refusal("run-without-checkpoint", folder="run"), both(unfinished, unkept)),
    Case("weights cut short", EVALUATE, DAMAGED, cut(STATE, 2000)),
    Case("no weights left", EVALUATE, DAMAGED, cut(STATE, 0)),
    Case("weights that are none", EVALUATE, DAMAGED, write(STATE, b"PK\x03\x04 not weights at all")),
    Case("going on from weights cut short", RESUME, DAMAGED, both(unfinished, cut(STATE, 2000))),
    Case("a finished run with weights cut short", RESUME, DAMAGED, cut(STATE, 2000)),
    Case(
        "a config that is broken", EVALUATE, Refusal("run-config-unreadable", file=CONFIG), write(CONFIG, "seed = \n")
    ),
    Case(
        "a config in another code",
        EVALUATE,
        Refusal("run-config-unreadable", file=CONFIG),
        write(CONFIG, b"a = '\xff'\n"),
    ),
    Case(
        "going on from a broken config",
        RESUME,
        Refusal("run-config-unreadable", file=CONFIG),
        write(CONFIG, "seed = \n"),
    ),
    Case(
        "a config without a seed",
        EVALUATE,
        Refusal("run-config-invalid", reason="'seed'"),
        edit(CONFIG, '"csad"\nseed = 0', '"csad"'),
    ),
    Case(
        "a config without a task",
        EVALUATE,
        Refusal("run-config-invalid", reason="'task'"),
        edit(CONFIG, 'task = "toy-table"\n', ""),
    ),
    Case(
        "a config without the net",
        EVALUATE,
        Refusal("run-config-invalid", reason="'net'"),
        edit(CONFIG, "[net]", "[nut]"),
    ),
    Case(
        "a config of other data",
        EVALUATE,
        Refusal("misspelled-name", kind="setting of data", name="cols"),
        edit(CONFIG, "rows = ", "cols = "),
    ),
    Case(
        "an unknown task in a config",
        EVALUATE,
        Refusal("misspelled-name", nearest="toy-table"),
        edit(CONFIG, 'task = "toy-', 'task = "my-'),
    ),
    Case(
        "a broken result",
        EVALUATE,
        Refusal("run-result-unreadable", file="run/result.json"),
        cut("run/result.json", 30),
    ),
    Case(
        "evaluating on no device",
        ["evaluate", "run", "--device", "tpu9"],
        Refusal("device-not-available", device="tpu9"),
    ),
]


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
    monkeypatch.setattr("csad.data.datasets.colored_mnist.MIRRORS", ("http://127.0.0.1:9/mnist",))
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
    assert case.says.is_in(result.stderr), result.stderr
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
    assert says(result.stderr, "file-damaged", file=IMAGES, problem=re.compile("1,000 of 47,040,000 bytes"))
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
    ("words", "option", "times"),
    [
        (["train", "digits", "--seed", "0", "--seed=1"], "--seed", 2),
        (["train", "own.csv", "--target", "a", "--target", "b", "--target", "c"], "--target", 3),
        (["predict", "run", "own.csv", "--out", "a", "--out", "b"], "--out", 2),
        (["reproduce", "digits", "--seeds", "1", "--seeds", "2"], "--seeds", 2),
    ],
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(words: list[str], option: str, times: int) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert f"{option} is given {times} times" in " ".join(result.stderr.replace("│", " ").split())


def test_options_of_several_values_and_switches_may_be_given_again(folder: Path) -> None:
    words = ["--set", "data.rows=64", "--set", "train.batch_size=16", "-q", "--quiet", *SHORT]
    assert typed("train", "toy-table", *words, "--out", "new").exit_code == 0
    assert (folder / "new" / "result.json").exists()
