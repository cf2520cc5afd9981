# Everything runs in .venv, which is made from pinned constraints when it is missing or out of date.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: venv demo test page-test lint wheel docs bench clean

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,docs]'
	touch $(READY)

demo: $(READY)
	$(BIN)/csad demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

test: lint
	$(BIN)/python -m pytest -n 2
	@$(BIN)/python -m tests.support.browser

# The report's page in a real browser, which must be there: Chromium or Chrome, or what CSAD_BROWSER names.
page-test: $(READY)
	CSAD_PAGE_TEST=1 $(BIN)/python -m pytest tests/report/test_page_in_browser.py

# First the pages that are made from result files, then the site of all pages, in docs/_site.
docs: $(READY)
	$(BIN)/python docs/write.py
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_site

# Into dist/; needs no .venv.
wheel:
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

bench: $(READY)
	$(BIN)/python benchmarks/iteration.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis docs/_site
