"""The Python in the documents runs, and the figures in them are those of the files."""

import ast
import re
import warnings

import pytest

from csad.auditing.metrics.metric import METRICS
from csad.registry import METHODS
from csad.reproduction.result_table import as_latex, as_markdown
from tests.support.paths import DOCS, ROOT, SOURCE
from tests.support.scripts import script

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))  # what they tell to do, tests beside the code do


def python_blocks():
    for page in PAGES:
        for k, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)):
            yield pytest.param(block, id=f"{page.name}-{k}")


@pytest.mark.parametrize("block", list(python_blocks()))
def test_examples_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    METHODS.names()  # all there are, before an example adds its own, which no other test is to find
    monkeypatch.setattr(METHODS, "_members", dict(METHODS._members))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(block, "example", "exec"), {"__name__": "example"})


def test_links_lead_somewhere():
    for page in [*PAGES, *GUIDES, *sorted((ROOT / "docs" / "api").glob("*.md"))]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


def names_in(path):
    """The functions and classes of a file; methods with their class."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))


def test_the_walk_names_calls_that_are_there():
    calls = re.findall(r"^\| \d+ \| `([\w.]+)` \| `([\w/.]+)` \|", (DOCS / "walk.md").read_text(), flags=re.MULTILINE)
    assert len(calls) >= 12
    assert [f"{name} in {path}" for name, path in calls if name not in names_in(SOURCE / path)] == []


@pytest.mark.parametrize("page", ["walk.md", "architecture.md"])
def test_files_that_the_pages_on_the_inside_name_are_there(page):
    text = (DOCS / page).read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:/|\.py))`", text)) - {"answers/", "tensorboard/"}
    assert len(named) > 8
    places = [SOURCE, *SOURCE.rglob("*"), ROOT / "tests", *(ROOT / "tests").glob("*.py")]
    there = [f"/{place.relative_to(ROOT)}{'/' * place.is_dir()}" for place in places]
    assert [name for name in named if not any(place.endswith(f"/{name}") for place in there)] == []


def test_figures_in_the_documents_are_those_of_the_files(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    write = script("docs/write.py")
    assert write.readme_table() in (ROOT / "README.md").read_text()
    assert (ROOT / "docs" / "results" / "README.md").read_text() == write.results_page()
    assert (ROOT / "docs" / "results" / "claims.md").read_text() == write.verdicts_page()
    assert write.metrics_table() in write.METRIC_LIST.read_text()
    for name, page in write.searches.pages().items():
        assert (ROOT / "docs" / "results" / name).read_text() == page
    for path, table in write.tables().items():
        assert path.with_suffix(".md").read_text() == as_markdown(table)
        assert path.with_suffix(".tex").read_text() == as_latex(table)
    assert (ROOT / "docs" / "pictures" / "problem.png").read_bytes() == write.problem_picture()


def test_the_guide_names_every_metric_by_which_an_epoch_is_chosen():
    text = (ROOT / "docs" / "guides" / "own-table.md").read_text()
    assert [metric.name for metric in METRICS.all() if metric.selects and f"`{metric.name}`" not in text] == []
