"""What settings were called once still reads: in configs, saved and exported files, and where a user types it."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

import csad
from csad.export.export import export_run
from csad.export.formats import load_exported
from csad.registry import DATASETS
from csad.runs.parse import current_name, current_names, former_names
from csad.runs.settings import Plan, check_overrides, resolve
from csad.sweeps.shared_pretraining import pretraining_key
from tests.support.messages import refused
from tests.support.quick import QUICK
from tests.support.stacking import planned

OLD, NEW = "optimiser", "optimizer"
SHORT = {name: value for name, value in QUICK.items() if name != "inner_steps"}


def plan(**given: object) -> Plan:
    return resolve("vanilla", DATASETS["toy-table"], {}, {name.replace("__", "."): v for name, v in given.items()})


def test_a_name_keeps_its_section() -> None:
    assert [current_name(name) for name in (OLD, f"train.{OLD}", "train.rate", "x")] == [
        NEW, f"train.{NEW}", "train.rate", "x",
    ]  # fmt: skip


def test_only_settings_in_sections_are_renamed_and_back_again() -> None:
    old = {OLD: "as it is", "train": {OLD: "sgd", "rate": 0.1}}
    new = {OLD: "as it is", "train": {NEW: "sgd", "rate": 0.1}}
    assert current_names(old) == current_names(new) == new
    assert former_names(new) == old


@pytest.mark.parametrize("name", [OLD, f"train.{OLD}", NEW, f"train.{NEW}"])
def test_a_user_may_type_either_name(name: str) -> None:
    check_overrides("vanilla", DATASETS["toy-table"], {name: "sgd"})
    assert resolve("vanilla", DATASETS["toy-table"], {}, {name: "sgd"}).train[NEW] == "sgd"


def test_both_names_at_once_are_one_too_many() -> None:
    with refused("setting-under-two-names", name="train.optimiser", other="optimizer"):
        plan(train__optimiser="sgd", optimizer="adam")


def test_a_file_of_settings_may_have_the_old_name() -> None:
    file = {"train": {OLD: "sgd"}, "presets": {"plain": {"train": {NEW: "adam"}}}}
    assert resolve("vanilla", DATASETS["toy-table"], file, {}).train[NEW] == "sgd"
    assert resolve("vanilla", DATASETS["toy-table"], file, {}, "plain").train == plan().train


def test_a_plan_of_an_old_config_is_the_plan_of_a_new_one() -> None:
    sections = plan(optimizer="sgd").sections()
    old = former_names(sections)
    assert (OLD in old["train"], NEW in old["train"]) == (True, False)
    assert Plan.from_config(old) == Plan.from_config(sections) == plan(optimizer="sgd")


def as_once(folder: Path) -> None:
    """The run's config as an earlier csad wrote it."""
    config = folder / "config.toml"
    text = config.read_text(encoding="utf-8")
    assert text.count(f"\n{NEW} = ") == 1
    config.write_text(text.replace(f"\n{NEW} = ", f"\n{OLD} = "), encoding="utf-8")


def test_an_old_run_loads_and_goes_on(tmp_path: Path) -> None:
    settings = SHORT | {f"train.{NEW}": "sgd"}
    run = csad.train("toy-table", "vanilla", out=tmp_path / "run", **settings)
    new = csad.load(tmp_path / "run")
    as_once(tmp_path / "run")
    again = csad.load(tmp_path / "run")
    assert again.config == new.config
    assert again.method.course.optimizer == "sgd"
    # Going on compares its settings with those that are given now, and finds the same.
    settings = SHORT | {f"train.{OLD}": "sgd"}
    assert (
        csad.train("toy-table", "vanilla", out=tmp_path / "run", resume=True, **settings).config["train"]
        == run.config["train"]
    )


def test_an_old_exported_file_loads(tmp_path: Path) -> None:
    csad.train("toy-table", "vanilla", out=tmp_path / "run", **SHORT)
    path = tmp_path / "model.safetensors"
    export_run(csad.load(tmp_path / "run"), path, "safetensors")
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    assert sum(f'"{NEW}"' in value for value in metadata.values()) == 1
    save_file(tensors, path, metadata={name: v.replace(f'"{NEW}"', f'"{OLD}"') for name, v in metadata.items()})
    assert load_exported(path).config["train"][NEW] == "adam"


def test_the_digest_of_shared_pretraining_is_the_one_it_was() -> None:
    _, method = planned("toy-table", "vanilla")
    config = {"csad": "0.1.0", "about": {"fingerprint": "f", "name": "toy"}, "net": {}, "seed": 0}
    train = {
        "batch_size": 8,
        "partial": "fill",
        "balance": "",
        "weight_decay": 0.1,
        NEW: "adam",
        "precision": "float32",
    }
    assert pretraining_key(config | {"train": train}, method, 1) == "27a6a9d6ec09f4f8313e"


def test_old_classifiers_load(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(64, 3))
    y = (X[:, 0] > 0).astype(int)
    settings = {f"train.{OLD}": "sgd", "train.target_epochs": 1}
    model = csad.DebiasedClassifier("vanilla", epochs=1, standardize=False, settings=settings, random_state=0).fit(X, y)
    path = tmp_path / "model"
    model.save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length]
    old = header.replace(b'\\"standardize\\"', b'\\"standardise\\"').replace(b'\\"optimizer\\"', b'\\"optimiser\\"')
    assert old.count(b"standardise") == 1
    path.write_bytes(data[:8] + old + data[8 + length :])
    again = csad.DebiasedClassifier.load(path)
    assert not again.standardize
    assert (again.predict(X) == model.predict(X)).all()

    state = model.__getstate__()
    former = model.__class__.__new__(model.__class__)
    former.__setstate__({"standardise" if name == "standardize" else name: value for name, value in state.items()})
    assert pickle.loads(pickle.dumps(former)).get_params()["standardize"] is False
