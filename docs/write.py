"""Writes what documents show from what commands found: tables, pictures, the pages in docs/results."""

import json
import re
import statistics
from pathlib import Path

import method_facts
import numpy as np
import searches

from csad.experiments.demo import pictures
from csad.registry import DATASETS
from csad.report.claims import INFERENCE, TABLES, Results
from csad.report.claims_page import claims_page
from csad.report.png import png
from csad.report.tables import from_json

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
METHODS = ("vanilla", "csad")
PAPER = {"vanilla": 0.476, "csad": 0.943}  # Table 1 at σ² = .02
WHY_APART = {}  # row of Table 1 → a sentence on why it lies apart from the paper, where that is known


def digits_figures():
    runs = json.loads((RESULTS / "demo.json").read_text())["runs"]
    return {name: [run[name] for run in runs] for name in METHODS}


def mnist_runs(name):
    paths = sorted((RESULTS / "colored-mnist-authors").glob(f"{name}-*.json"))
    return [json.loads(path.read_text()) for path in paths]


def mnist_figures():
    return {name: [run["metrics"]["test"]["accuracy"] for run in mnist_runs(name)] for name in METHODS}


def summary(figures):
    return f"{statistics.mean(figures):.3f} ± {statistics.stdev(figures):.3f}"


def readme_table():
    digits, mnist = digits_figures(), mnist_figures()
    columns = ["accuracy on random colours", "8 × 8 digits of the demo", "Colored MNIST, σ² = .02", "the paper"]
    rows = [[name, summary(digits[name]), summary(mnist[name]), f"{PAPER[name]:.3f}"] for name in METHODS]
    return f"""{searches.table(columns, rows)}

Mean ± standard deviation of three seeds, last epoch, both methods with the same number of target updates:
[commands and files](docs/results/README.md)."""


def seed_table(figures, paper):
    columns = ["method", "seed 0", "seed 1", "seed 2", "mean ± std", *(["paper"] if paper else [])]
    rows = [
        [name, *(f"{one:.4f}" for one in found), summary(found), *([f"{paper[name]:.3f}"] if paper else [])]
        for name, found in figures.items()
    ]
    return searches.table(columns, rows)


def speed_table():
    lines = json.loads((RESULTS / "iteration.json").read_text())["lines"]
    textbook = {line["rows"]: line["ms"] for line in lines if line["what"] == "textbook"}
    rows = [
        [line["what"], str(line["runs"]), str(line["rows"]), f"{line['ms']:.2f}", f"{line['gib']:.2f}",
         f"{textbook[line['rows']] / line['ms']:.1f}"]
        for line in lines
    ]  # fmt: skip
    return searches.table(["what", "runs R", "rows N", "ms per run and iteration", "GiB", "times the textbook"], rows)


def scale_table():
    sizes = json.loads((RESULTS / "table-scale.json").read_text())["sizes"]
    steps = [name for name, value in sizes[0].items() if isinstance(value, dict)]
    rows = [[step, *(f"{size[step]['processor_seconds']:.1f}" for size in sizes)] for step in steps]
    peaks = [max(size[step]["peak_gb"] for step in steps) for size in sizes]
    rows.append(["most memory, GB", *(f"{peak:.2f}" for peak in peaks)])
    return searches.table(["seconds of one core", *(f"{size['rows']:,} rows" for size in sizes)], rows)


def made_tables():
    """A line for each table that a command of ours has written; "-part": not all of its rows, or columns."""
    tables = [path for path in sorted(RESULTS.glob("*.json")) if is_table(path)]
    titles = {path.stem: from_json(json.loads(path.read_text())).title for path in tables}
    lines = [f"- [{title}]({name}.md)" + ", in part" * name.endswith("-part") for name, title in titles.items()]
    return "\n\nTables, by `csad reproduce`:\n\n" + "\n".join(lines) if lines else ""


def is_table(path):
    return path.with_suffix(".md").exists() and path.with_suffix(".tex").exists()


def results_page():
    about = mnist_runs("csad")[0]["environment"]
    timed = json.loads((RESULTS / "iteration.json").read_text())["environment"]
    return f"""# Results

Written by `make docs` from the files beside this one. Accuracy on the test split, weights of the last epoch. Seeds
differ in weights and in the order of mini-batches; the colours of the digits are the same in all runs (`data.seed` 0).
We chose nothing by looking at the test split; the preset `authors` has the epochs and the λ of the authors' code, which
looks at the test split after each epoch.

Which of the paper's claims about Colored MNIST these files bear out: [claims.md](claims.md).{made_tables()}

## Colored MNIST, σ² = .02, preset `authors`

`csad train colored-mnist --preset authors --method METHOD --seed SEED --data-root DATA`; the `result.json` of each run
is kept in `colored-mnist-authors/`. {about["device"]}, torch {about["torch"]}, {about["precision"]}. Without
`--deterministic` a GPU adds in no fixed order, so a seed does not give the same figure twice.

{seed_table(mnist_figures(), PAPER)}

## Digits

`csad demo --seed 0,1,2 --json`, kept as `demo.json`. Rate, weight decay and epochs were chosen on the validation split,
with other seeds.

{seed_table(digits_figures(), None)}

## Speed

`python benchmarks/iteration.py --json docs/results/iteration.json`: one iteration of CSAD on coloured digits, all inner
steps included, as a plain textbook program, step by step, recorded as a CUDA graph, and R runs as one program.
{timed["device"]}, torch {timed["torch"]}, {timed["precision"]}.

{speed_table()}

## Large tables

`python benchmarks/table_scale.py --json docs/results/table-scale.json`: made-up CSV files of 50 columns, one epoch
of each stage, readers on at most 20,000 rows.

{scale_table()}
"""


def verdicts_page():
    """The page of the paper's claims, from those result files that are there."""
    found = {name: RESULTS / f"{name}.json" for name in (*TABLES, INFERENCE)}
    read = {name: json.loads(path.read_text()) for name, path in found.items() if path.exists()}
    inference = read.pop(INFERENCE, {"rows": []})["rows"]
    return claims_page(Results({name: from_json(value) for name, value in read.items()}, inference), WHY_APART)


def problem_picture(enlarge=7, gap=6):
    """Two rows of training digits over two of test digits, black tiles on a transparent ground."""
    digits = DATASETS["digits"]()
    rows = []
    for split in ("train", "test"):
        tiles = pictures(digits.splits[split])[:20].repeat(enlarge, axis=1).repeat(enlarge, axis=2)
        opaque = np.concatenate([tiles, np.full((*tiles.shape[:3], 1), 255, np.uint8)], axis=3)
        framed = np.pad(opaque, ((0, 0), (gap // 2,) * 2, (gap // 2,) * 2, (0, 0)))
        rows += [np.concatenate(list(framed[k : k + 10]), axis=1) for k in (0, 10)]
        rows.append(np.zeros((3 * gap, rows[0].shape[1], 4), np.uint8))
    return png(np.concatenate(rows[:-1]))


def main():
    readme = (ROOT / "README.md").read_text()
    block = f"<!-- figures -->\n{readme_table()}\n<!-- /figures -->"
    fresh = re.sub(r"<!-- figures -->.*<!-- /figures -->", lambda _: block, readme, flags=re.DOTALL)
    (ROOT / "README.md").write_text(fresh)
    (RESULTS / "README.md").write_text(results_page())
    for name, page in searches.pages().items():
        (RESULTS / name).write_text(page)
    (RESULTS / "claims.md").write_text(verdicts_page())
    method_facts.GUIDE.write_text(method_facts.page(method_facts.GUIDE.read_text()))
    (ROOT / "docs" / "pictures").mkdir(exist_ok=True)
    (ROOT / "docs" / "pictures" / "problem.png").write_bytes(problem_picture())


if __name__ == "__main__":
    main()
