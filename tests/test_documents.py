"""The Python in the documents runs, and the figures in them are those of the files."""

import re
import warnings
from pathlib import Path

import pytest
from scripts import script

from csad.registry import METHODS
from csad.report.latex import as_latex
from csad.report.tables import as_markdown

ROOT = Path(__file__).parent.parent
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


def test_figures_in_the_documents_are_those_of_the_files(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    write = script("docs/write.py")
    assert write.readme_table() in (ROOT / "README.md").read_text()
    assert (ROOT / "docs" / "results" / "README.md").read_text() == write.results_page()
    assert (ROOT / "docs" / "results" / "claims.md").read_text() == write.verdicts_page()
    for name, page in write.searches.pages().items():
        assert (ROOT / "docs" / "results" / name).read_text() == page
    for path, table in write.tables().items():
        assert path.with_suffix(".md").read_text() == as_markdown(table)
        assert path.with_suffix(".tex").read_text() == as_latex(table)
    assert (ROOT / "docs" / "pictures" / "problem.png").read_bytes() == write.problem_picture()
