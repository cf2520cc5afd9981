"""The λ of the paper's table are those that the rule takes from the sweeps on validation digits, and no others."""

import importlib.util
from pathlib import Path

import pytest

from csad.experiments.table import read_table

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def searches():
    spec = importlib.util.spec_from_file_location("searches", ROOT / "docs" / "searches.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_weights_are_those_that_the_rule_takes(searches):
    chosen = searches.chosen_weights(searches.RESULTS / "colored-mnist-search", "lambda")
    table = read_table("colored-mnist")
    rows = {row.name: row for row in table.rows}
    assert chosen.keys() >= {"csad", "csad-content", "csad-struc", "ad-jsd", "alvi", "kim"}
    for name, weights in chosen.items():
        assert tuple(weights) == table.columns
        assert rows[name].settings["debias_weight"] == list(weights.values()), name


def test_the_rule_takes_the_highest_mean_and_on_a_tie_the_smaller_weight(searches, tmp_path):
    sections = "".join(f"[lambda-{name}]\nfinding = ''\n" for name in ("csad", "csad-2", "ad-jsd"))
    (tmp_path / "stacks.toml").write_text(sections)
    line = '{{"values": {{"data.color_variance": "0.02", "debias_weight": "{}"}}, "validation": {}}}\n'
    tried = {"csad": [(1, 0.5), (1, 0.9), (2, 0.7), (3, 0.6)], "csad-2": [(10, 0.65)], "ad-jsd": [(10, 0.5), (2, 0.4)]}
    for name, runs in tried.items():
        (tmp_path / f"lambda-{name}.jsonl").write_text("".join(line.format(*run) for run in runs))
    assert searches.chosen_weights(tmp_path, "lambda") == {"csad": {"0.020": 1.0}, "ad-jsd": {"0.020": 10.0}}
