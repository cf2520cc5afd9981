"""Each method's schedule written out, with the authors' numbers as literals."""

import pytest

from csad.runs.build import build, plan_run, read_dataset

PARTS = ("F", "D_y", "P_y")


def schedule(method, **settings):
    dataset, plan = plan_run("digits", method, {}, "", read_dataset)
    _, plan = plan_run("digits", method, settings, "", read_dataset)
    return build(dataset.task, method, plan, 0).schedule()


AUTHORS = {
    "train.target_epochs": 20,
    "train.bias_epochs": 20,
    "train.estimator_epochs": 2,
    "train.epochs": 5,
    "train.pretrain_rate": 5e-4,
    "train.rate": 5e-5,
    "train.decay": 0.1,
    "train.decay_every": 3,
}


def rows(stages):
    lines = [tuple((u.name, u.moves, u.repeat, u.batch, u.optimizer) for u in s.updates) for s in stages]
    return [
        (s.name, s.epochs, s.rate, s.decay if s.decay_every else 1.0, s.decay_every, s.renew, *own)
        for s, own in zip(stages, lines, strict=True)
    ]


@pytest.mark.parametrize("method", ["csad", "csad-content", "csad-struc", "ad-jsd"])
def test_csads_schedule_is_the_supplements_algorithm_with_the_authors_lengths(method):
    target = ("target", PARTS, 1, "same", "")
    bias = ("bias", ("D_b", "P_b"))
    estimator = ("estimator", ("M",))
    one, ten = (1, "same", ""), (10, "same", "")
    assert rows(schedule(method, **AUTHORS)) == [
        ("target", 20, 5e-4, 1.0, 0, (), target),
        ("bias", 20, 5e-4, 1.0, 0, (), bias + one),
        ("estimator", 2, 5e-5, 1.0, 0, (), estimator + one),
        (
            *("debias", 5, 5e-5, 0.1, 3, (*PARTS, "D_b", "P_b")),
            *(target, bias + ten, estimator + ten, ("debias", ("F",), 1, "same", "")),
        ),
    ]


def test_vanilla_makes_as_many_target_updates_at_the_same_rates():
    target = ("target", PARTS, 1, "same", "")
    assert rows(schedule("vanilla", **AUTHORS)) == [
        ("target", 20, 5e-4, 1.0, 0, (), target),
        ("continued", 5, 5e-5, 0.1, 3, PARTS, target),
    ]


def test_the_preset_of_the_authors_is_their_codes():
    from csad.registry import DATASETS
    from csad.runs.settings import experiment, resolve

    plan = resolve("csad", DATASETS["colored-mnist"], experiment("colored-mnist"), {}, "authors")
    assert {f"train.{name}": plan.train[name] for name in (key.removeprefix("train.") for key in AUTHORS)} == AUTHORS
    assert (plan.train["batch_size"], plan.train["partial"], plan.train["weight_decay"]) == (128, "keep", 5e-4)
    assert plan.train["average"] == 0
    assert plan.data == {"color_variance": 0.02, "coloring": "biased", "validation": 0, "test": True, "seed": 0}
    assert plan.net == {
        "backbone": "conv",
        "branch": 128,
        "branch_relu": False,
        "head": (64,),
        "estimator": (128, 64, 64),
        "filters": 64,
        "kernel": 5,
    }
    assert plan.settings == {
        "debias_weight": 1.0,
        "inner_steps": 10,
        "bound": "cs",
        "pairs": "sum",
        "related_by": "",
        "within_classes": False,
        "kind": "joint",
        "form": "authors",
        "walk_on": 0.5,
        "sharpness": 10.0,
        "scale": 1.0,
    }


@pytest.mark.parametrize(
    ("method", "kind", "bound", "scales"),
    [
        ("csad", "joint", "cs", 4),
        ("csad-content", "content", "cs", 4),
        ("csad-struc", "structure", "cs", 4),
        ("ad-jsd", "content", "jsd", 3),
    ],
)
def test_the_ablations_differ_in_what_the_paper_says(method, kind, bound, scales):
    dataset, plan = plan_run("digits", method, {}, "", read_dataset)
    made = build(dataset.task, method, plan, 0)
    assert (plan.settings["kind"], plan.settings["bound"]) == (kind, bound)
    assert made.M.similarity.kind == kind
    assert len(made.M.scales()) == scales
