"""Files of strangers run nothing: every door by which csad reads a run, an exported file or a saved classifier."""

from __future__ import annotations

import ast
import json
import pickle
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from torch import nn

import csad
from csad.cli import app
from csad.export import load_exported
from tests.support.commands import SHORT, typed
from tests.support.messages import refused, says
from tests.support.paths import SOURCE as ROOT
from tests.support.strangers import FLAG, poisoned_config

# A module that runs on import, a function that runs what the file says, a class of torch's own, a name in odd letters.
STRANGERS = {
    "canary:Net": {"in_features": 8, "out_features": 4},
    "os:system": {"command": f"touch {FLAG}"},
    "subprocess:run": {"args": f"touch {FLAG}", "shell": True},
    "torch.nn:Linear": {"in_features": 8, "out_features": 4},
    "canary:\x1b]0;Net": {},
    f"canary:Net; touch {FLAG} #": {},
    "canary:Net' is csad's own class, and you may type: csad 'x": {},
}
# How such a file is refused: by what names a class that runs, and by what names none.
NOT_TRUSTED = ("backbone-class-not-trusted", "backbone-name-invalid")
# Every command that reads a run folder, by each of the places where it takes one.
COMMANDS: dict[tuple[str, str], list[str]] = {
    ("evaluate", "run"): ["evaluate", "STRANGER"],
    ("predict", "run"): ["predict", "STRANGER", "x.npy", "--out", "p.csv"],
    ("audit", "run"): ["audit", "STRANGER"],
    ("audit", "against"): ["audit", "GOOD", "--against", "STRANGER"],
    ("report", "runs"): ["report", "GOOD", "STRANGER", "--out", "page.html"],
    ("report", "against"): ["report", "GOOD", "--against", "STRANGER", "--out", "page.html"],
    ("export", "run"): ["export", "STRANGER", "--format", "safetensors", "--no-data"],
}


def poisoned_header(file: Path, key: str, change: Callable[[Any], None]) -> Path:
    """A copy of a .safetensors file with other JSON under a key of its metadata."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    about = json.loads(header["__metadata__"][key])
    change(about)
    header["__metadata__"][key] = json.dumps(about)
    text = json.dumps(header).encode()
    place = file.with_name(f"stranger-{file.name}")
    place.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    return place


def commands() -> Iterator[tuple[str, Any]]:
    group = typer.main.get_command(app)
    yield from group.commands.items()  # type: ignore[attr-defined]


def test_every_place_of_a_command_that_takes_a_run_is_tried() -> None:
    found = {
        (name, param.name)
        for name, command in commands()
        for param in command.params
        if (param.metavar or "").startswith("RUN")
    }
    assert found == COMMANDS.keys()


@pytest.mark.parametrize("backbone", STRANGERS)
@pytest.mark.parametrize("door", COMMANDS.values(), ids="-".join)
def test_a_strangers_run_folder_runs_nothing(here: Path, door: list[str], backbone: str) -> None:
    stranger = poisoned_config(here / "good", backbone, STRANGERS[backbone])
    result = typed(*({"STRANGER": stranger.name, "GOOD": "good"}.get(word, word) for word in door))
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert any(says(result.stderr, code) for code in NOT_TRUSTED), result.stderr
    assert "\x1b" not in result.output
    assert "touch" not in result.output  # nor is what it would run shown as something to type
    assert not (here / "p.csv").exists()
    assert not (here / "page.html").exists()


@pytest.mark.parametrize("door", COMMANDS.values(), ids="-".join)
def test_a_class_that_is_given_again_is_imported_and_another_is_not(here: Path, door: list[str]) -> None:
    stranger = poisoned_config(here / "good", "canary:Net", STRANGERS["canary:Net"])
    words = [{"STRANGER": stranger.name, "GOOD": "good"}.get(word, word) for word in door]
    for other in ("canary:Other", "conv"):
        result = typed(*words, "--backbone", other)
        assert result.exit_code == 2
        assert says(result.stderr, "backbone-option-mismatch", backbone=other)
        assert "canary" not in sys.modules
    result = typed(*words, "--backbone", "canary:Net")
    assert "canary" in sys.modules  # by the user's own word; the weights then do not fit
    assert result.exit_code == 2, result.output
    assert says(result.stderr, "checkpoint-unreadable")
    del sys.modules["canary"]
    (here / FLAG).unlink()


@pytest.mark.parametrize("backbone", ["os:system", "subprocess:run"])
def test_what_is_no_module_of_torch_is_not_called_even_if_it_is_given_again(here: Path, backbone: str) -> None:
    stranger = poisoned_config(here / "good", backbone, STRANGERS[backbone])
    result = typed("evaluate", str(stranger), "--backbone", backbone)
    assert result.exit_code == 2
    assert says(result.stderr, "backbone-not-module-class", path=backbone)
    with refused("backbone-not-module-class"):
        csad.load(stranger, backbone=backbone)


def test_going_on_in_a_strangers_folder_runs_nothing(here: Path) -> None:
    stranger = poisoned_config(here / "good", "os:system", STRANGERS["os:system"])
    words = ["train", "toy-table", "--method", "vanilla", *SHORT, "--out", str(stranger), "--resume"]
    result = typed(*words)
    assert result.exit_code == 2
    assert says(result.stderr, "run-settings-changed", folder=stranger)


def set_backbone(about: Any, backbone: str, part: str) -> None:
    net = about[part]["net"]
    net.pop("hidden", None)
    net |= STRANGERS[backbone] | {"backbone": backbone}


@pytest.mark.parametrize("backbone", STRANGERS)
def test_other_files_of_strangers_run_nothing(here: Path, backbone: str) -> None:
    stranger = poisoned_config(here / "good", backbone, STRANGERS[backbone])
    exported = poisoned_header(here / "good.safetensors", "csad", lambda a: set_backbone(a, backbone, "config"))
    saved = poisoned_header(here / "classifier", "about", lambda a: set_backbone(a, backbone, "plan"))
    doors: list[Callable[[], Any]] = [
        lambda: csad.load(stranger),
        lambda: load_exported(exported),
        lambda: csad.DebiasedClassifier.load(saved),
    ]
    for door in doors:
        with pytest.raises(csad.InputError) as caught:
            door()
        assert caught.value.code in NOT_TRUSTED, caught.value


@pytest.mark.parametrize("key", ["net.backbone", "backbone"])
def test_a_saved_classifier_does_not_decide_what_a_later_fit_imports(here: Path, key: str) -> None:
    def change(about: Any) -> None:
        about["params"]["settings"] = {key: "canary:Net"}

    saved = poisoned_header(here / "classifier", "about", change)
    with refused("classifier-file-inconsistent", backbone="mlp", other="canary:Net"):
        csad.DebiasedClassifier.load(saved)
    with refused("backbone-not-needed", backbone="mlp", given="'canary:Net'"):
        csad.DebiasedClassifier.load(saved, backbone="canary:Net")


@pytest.mark.parametrize("backbone", [["os:system"], {"os": "system"}, None, 3])
def test_a_backbone_that_is_no_name_is_an_input_error(here: Path, backbone: Any) -> None:
    def change(about: Any) -> None:
        about["plan"]["net"]["backbone"] = backbone

    with refused("backbone-wrong-type"):
        csad.DebiasedClassifier.load(poisoned_header(here / "classifier", "about", change))


def test_the_bytes_of_a_pickled_classifier_import_nothing_by_themselves(here: Path) -> None:
    from csad.estimator.trained import Trained

    saved = poisoned_header(here / "classifier", "about", lambda about: set_backbone(about, "canary:Net", "plan"))
    with refused("backbone-class-not-passed", backbone="canary:Net"):
        Trained.from_bytes(saved.read_bytes())


class Net(nn.Sequential):
    """A backbone of one's own for a classifier."""

    def __init__(self, width: int = 5) -> None:
        super().__init__(nn.Linear(8, width), nn.ReLU())


class Outer:
    """Holds another, whose path has two names."""

    class Net(Net):
        """The same."""


def test_a_classifier_with_a_class_of_ones_own_is_saved_pickled_and_fitted_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 8)).astype(np.float32), np.arange(60) % 2
    own = f"{__name__}:Net"
    model = csad.DebiasedClassifier("vanilla", epochs=1, settings={"net.backbone": own, "net.width": 3}, random_state=0)
    model.fit(x, y, bias=y).save(tmp_path / "model")
    wanted = model.predict_proba(x)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(x), wanted)
    with refused("backbone-class-not-trusted", backbone=own):
        csad.DebiasedClassifier.load(tmp_path / "model")
    for unfit in (Net(3), type("Local", (Net,), {"__qualname__": "here.<locals>.Local"})):
        with refused("backbone-not-importable"):
            csad.DebiasedClassifier.load(tmp_path / "model", backbone=unfit)  # type: ignore[arg-type]
    for again in (own, Net, Outer.Net):
        loaded = csad.DebiasedClassifier.load(tmp_path / "model", backbone=again)
        assert np.array_equal(loaded.predict_proba(x), wanted)
        assert np.array_equal(pickle.loads(pickle.dumps(loaded)).predict_proba(x), wanted)
        assert np.array_equal(loaded.fit(x, y, bias=y).predict_proba(x), wanted)


def test_a_strangers_run_does_not_have_a_file_of_the_readers_shown_as_its_data(here: Path) -> None:
    (here / "bank.csv").write_text("income,gender\nhigh,f\nlow,m\n")
    config = here / "good" / "config.toml"
    text = re.sub(r"^fingerprint = .*\n", "", config.read_text(), flags=re.MULTILINE)
    config.write_text(text.replace('task = "toy-table"', f'task = "{here / "bank.csv"}"'))
    result = typed("report", "good", "--show-data")
    assert result.exit_code == 2
    assert says(result.stderr, "training-rows-not-recorded", folder="good", data=here / "bank.csv")


# Where csad imports by name, unpickles or starts anything: each place was looked at, and a new one has to be.
REVIEWED = {
    ("lazy.py", "importlib.import_module"): "csad's own public names",
    ("registry.py", "importlib.import_module"): "the files of a folder of csad's",
    ("nets/parts.py", "importlib.import_module"): "own_class: only what the caller typed",
    ("nets/adapters.py", "importlib.import_module"): "torchvision and timm",
    ("nets/weights.py", "torch.load"): "weights_only=True",
    ("data/tables/read_table.py", "importlib.import_module"): "pyarrow",
    ("deploy/model.py", "importlib.import_module"): "onnxruntime",
    ("export/formats.py", "torch.export.load"): "the file that was written just before",
    ("data/safe_pickle.py", "pickle.Unpickler"): "plain values by names of NumPy's, each a stand-in",
    ("data/safe_pickle.py", "pickle.UnpicklingError"): "its error",
    ("cli/backbones.py", "sys.meta_path"): "for the modules that the user names, and their neighbours",
    ("__main__.py", "sys.path"): "without the present folder",
}
RUNS = re.compile(
    r"(importlib\.import_module|importlib\.util\.(spec_from|module_from)\w*|runpy\.\w+|pickle\.\w+|marshal\.\w+"
    r"|shelve\.\w+|torch\.load|torch\.export\.load|torch\.jit\.load|torch\.hub\.\w+|subprocess\.\w+|os\.(system|popen)"
    r"|os\.(exec|spawn|posix_spawn)\w*|sys\.(path|meta_path|path_hooks)|__import__|exec|eval|compile|joblib\.load|yaml\.\w+)"
)


def test_every_place_that_could_run_what_a_file_says_was_reviewed() -> None:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            if name and RUNS.fullmatch(name):
                found.add((str(path.relative_to(ROOT)), name))
            if isinstance(node, ast.ImportFrom) and node.module in ("importlib", "pickle", "subprocess", "os", "runpy"):
                taken = {alias.name for alias in node.names} - {"resources", "UnpicklingError"}
                assert not taken, f"{path} takes {taken} out of {node.module}, where this test does not see it"
    assert found == REVIEWED.keys()


def test_own_class_is_called_where_a_caller_speaks_and_nowhere_else() -> None:
    callers = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "own_class"
    }
    assert callers == {"runs/settings.py", "runs/build.py"}
