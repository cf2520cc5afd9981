"""The guide to methods tells of all of them, what their code says; and its tables are those of code and files."""

import re
import subprocess
import sys

from csad.registry import METHODS
from tests.support.guide_steps import brief, built_in, follow
from tests.support.paths import DOCS

GUIDE = DOCS / "guides" / "which-method.md"


def section(title):
    return GUIDE.read_text().split(f"## {title}")[1].split("\n## ")[0]


def lines(mark):
    """The table's rows by method."""
    text = GUIDE.read_text().split(f"<!-- {mark} -->")[1].split(f"<!-- /{mark} -->")[0]
    return {row[0]: row[1:] for row in (line.strip("| ").split(" | ") for line in text.splitlines() if "`" in line)}


def test_every_method_has_its_line_and_its_paragraph():
    names = {f"`{name}`" for name in built_in(METHODS)}
    assert names == set(lines("facts")) - {"method"}
    assert names == set(re.findall(r"\*\*(`[\w-]+`)\*\*", section("What each does, promises, and cannot do")))


def test_the_tables_are_those_of_the_code_and_the_files():
    # In a process of its own: tests shorten the ascents of two methods, which the table tells.
    write = "import method_facts, sys; sys.stdout.write(method_facts.page(method_facts.GUIDE.read_text()))"
    told = subprocess.run([sys.executable, "-c", write], cwd=DOCS, capture_output=True, text=True, check=True)
    assert told.stdout == GUIDE.read_text()


def test_what_a_mini_batch_costs_is_counted_right():
    cost = {name: cells[3] for name, cells in lines("facts").items() if "steps" not in name}
    assert cost["`vanilla`"] == "1, 1 of F"
    assert cost["`csad`"] == "22, 2 of F"  # Algorithm 1: target, 10 × bias, 10 × estimator, debias
    assert cost["`kim`"] == "2, 2 of F"
    assert cost["`sensr`"] == "1, 1 of F; 90 gradients of x before"  # 50 along the sensitive directions, 40 anywhere


def test_whom_bias_labels_are_needed_by_is_told_right():
    needed = {name for name, cells in lines("facts").items() if cells[0] == "not needed"}
    assert needed == {"`vanilla`", "`lff`"}


def test_its_commands_do_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert follow("which-method.md", smaller=str, shorter=brief) == ["train", "train", "train", "report"]
    assert (tmp_path / "compared.html").exists()
