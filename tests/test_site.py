"""The documentation's site is built without a warning, has every public name, and no link on it leads nowhere."""

import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from csad.registry import BACKBONES, METHODS
from tests.support.guide_steps import built_in
from tests.support.paths import DOCS
from tests.test_doors import NAMES

DOORS = {place: f"{door}.{name}" for door, names in NAMES.items() for name, place in names.items()}
LEFT = ("http", "https", "mailto", "data")


class Page(HTMLParser):
    """What a page links to, what is fetched for it, and which places of its own a link may lead to."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.fetched, self.places, self.words = path, [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places.add(found.get("id"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get("src") or (tag == "link" and "href" in found):
            self.fetched.append(found.get("src") or found["href"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages by path, built by the command of `make docs`."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--doctree-dir"]
    told = subprocess.run(
        [*command, str(site / "trees"), str(DOCS), str(site / "html")], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    return {path: Page(path) for path in sorted((site / "html").rglob("*.html"))}


def test_make_docs_builds_as_this_test_does():
    recipe = (DOCS.parent / "Makefile").read_text().split("\ndocs:")[1].split("\n\n")[0]
    assert recipe.index("docs/write.py") < recipe.index(
        "-m sphinx --quiet --fail-on-warning --keep-going docs docs/_site"
    )
    assert "docs/_site/" in (DOCS.parent / ".gitignore").read_text().splitlines()


def test_every_public_name_is_in_the_reference(pages):
    places = {place for path, page in pages.items() if path.parent.name == "api" for place in page.places}
    shown = {place for door, names in NAMES.items() for name, place in names.items() if f"{door}.{name}" in places}
    assert {f"csad.{name}" for name in NAMES["csad"]} <= places
    every = {place for names in NAMES.values() for place in names.values()}
    assert len(every) > 70
    assert every == shown, every - shown


def test_every_method_and_backbone_is_in_the_reference_with_its_settings(pages):
    reference = "".join(path.read_text(encoding="utf-8") for path in pages if path.parent.name == "api")
    for registry in (METHODS, BACKBONES):
        for name, made in built_in(registry).items():
            place = f'id="{DOORS[f"{made.__module__}.{made.__qualname__}"]}"'
            assert place in reference, name
            signature = reference.split(place)[1].split("</dt>")[0]
            settings = {one.name for one in inspect.signature(made).parameters.values() if one.kind is one.KEYWORD_ONLY}
            assert settings <= set(re.findall(r"\w+", signature)), name


def test_what_stands_beside_a_parameter_is_told(pages):
    words = {path.name: " ".join("".join(page.words).split()) for path, page in pages.items()}
    assert "of the last stage; those of pretraining are in settings" in words["classifier.html"]
    assert "a second optimizer for the same part, only where a paper has one" in words["methods.html"]
    assert "K, the paper’s" in words["methods.html"].replace("'", "’")


def test_every_page_of_the_documents_is_on_the_site(pages):
    (root,) = {path.parent for path in pages if path.name == "search.html"}
    for source in DOCS.rglob("*.md"):
        if "_site" not in source.parts:
            assert root / source.relative_to(DOCS).with_suffix(".html") in pages


def test_no_link_leads_nowhere_and_nothing_is_fetched_from_elsewhere(pages):
    count = 0
    for path, page in pages.items():
        assert not [one for one in page.fetched if urlsplit(one).scheme in ("http", "https")]
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme in LEFT:
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            assert target.exists(), f"{path.name} → {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].places, f"{path.name} → {link}"
            count += 1
    assert count > 500


def test_each_of_three_readers_is_one_step_from_the_right_page():
    begin = (DOCS / "index.md").read_text().split("## Where to begin")[1].split("\n## ")[0]
    lines = dict(re.findall(r"^\| \*\*(.+?)\*\*.*\]\(([^)]+)\) \|$", begin, flags=re.M))
    assert lines["a table"] == "guides/own-table.md"
    assert lines["pictures"] == "guides/images.md"
    assert lines["a method, data set, net or metric of your own"] == "guides/extend.md"
