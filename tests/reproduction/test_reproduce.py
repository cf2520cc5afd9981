"""A table from its runs: its cells are their figures, its forms say the same, and what is there is not done again."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from csad.errors import InputError
from csad.messages import message
from csad.reproduction.reproduce import reproduce as reproduce_anywhere
from csad.reproduction.result_table import ResultTable, as_json, as_latex, as_markdown, from_json
from tests.support.messages import noticed, refused
from tests.support.own_data import toy_table


def reproduce(name: str, **options: Any) -> ResultTable:
    return reproduce_anywhere(name, device="cpu", **options).table


SHORT = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 200, "net.filters": 2, "net.branch": 8}
ROWS, COLUMNS = ("vanilla", "grey"), ("0.020", "0.050")

# A table of one's own on toys: a paper's numbers, a setting per column, a row that diverges in one column.
OWN = """
[rows.plain]
label = "Plain"
method = "vanilla"
paper = [0.5, 0.625]

[rows.wild]
label = "Wild"
method = "vanilla"
set = { "train.pretrain_rate" = [0.001, 1e30] }
"""
QUICK = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32, "data.rows": 64}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ResultTable]:
    place = tmp_path_factory.mktemp("digits") / "out"
    return place, reproduce("digits", rows=ROWS, seeds=2, settings=SHORT, out=place, command="csad …")


@pytest.fixture
def own(declare: Callable[[str], None]) -> str:
    facts = {"title": "Toys & co.", "metrics": ["balanced_accuracy"], "split": "validation", "notes": ["A note."]}
    declare(toy_table(OWN, **facts))
    return "toys"


def results(place: Path, row: str, column: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((place / row / column).glob("*/result.json"))]


def written(place: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path.relative_to(place)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files(place)}


def files(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*") if path.is_file())


def printed(value: float) -> str:
    return f"{round(value + 1e-9, 3):.3f}".removeprefix("0")


def test_every_cell_is_mean_and_standard_deviation_of_its_runs(made: tuple[Path, ResultTable]) -> None:
    place, table = made
    found = json.loads((place / "digits-part.json").read_text())
    assert found == json.loads(json.dumps(as_json(table)))
    assert [(row["method"], row["column"]) for row in found["rows"]] == [
        (row, column) for row in ROWS for column in COLUMNS
    ]
    for row in found["rows"]:
        values = [one["metrics"]["test"]["accuracy"] for one in results(place, row["method"], row["column"])]
        assert len(values) == 2
        assert row == {
            "method": row["method"],
            "column": row["column"],
            "metric": "accuracy",
            "values": dict(zip(("10", "11"), values, strict=True)),
            "mean": pytest.approx(mean(values), abs=1e-12),
            "std": pytest.approx(stdev(values), abs=1e-12),
            "n": 2,
            "paper": None,
        }


def test_the_table_says_what_made_it(made: tuple[Path, ResultTable]) -> None:
    found = json.loads((made[0] / "digits-part.json").read_text())
    assert {"table", "selection", "command", "environment", "rows"} <= found.keys()
    assert (found["table"], found["selection"], found["command"]) == ("digits", "last epoch", "csad …")
    assert found["environment"] == results(made[0], "vanilla", "0.020")[0]["environment"]
    assert "train.target_epochs=1, train.epochs=1" in found["notes"][-1]


def test_markdown_and_latex_say_what_the_json_says(made: tuple[Path, ResultTable]) -> None:
    place, _ = made
    found = json.loads((place / "digits-part.json").read_text())
    markdown, latex = ((place / f"digits-part.{end}").read_text() for end in ("md", "tex"))
    assert markdown == as_markdown(from_json(found))
    assert latex == as_latex(from_json(found))
    for name in ROWS:
        cells = [f"{printed(row['mean'])} ± {printed(row['std'])}" for row in found["rows"] if row["method"] == name]
        label = found["labels"][name]
        assert f"| {label} | {' | '.join(cells)} |" in markdown
        assert f"{label} & {' & '.join(cells)} \\\\".replace("±", r"$\pm$") in latex
    assert "| Color variance σ² | 0.020 | 0.050 |" in markdown


def test_every_run_is_an_ordinary_folder_of_its_row_column_and_seed(made: tuple[Path, ResultTable]) -> None:
    place, _ = made
    runs = sorted(str(path.parent.relative_to(place)) for path in place.rglob("result.json"))
    assert runs == sorted(f"{row}/{column}/{seed}" for row in ROWS for column in COLUMNS for seed in (10, 11))
    for run in runs:
        row, column, seed = run.split("/")
        result = json.loads((place / run / "result.json").read_text())
        assert {path.name for path in (place / run).iterdir()} == {
            "config.toml",
            "rows.json",
            "log.jsonl",
            "result.json",
        }
        assert (result["method"], result["seed"], result["task"]) == ("vanilla", int(seed), "digits")
        data = result["settings"]["data"]
        assert (data["color_variance"], data["coloring"]) == (float(column), "grey" if row == "grey" else "biased")
        assert result["stacked"] == 8


def test_rows_that_differ_only_in_their_data_are_one_program(tmp_path: Path, heard: Any) -> None:
    reproduce(
        "digits", rows=("vanilla", "oracle"), columns=[".02"], seeds=1, settings=SHORT, out=tmp_path, listener=heard
    )
    assert heard.said[0] == message("runs-planned", name="digits", runs=2)
    assert noticed(heard.said[1:2], "training-forecast", runs=2, programs=1, device="the CPU")


def test_given_again_it_trains_nothing_and_says_the_same(
    made: tuple[Path, ResultTable], tmp_path: Path, heard: Any
) -> None:
    place = tmp_path / "again"
    shutil.copytree(made[0], place)
    before = written(place)
    again = reproduce("digits", rows=ROWS, seeds=2, settings=SHORT, out=place, listener=heard, command="csad …")
    after = written(place)
    assert heard.steps == []
    assert heard.said == [message("runs-finished-before", name="digits", runs=8, finished=8)]
    assert as_json(again) == as_json(made[1])
    assert {name: content for name, (_, content) in after.items()} == {n: content for n, (_, content) in before.items()}
    tables = {f"digits-part.{end}" for end in ("json", "md", "tex")}
    assert {name for name in after if after[name] != before[name]} <= tables


def test_more_seeds_and_columns_are_added_to_the_runs_that_are_there(tmp_path: Path, heard: Any) -> None:
    one = reproduce("digits", rows=["vanilla"], columns=[".05"], seeds=1, settings=SHORT, out=tmp_path, listener=heard)
    assert (one.cells[0].n, one.cells[0].std) == (1, None)
    before = written(tmp_path / "vanilla")
    more = reproduce("digits", rows=["vanilla"], seeds=2, settings=SHORT, out=tmp_path, listener=heard)
    assert [(cell.column, cell.n) for cell in more.cells] == [("0.020", 2), ("0.050", 2)]
    after = written(tmp_path / "vanilla")
    assert {name: after[name] for name in before} == before


def test_other_settings_do_not_mix_with_the_runs_that_are_there(
    made: tuple[Path, ResultTable], tmp_path: Path, heard: Any
) -> None:
    place = tmp_path / "again"
    shutil.copytree(made[0], place)
    before = written(place)
    with refused("run-settings-changed", settings="train.epochs"):
        reproduce("digits", rows=ROWS, seeds=2, settings=SHORT | {"train.epochs": 2}, out=place, listener=heard)
    assert written(place) == before


def test_a_result_that_was_half_written_is_no_result(tmp_path: Path, heard: Any) -> None:
    options: dict[str, Any] = {"rows": ["vanilla"], "columns": [".02"], "seeds": 1, "settings": SHORT, "out": tmp_path}
    whole = reproduce("digits", listener=heard, **options)
    result = tmp_path / "vanilla" / "0.020" / "10" / "result.json"
    result.rename(result.with_name("result.json.new"))
    again = reproduce("digits", listener=heard, **options)
    assert again.cells == whole.cells
    assert result.exists()


def test_a_folder_in_which_a_kill_left_half_a_config_is_begun_anew(tmp_path: Path, heard: Any) -> None:
    run = tmp_path / "vanilla" / "0.020" / "10"
    run.mkdir(parents=True)
    (run / "config.toml.new").write_text('csad = "0.1')
    made = reproduce("digits", rows=["vanilla"], columns=[".02"], seeds=1, settings=SHORT, out=tmp_path, listener=heard)
    assert made.cells[0].n == 1


def test_the_papers_numbers_stand_beside_ours(own: str, tmp_path: Path, heard: Any) -> None:
    made = reproduce(own, rows=["plain"], settings=QUICK, out=tmp_path / "out", listener=heard)
    assert [(cell.metric, cell.paper) for cell in made.cells] == [
        ("balanced_accuracy", 0.5),
        ("balanced_accuracy", 0.625),
    ]
    for cell in made.cells:
        found = results(tmp_path / "out", "plain", cell.column)
        values = [one["metrics"]["validation"]["balanced_accuracy"] for one in found]
        assert [one["seed"] for one in found] == [3, 4]
        assert cell.mean == pytest.approx(mean(values), abs=1e-12)
    markdown = (tmp_path / "out" / "toys-part.md").read_text()
    beside = re.search(r"^\| paper \| (.*) \| (.*) \|$", markdown, re.MULTILINE)
    assert beside
    for text, cell in zip(beside.groups(), made.cells, strict=True):
        assert f" {printed(cell.paper)} (" in text
        ours, theirs = round(cell.mean + 1e-9, 3), cell.paper
        assert text[0] == ("▲" if ours > theirs else "▼" if ours < theirs else "=")


def test_a_seed_that_is_a_setting_gives_each_run_data_of_its_own(
    declare: Callable[[str], None], tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = {"column": "", "columns": ["Toys"], "seed_sets": "data.seed", "metrics": ["accuracy", "balanced_accuracy"]}
    quick = "".join(f'"{name}" = {value}\n' for name, value in QUICK.items())
    plot = "[plot]\nx = 'accuracy'\ny = ['balanced_accuracy']\n"
    declare(toy_table(f"[set]\n{quick}{plot}[rows.vanilla]\n", **one))
    rows = '[rows.vanilla]\ntable = "toys"\n[rows.other]\nmethod = "vanilla"\n'
    (tmp_path / "tables" / "more.toml").write_text(toy_table(f"[set]\n{quick}{rows}", **one))
    made = reproduce("toys", listener=heard)
    found = results(Path("runs/toys"), "vanilla", "Toys")
    assert [run["settings"]["data"]["seed"] for run in found] == [run["seed"] for run in found] == [3, 4]
    assert noticed(heard.said, "training-forecast", runs=2, programs=1)
    assert Path("runs/toys/toys.svg").read_text().startswith("<svg ")

    # Another table that has this row takes the runs from where they are …
    again = reproduce("more", listener=heard)
    assert noticed(heard.said, "runs-finished-before", name="more", runs=4, finished=2)
    assert again.cells[:2] == made.cells
    assert not Path("runs/more/vanilla").exists()
    assert not list(Path("runs/more").glob("*.svg"))
    # … unless it is to be kept elsewhere.
    reproduce("more", rows=["vanilla"], out=".", listener=heard)
    assert finished(tmp_path / "toys") == finished(tmp_path / "runs" / "toys")


def finished(place: Path) -> list[Path]:
    return sorted(path.relative_to(place) for path in place.rglob("result.json"))


def test_runs_that_are_lost_are_in_no_cell_and_the_notes_say_so(own: str, tmp_path: Path, heard: Any) -> None:
    made = reproduce(own, settings=QUICK, out=tmp_path / "out", listener=heard)
    assert [(cell.method, cell.column, cell.n) for cell in made.cells] == [
        ("plain", "0.7", 2),
        ("plain", "0.9", 2),
        ("wild", "0.7", 2),
    ]
    assert made.notes[-1] == message("lost-runs-in-table", runs="wild 0.9 seed 3, wild 0.9 seed 4")
    assert all(math.isfinite(cell.mean) for cell in made.cells)
    assert re.search(
        r"^\| Wild \| \.\d+ ± \.\d+ \| – \|$", (tmp_path / "out" / "toys-part.md").read_text(), re.MULTILINE
    )


def test_the_runs_that_are_lost_are_named_beside_the_table(own: str, tmp_path: Path, heard: Any) -> None:
    made = reproduce_anywhere(own, settings=QUICK, out=tmp_path / "out", listener=heard, device="cpu")
    assert made.lost == ["wild 0.9 seed 3", "wild 0.9 seed 4"]
    assert made.path == tmp_path / "out" / f"{own}-part"


def test_a_table_all_of_whose_runs_are_lost_is_not_written(own: str, tmp_path: Path, heard: Any) -> None:
    with pytest.raises(Exception, match="No run of toys") as caught:
        reproduce(own, rows=["wild"], columns=["0.9"], settings=QUICK, out=tmp_path / "out", listener=heard)
    assert not list((tmp_path / "out").glob("toys*.*"))
    assert not isinstance(caught.value, InputError), "the user's input was not wrong"


def test_a_setting_that_only_some_rows_have_is_told_before_anything_is_written(tmp_path: Path, heard: Any) -> None:
    with refused("setting-of-other-method", name="debias_weight"):
        reproduce(
            "digits", rows=["csad", "vanilla"], settings={"debias_weight": 2}, out=tmp_path / "out", listener=heard
        )
    assert not (tmp_path / "out").exists()


def test_weights_are_kept_if_asked_for(tmp_path: Path, heard: Any) -> None:
    options: dict[str, Any] = {"rows": ["vanilla"], "columns": [".02"], "seeds": 1, "settings": SHORT}
    reproduce("digits", out=tmp_path, listener=heard, keep_weights=True, **options)
    assert (tmp_path / "vanilla" / "0.020" / "10" / "checkpoint" / "state.safetensors").exists()
