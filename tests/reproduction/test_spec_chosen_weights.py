"""The λ of the paper's table are those that the rule takes from the sweeps on validation digits, and no others."""

import itertools
import json
import tomllib

import pytest

from csad.registry import DATASETS
from csad.reproduction.spec import read_spec
from csad.runs.settings import experiment, resolve
from tests.support.scripts import script


@pytest.fixture
def choices():
    return script("docs/choices.py")


@pytest.mark.parametrize(
    ("family", "name", "least"),
    [
        ("lambda", "colored-mnist", {"csad", "csad-content", "csad-struc", "ad-jsd", "alvi", "kim", "ragonesi"}),
        ("bound", "colored-mnist-bounds", {"cs-same", "jsd-near", "nce-near", "mine-near"}),
    ],
)
def test_the_tables_weights_are_those_that_the_rule_takes(choices, family, name, least):
    chosen = choices.chosen_weights(choices.RESULTS / "colored-mnist-search", family)
    table = read_spec(name)
    rows = {row.name: row for row in table.rows}
    assert chosen.keys() >= least
    for row, weights in chosen.items():
        assert tuple(weights) == table.columns
        assert rows[row].settings["debias_weight"] == list(weights.values()), row


def test_i_cs_has_the_same_weights_among_the_bounds_as_in_the_paper_s_table():
    among, paper = read_spec("colored-mnist-bounds"), read_spec("colored-mnist")
    of = {row.name: row.settings.get("debias_weight") for row in (*among.rows, *paper.rows)}
    assert of["cs-near"] == [of["csad"][paper.columns.index(column)] for column in among.columns]


def test_a_weight_that_a_sweep_does_not_vary_is_taken_from_what_it_sets(choices, tmp_path):
    (tmp_path / "stacks.toml").write_text('[lambda-csad]\n[lambda-csad.set]\ndebias_weight = "0.25"\n')
    (tmp_path / "lambda-csad.jsonl").write_text('{"values": {"data.color_variance": "0.02"}, "validation": 0.5}\n')
    assert choices.chosen_weights(tmp_path, "lambda") == {"csad": {"0.020": 0.25}}


def test_the_rule_takes_the_highest_mean_and_on_a_tie_the_smaller_weight(choices, tmp_path):
    sections = "".join(f"[lambda-{name}]\nset = {{}}\n" for name in ("csad", "csad-2", "ad-jsd"))
    (tmp_path / "stacks.toml").write_text(sections)
    line = '{{"values": {{"data.color_variance": "0.02", "debias_weight": "{}"}}, "validation": {}}}\n'
    tried = {"csad": [(1, 0.5), (1, 0.9), (2, 0.7), (3, 0.6)], "csad-2": [(10, 0.65)], "ad-jsd": [(10, 0.5), (2, 0.4)]}
    for name, runs in tried.items():
        (tmp_path / f"lambda-{name}.jsonl").write_text("".join(line.format(*run) for run in runs))
    assert choices.chosen_weights(tmp_path, "lambda") == {"csad": {"0.020": 1.0}, "ad-jsd": {"0.020": 10.0}}


def test_the_rivals_weights_on_adult_are_those_that_the_rule_takes(choices):
    rows = {row.name: row for row in read_spec("adult").rows}
    paper = {name: row.paper["balanced_accuracy"][0] for name, row in rows.items() if row.paper}
    chosen = choices.rivals_weights(choices.RESULTS / "adult-search", paper)
    assert chosen.keys() >= {"zhang", "cocl", "sensr"}
    for name, (setting, value) in chosen.items():
        plan = resolve(name, DATASETS["adult"], experiment("adult"), rows[name].settings, rows[name].preset)
        assert plan.settings[setting] == value, name


def test_a_rival_s_weight_is_near_the_paper_and_has_the_smallest_gaps(choices, tmp_path):
    (tmp_path / "stacks.toml").write_text("[weight-zhang]\n[c1]\n")
    line = '{{"values": {{"data.split": "{}", "debias_weight": "{}"}}, "figures": {{"balanced_accuracy": {}, '
    line += '"gap_gender_rms": {}, "gap_race_rms": {}}}}}\n'
    tried = [(0, "1", 0.80, 0.1, 0.2), (1, "1", 0.82, 0.1, 0.2), (0, "2", 0.80, 0.1, 0.1), (0, "3", 0.78, 0, 0)]
    (tmp_path / "weight-zhang.jsonl").write_text("".join(line.format(*run) for run in tried))
    assert choices.rivals_weights(tmp_path, {"zhang": 0.81}) == {"zhang": ("debias_weight", 2.0)}
    assert choices.rivals_weights(tmp_path, {"zhang": 0.75}) == {"zhang": ("debias_weight", 3.0)}


def test_csad_on_adult_has_the_smallest_gaps_of_all_that_are_accurate_enough(choices):
    chosen = choices.fairest_settings(choices.RESULTS / "adult-search", "csad")
    assert chosen["train.average"] == 0.9995
    assert_planned("adult", "csad", {}, chosen)


def tried(folder, column, runs):
    """A search of two sweeps in which weights were tried: each run is (sweep, weight, number of a seed, figures)."""
    common = '[common.set]\n"train.rate" = 0.1\n"train.precision" = "bf16"\n"data.validation" = 0.2\n'
    sweeps = '[a]\n[a.set]\nscale = 1\n[b]\nset = { scale = 1.0, "train.rate" = "1e-1" }\n'
    (folder / "stacks.toml").write_text(common + sweeps)
    for name in "ab":
        lines = [
            {"values": {"debias_weight": weight, column: str(number)}, "seed": number, "figures": figures}
            for sweep, weight, number, figures in runs
            if sweep == name
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def gaps(balanced, gender, race):
    return {"balanced_accuracy": balanced, "gap_gender_rms": gender, "gap_race_rms": race}


def test_the_fairest_are_accurate_enough_and_were_tried_on_all_splits(choices, tmp_path):
    fair, unfair, inaccurate = gaps(0.81, 0.1, 0.1), gaps(0.81, 0.1, 0.2), gaps(0.80, 0, 0)
    runs = [("a", "1", 0, fair), ("b", "1.0", 1, fair)]
    runs += [("a", "2", 0, unfair), ("a", "2", 1, unfair)]
    runs += [("b", "3", 0, inaccurate), ("b", "3", 1, inaccurate)]
    runs += [("b", "4", 0, gaps(0.9, 0, 0))]  # on one split alone
    tried(tmp_path, "data.split", runs)
    assert choices.fairest_settings(tmp_path, "csad", splits=2) == {
        "debias_weight": 1.0, "scale": 1.0, "train.rate": 0.1,
    }  # fmt: skip


def test_the_best_have_the_highest_mean_of_seeds_enough(choices, tmp_path):
    def judged(one, other):
        return {"EB2": one, "test": other}

    runs = [("a", "1", 0, judged(0.5, 0.9)), ("b", "1", 1, judged(0.5, 0.7))]
    runs += [("a", "2", 0, judged(0.6, 0.7)), ("a", "2", 1, judged(0.6, 0.6))]
    runs += [("b", "3", 0, judged(0.9, 0.9))]
    tried(tmp_path, "data.setting", runs)

    def best(*given, **options):
        return choices.best_settings(tmp_path, "csad", *given, **options)["debias_weight"]

    assert best() == 3
    assert best(seeds=2) == 1
    assert best("EB2", seeds=2) == 2
    assert best(where={"debias_weight": 2.0}.items()) == 2
    assert best(places=2) == 1


def test_settings_that_were_tried_twice_in_one_place_were_not_tried_in_two(choices, tmp_path):
    runs = [("a", "1", 0, {"auc": 0.5}), ("a", "1", 1, {"auc": 0.5})]
    runs += [("a", "2", 0, {"auc": 0.9}), ("b", "2", 0, {"auc": 0.9})]
    tried(tmp_path, "data.seed", runs)
    over = {"over": ("data.seed",)}
    assert choices.best_settings(tmp_path, "csad", "auc", **over)["debias_weight"] == 2
    assert choices.best_settings(tmp_path, "csad", "auc", places=2, **over) == {
        "debias_weight": 1.0, "scale": 1.0, "train.rate": 0.1,
    }  # fmt: skip


@pytest.mark.parametrize(("task", "figure", "seeds"), [("fairface", "", 1), ("wiki", "balanced_accuracy", 2)])
@pytest.mark.parametrize("method", ["vanilla", "alvi", "kim", "ragonesi", "csad"])
def test_settings_for_faces_have_the_highest_mean(choices, task, figure, seeds, method):
    chosen = choices.best_settings(choices.RESULTS / f"{task}-search", method, figure, seeds=seeds)
    assert_planned(task, method, {}, chosen)


def test_wiki_s_table_leaves_out_the_photos_that_settings_were_chosen_on(choices):
    stacks = tomllib.loads((choices.RESULTS / "wiki-search" / "stacks.toml").read_text())

    def held_out(given):
        data = resolve("vanilla", DATASETS["wiki"], experiment("wiki"), given, "").data
        return {name: data[name] for name in ("validation", "validation_of", "seed")}

    judged = held_out({key: value for key, value in stacks["common"]["set"].items() if key != "data.setting"})
    assert judged["validation"] > 0
    table = read_spec("wiki")
    for row in table.rows:
        for column, seed in itertools.product(table.columns, table.seeds):
            data = {
                key: value for key, value in row.settings_for(table, column, seed).items() if key.startswith("data.")
            }
            assert held_out(data) == judged


@pytest.mark.parametrize(
    ("row", "figure", "balance"),
    [
        ("csad", "unbiased", ""),
        ("group-dro", "unbiased", ""),
        ("vanilla-decay", "unbiased", "target"),
        ("vanilla-cells", "unbiased", "cells"),
        ("vanilla", "accuracy", "target"),
        ("lff", "accuracy", ""),
    ],
)
def test_celeba_s_settings_are_those_that_the_rule_takes(choices, row, figure, balance):
    row = next(own for own in read_spec("celeba").rows if own.name == row)
    where = {"train.balance": balance}.items() if balance else ()
    chosen = choices.best_settings(choices.RESULTS / "celeba-search", row.method, figure, seeds=2, where=where)
    assert_planned("celeba", row.method, row.settings, chosen)


@pytest.mark.parametrize(("row", "even"), [("vanilla", 0.0), ("oracle", 1.0), ("csad", None)])
@pytest.mark.parametrize("effect", ["small", "medium", "large"])
def test_settings_where_the_young_are_ill_have_the_highest_mean_of_four_worlds_for_their_effect(
    choices, row, even, effect
):
    table = read_spec("mpower-simulated-young")
    row = next(own for own in table.rows if own.name == row)
    where = {"data.age_bias": -1.0, "data.effect": effect, "train.select_by": "auc_within"}
    search = choices.RESULTS / "mpower-simulated-search"
    chosen = choices.best_settings(
        search,
        row.method,
        "auc",
        over=("data.seed",),
        places=4,
        where=(where | ({} if even is None else {"data.balanced": even})).items(),
    )
    common = tomllib.loads((search / "stacks.toml").read_text())["common"]["set"] | {"data.effect": effect}
    for seed in table.seeds:
        # What the search left as it is by default counts, too.
        expected = planned(row.method, common) | chosen | {"data.seed": seed}
        assert planned(row.method, row.settings_for(table, effect, seed), row.preset) == expected


def test_the_preset_where_the_young_are_ill_has_the_table_s_settings_at_the_medium_effect():
    table = read_spec("mpower-simulated-young")
    for row in table.rows:
        if row.name == row.method:  # but for the oracle, which the preset knows nothing of
            given = row.settings_for(table, "medium", 0)
            assert planned(row.method, {"data.seed": 0}, "young-ill") == planned(row.method, given, row.preset)


def planned(method, given, preset=""):
    """All settings of a run on simulated tapping, spelled as a search spells them."""
    plan = resolve(method, DATASETS["mpower-simulated"], experiment("mpower-simulated"), given, preset)
    sections = {"data.": plan.data, "net.": plan.net, "train.": plan.train, "": plan.settings}
    return {section + name: value for section, own in sections.items() for name, value in own.items()}


def test_no_world_of_the_tables_is_one_in_which_settings_were_looked_for(choices):
    stacks = tomllib.loads((choices.RESULTS / "mpower-simulated-search" / "stacks.toml").read_text())
    told = [str(sweep["set"]["data.seed"]).split(",") for sweep in stacks.values() if "data.seed" in sweep["set"]]
    looked_at = {int(seed) for seeds in told for seed in seeds}
    assert len(looked_at) >= 2
    for name in ("mpower-simulated", "mpower-simulated-young"):
        table = read_spec(name)
        assert table.seed_sets == "data.seed"
        assert looked_at.isdisjoint(table.seeds)


def assert_planned(task, method, given, chosen):
    plan = resolve(method, DATASETS[task], experiment(task), given, "")
    for key, value in chosen.items():
        section, _, name = key.rpartition(".")
        found = getattr(plan, section or "settings")[name]
        assert found == pytest.approx(value) if isinstance(value, float) else found == value, key
