"""Settings of a run: which one wins, and what is said of one that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from csad.data.datasets.colored_mnist import colored_mnist
from csad.data.datasets.toys import toy_table
from csad.methods.method import Course
from csad.nets.parts import Sizes
from csad.registry import DATASETS
from csad.runs.build import plan_run, read_dataset
from csad.runs.settings import Plan, experiment, experiments, from_words, resolve
from tests.support.messages import Refusal, refused

FILE = {
    "data": {"rows": 32},
    "net": {"backbone": "mlp", "branch": 16, "hidden": [8]},
    "train": {"epochs": 7, "rate": 1e-3},
    "methods": {"csad": {"debias_weight": 2.0}},
    "presets": {
        "quick": {"train": {"epochs": 2}, "data": {"rows": 16}, "methods": {"csad": {"inner_steps": 3}}},
        "deep": {"net": {"hidden": [8, 8]}},
    },
}


def plan(method: str = "csad", preset: str = "", **given: Any) -> Plan:
    return resolve(method, toy_table, FILE, {key.replace("__", "."): value for key, value in given.items()}, preset)


def test_what_nobody_sets_is_the_signatures_default() -> None:
    found = plan()
    assert found.train["batch_size"] == Course().batch_size
    assert found.net["head"] == Sizes().head
    assert found.settings["walk_on"] == 0.5
    assert found.data == {"agreement": 0.95, "rows": 32, "seed": 0}


def test_the_file_wins_over_the_defaults() -> None:
    found = plan()
    assert (found.train["epochs"], found.train["rate"]) == (7, 1e-3)
    assert (found.net["branch"], found.net["hidden"]) == (16, (8,))
    assert found.settings["debias_weight"] == 2.0


def test_a_preset_wins_over_the_file_and_leaves_the_rest() -> None:
    found = plan(preset="quick")
    assert (found.train["epochs"], found.train["rate"], found.data["rows"]) == (2, 1e-3, 16)
    assert (found.settings["inner_steps"], found.settings["debias_weight"]) == (3, 2.0)
    assert plan(preset="deep").net["hidden"] == (8, 8)


def test_a_method_may_be_trained_otherwise_than_the_rest_unless_the_preset_or_the_user_says_how() -> None:
    own = {"csad": {"debias_weight": 2.0, "train": {"epochs": 9, "decay": 0.5}, "net": {"branch": 4}}}
    quick = {"train": {"epochs": 2}, "methods": {"csad": {"train": {"rate": 0.5}}, "kim": {"train": {"rate": 0.1}}}}
    file = FILE | {"methods": own, "presets": {"quick": quick}}
    csad, others = (resolve(method, toy_table, file, {}) for method in ("csad", "vanilla"))
    assert (csad.train["epochs"], csad.train["decay"], csad.train["rate"], csad.net["branch"]) == (9, 0.5, 1e-3, 4)
    assert (others.train["epochs"], others.train["decay"], others.net["branch"]) == (7, Course().decay, 16)
    assert (csad.settings["debias_weight"], csad.settings.keys() & {"train", "net"}) == (2.0, set())
    short = resolve("csad", toy_table, file, {}, "quick")
    assert (short.train["epochs"], short.train["decay"], short.train["rate"]) == (2, 0.5, 0.5)
    assert resolve("csad", toy_table, file, {"train.epochs": 1}).train["epochs"] == 1


def test_what_the_user_gives_wins_over_the_preset() -> None:
    found = plan(preset="quick", train__epochs="4", inner_steps="5", rows=20)
    assert (found.train["epochs"], found.settings["inner_steps"], found.data["rows"]) == (4, 5, 20)


def test_a_setting_goes_to_the_section_that_has_it() -> None:
    found = plan(batch_size="8", hidden="4,2", agreement="0.5", debias_weight="0.5", settings__pairs="mean")
    assert found.train["batch_size"] == 8
    assert found.net["hidden"] == (4, 2)
    assert found.data["agreement"] == 0.5
    assert (found.settings["debias_weight"], found.settings["pairs"]) == (0.5, "mean")


def test_a_methods_settings_in_the_file_are_for_that_method_only() -> None:
    assert plan("vanilla").settings == {}
    assert plan("ad-jsd").settings["debias_weight"] == 1.0


def test_a_variant_has_its_own_defaults() -> None:
    found = plan("ad-jsd").settings
    assert (found["kind"], found["bound"]) == ("content", "jsd")
    assert plan("ad-jsd", kind="joint").settings["kind"] == "joint"


def test_resolving_leaves_the_file_as_it_was() -> None:
    file = {"net": {"backbone": "mlp", "hidden": [8]}, "train": {"epochs": 7}}
    resolve("vanilla", None, file, {"epochs": 1, "hidden": 3})
    assert file == {"net": {"backbone": "mlp", "hidden": [8]}, "train": {"epochs": 7}}


def test_another_backbone_drops_the_settings_of_the_files_backbone() -> None:
    for found in (plan(backbone="tcn"), plan(net__backbone="tcn")):
        assert "hidden" not in found.net
        assert (found.net["backbone"], found.net["layers"], found.net["branch"]) == ("tcn", 6, 16)
        assert found.sizes().settings == {"layers": 6, "filters": 64, "kernel": 5}


def test_naming_the_files_own_backbone_keeps_its_settings() -> None:
    assert plan(backbone="mlp").net["hidden"] == (8,)


def test_a_plan_gives_course_and_sizes() -> None:
    found = plan()
    assert found.course().epochs == 7
    assert (found.sizes().branch, found.sizes().settings) == (16, {"hidden": (8,)})


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"epoch": 3}, Refusal("misspelled-name", kind="setting", name="epoch", nearest="epochs")),
        ({"train.epoch": 3}, Refusal("misspelled-name", kind="setting of train", name="epoch", nearest="epochs")),
        ({"net.widht": 3}, Refusal("unknown-name", kind="setting of net", name="widht")),
        (
            {"trian.epochs": 3},
            Refusal(
                "misspelled-name", kind="section of settings", name="trian", nearest="train", known="data, net, train"
            ),
        ),
        ({"a.b.c": 3}, Refusal("unknown-name", kind="section of settings", name="a.b")),
        ({"epochs": "many"}, Refusal("setting-wrong-type", setting="epochs", expected="a whole number", value="many")),
        ({"data_root": "x"}, Refusal("unknown-name", kind="setting", name="data_root")),
        ({"nets": "x"}, Refusal("unknown-name", kind="setting", name="nets")),
        ({"": "x"}, Refusal("unknown-name", kind="setting")),
        ({"epochs": 1, "train.epochs": 1}, Refusal("setting-under-two-names", name="epochs", other="train.epochs")),
    ],
)
def test_a_wrong_setting_is_an_input_error_that_helps(given_: dict[str, Any], words: Refusal) -> None:
    with refused(words):
        resolve("csad", toy_table, FILE, given_)


def test_all_wrong_settings_are_told_at_once() -> None:
    with refused("several-settings-wrong") as caught:
        plan(epoch=3, branch="wide", debias_wieght=1)
    text = str(caught.value)
    assert "Nearest: epochs." in text
    assert "branch must be a whole number, not 'wide'." in text
    assert "Nearest: debias_weight." in text


def test_a_bare_name_that_two_sections_have_must_be_told_apart() -> None:
    def data(*, rate: float = 1.0, branch: int = 3) -> None: ...

    with refused("setting-ambiguous-name", name="rate", known="data.rate or train.rate"):
        resolve("vanilla", data, {}, {"rate": 2})
    found = resolve("vanilla", data, {}, {"data.rate": 2, "train.rate": 3, "net.branch": 4})
    assert (found.data["rate"], found.train["rate"], found.net["branch"], found.data["branch"]) == (2, 3, 4, 3)


def test_an_unknown_preset_names_those_there_are() -> None:
    with refused("misspelled-name", kind="preset", name="quik", nearest="quick", known="deep, quick"):
        plan(preset="quik")
    with refused("unknown-name", known="none"):
        resolve("csad", None, {}, {}, "authors")


def test_an_unknown_backbone_names_the_nearest() -> None:
    with refused("misspelled-name", nearest="mlp"):
        plan(backbone="mpl")


def test_a_module_is_no_setting() -> None:
    with refused("setting-wrong-type", setting="net.backbone", expected="a word"):
        resolve("csad", None, FILE, {"net.backbone": object()})


def test_every_task_file_and_preset_resolves_for_every_kind_of_method() -> None:
    for name in experiments():
        file, data = experiment(name), DATASETS[name]
        for preset in ("", *file.get("presets", {})):
            for method in ("vanilla", "csad", "ad-jsd"):
                resolve(method, data, file, {}, preset).course()


def test_the_authors_preset_trains_on_all_digits_and_keeps_the_last_batch() -> None:
    plain, authors = (resolve("csad", colored_mnist, experiment("colored-mnist"), {}, name) for name in ("", "authors"))
    assert (plain.data["validation"], plain.train["partial"]) == (5000, "fill")
    assert (authors.data["validation"], authors.train["partial"]) == (0, "keep")
    assert (plain.settings["debias_weight"], authors.settings["debias_weight"]) == (0.5, 1.0)
    assert (plain.train["epochs"], authors.train["epochs"], plain.train["rate"]) == (3, 5, 5e-5)


def test_a_task_without_a_file_has_no_settings_of_its_own() -> None:
    assert experiment("toy-image") == {}
    assert experiment("../tasks/digits") == {}
    assert {"colored-mnist", "digits"} <= set(experiments()) <= set(DATASETS.names())


@pytest.mark.parametrize(
    ("task", "backbone", "branch"),
    [("toy-table", "mlp", 32), ("toy-series", "tcn", 64), ("toy-image", "small-conv", 128)],
)
def test_a_task_without_a_file_takes_the_defaults_of_its_kind(task: str, backbone: str, branch: int) -> None:
    dataset, found = plan_run(task, "csad", {"rows": "16", "train.epochs": "3"}, "", read_dataset)
    assert (found.net["backbone"], found.net["branch"]) == (backbone, branch)
    assert (len(dataset.train), found.data["rows"], found.train["epochs"]) == (16, 16, 3)


def test_words_become_settings() -> None:
    assert from_words(["a=1", "train.b=x=y", "c="]) == {"a": "1", "train.b": "x=y", "c": ""}
    assert from_words([]) == {}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["epochs"], Refusal("setting-not-name-value", value="epochs")),
        (["=3"], Refusal("setting-not-name-value", value="=3")),
        ([""], Refusal("setting-not-name-value", value="")),
        (["a=1", "a=2"], Refusal("setting-given-twice", name="a")),
    ],
)
def test_words_of_another_form_are_input_errors(words: list[str], expected: Refusal) -> None:
    with refused(expected):
        from_words(words)
