"""The page of results: tables that commands of ours have made, and what our benchmarks measured."""

import json
import statistics
import textwrap

import searches
from choices import RESULTS
from paired import Comparison

from csad.report.formatting import signed
from csad.reproduction.result_table import from_json

METHODS = ("vanilla", "csad")


def digits_figures():
    runs = json.loads((RESULTS / "demo.json").read_text())["runs"]
    return {name: [run[name] for run in runs] for name in METHODS}


def summary(figures):
    return f"{statistics.mean(figures):.3f} ± {statistics.stdev(figures):.3f}"


def seed_table(figures):
    columns = ["method", "seed 0", "seed 1", "seed 2", "mean ± std"]
    rows = [[name, *(f"{one:.4f}" for one in found), summary(found)] for name, found in figures.items()]
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


def photos_text():
    found = json.loads((RESULTS / "images.json").read_text())
    about, ratios = found["environment"], found["ratios"]
    text = f"""
        `python benchmarks/images.py --json docs/results/images.json`: made-up photographs of {about["size"]} ×
        {about["size"]} pixels on the GPU, ResNet-18, mini-batches of {about["batch"]}, {about["precision"]}, beside a
        plain torch loop. {about["device"]}, torch {about["torch"]}. An epoch of CSAD takes
        {ratios["csad_epoch_beside_vanilla"]:.2f} times vanilla's; vanilla has {ratios["vanilla_beside_plain"]:.2f}
        times the plain loop's throughput. The cache is filled with {found["decoding"]["per_second"]:,.0f} JPEGs a
        second."""
    return textwrap.fill(" ".join(text.split()), 120)


def photos_table():
    lines = json.loads((RESULTS / "images.json").read_text())["lines"]
    rows = [
        [name, f"{1000 * line['seconds']:.1f}", f"{line['images_per_second']:,.0f}", f"{line['epoch']:.1f}",
         f"{line['gib']:.1f}"]
        for name, line in lines.items()
    ]  # fmt: skip
    return searches.table(["", "ms per mini-batch", "images per second", "seconds per epoch of CelebA", "GiB"], rows)


def scale_table():
    sizes = json.loads((RESULTS / "table-scale.json").read_text())["sizes"]
    steps = [name for name, value in sizes[0].items() if isinstance(value, dict)]
    rows = [[step, *(f"{size[step]['processor_seconds']:.1f}" for size in sizes)] for step in steps]
    peaks = [max(size[step]["peak_gb"] for step in steps) for size in sizes]
    rows.append(["most memory, GB", *(f"{peak:.2f}" for peak in peaks)])
    return searches.table(["seconds of one core", *(f"{size['rows']:,} rows" for size in sizes)], rows)


PEERS = ("balanced_accuracy", "gap_gender_rms", "gap_race_rms", "gap_gender_max", "gap_race_max")


def peers():
    return json.loads((RESULTS / "adult-peers.json").read_text())


def peers_text():
    found = peers()
    about, asked, ratios = found["environment"], found["settings"], found["ratios"]
    splits = list(dict.fromkeys(str(row["split"]) for row in found["rows"]))
    weights = ",".join(f"{weight:g}" for weight in asked["weights"])
    text = f"""
        `python benchmarks/adult_peers.py --method {asked["method"]} --weights {weights} --splits {",".join(splits)}
        --json docs/results/adult-peers.json`: Adult's test rows, means of {len(splits)} splits, beside fairlearn
        {about["fairlearn"]}'s AdversarialFairnessClassifier with the same net, inputs and length of training. Weights
        are chosen on {asked["validation"]:.0%} of the training rows: {asked["rule"]}. In brackets 95 % intervals over
        splits (Student's t). Ours / theirs: mean of both RMS gaps {ratios["mean_gap"]:.2f}, time of training
        {ratios["training_s"]:.2f}, time of choice {ratios["choice_s"]:.2f}. {about["device"]}, torch
        {about["torch"]}."""
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)


def peers_table():
    found = peers()
    rows = [
        [line["contestant"], *(f"{line[figure]:.3f}" for figure in PEERS),
         *(f"{line[seconds]:.1f}" for seconds in ("training_s", "choice_s"))]
        for line in found["means"]
    ]  # fmt: skip
    theirs, ours = (
        [row for row in found["rows"] if row["contestant"] == mean["contestant"]] for mean in found["means"]
    )
    rows.append(["ours − theirs", *(difference(ours, theirs, figure) for figure in PEERS), "", ""])
    heads = [figure.replace("_", " ") for figure in PEERS]
    return searches.table(["", *heads, "training, s", "choice, s"], rows)


def difference(ours, theirs, figure):
    """The mean of a figure's differences, split by split, and its interval."""
    found = Comparison(figure, "", [mine[figure] - other[figure] for mine, other in zip(ours, theirs, strict=True)])
    return f"{signed(found.mean)} [{', '.join(map(signed, found.interval))}]"


def earlier_peers_text():
    """The run after which the rule was changed, from the lines that it printed before it broke off."""
    file = "adult-peers-one-floor.txt"
    lines = [line for line in (RESULTS / file).read_text().splitlines() if not line.startswith("#")]
    theirs, ours = (
        [line.removeprefix(who).split() for line in lines if line.startswith(who)]
        for who in ("fairlearn", "csad: csad-content")
    )
    told = {
        who: ", ".join(f"{statistics.mean(float(row[k + 1]) for row in rows):.3f}" for k in range(len(PEERS)))
        for who, rows in (("ours", ours), ("theirs", theirs))
    }
    text = f"""
        The rule was changed after test rows had been seen. A run before it, in which the floor was the same for both,
        [broke off]({file}) after {len(ours)} splits; the figures of the table's columns were {told["ours"]} (ours) and
        {told["theirs"]} (theirs): ours was the fairer one, and less accurate, so that nothing could be told."""
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)


def made_tables():
    """A line for each table that a command of ours has written."""
    lines = [f"- [{table.title}]({path.stem}.md)" for path, table in tables().items()]
    return "\n\nTables, by `csad reproduce`:\n\n" + "\n".join(lines) if lines else ""


def tables():
    """All of them, by the file that holds each."""
    made = [path for path in sorted(RESULTS.glob("*.json")) if path.with_suffix(".tex").exists()]
    return {path: from_json(json.loads(path.read_text())) for path in made}


def results_page():
    timed = json.loads((RESULTS / "iteration.json").read_text())["environment"]
    return f"""# Results

Written by `make docs` from the files beside this one. Figures of the test split with the weights of the last epoch,
where a table says nothing else. Seeds differ in weights and in the order of mini-batches; the colours of the digits are
the same in all runs (`data.seed` 0). We chose nothing by looking at the test split, unless a table says so; the preset
`authors` has the epochs and the λ of the authors' code, which looks at the test split after each epoch.

Which of the paper's claims about Colored MNIST these files bear out: [claims.md](claims.md).{made_tables()}

## Digits

`csad demo --seed 0,1,2 --json`, kept as `demo.json`. Rate, weight decay and epochs were chosen on the validation split,
with other seeds.

{seed_table(digits_figures())}

## Beside fairlearn

{peers_text()}

{peers_table()}

{earlier_peers_text()}

## Speed

`python benchmarks/iteration.py --json docs/results/iteration.json`: one iteration of CSAD on coloured digits, all inner
steps included, as a plain textbook program, step by step, recorded as a CUDA graph, and R runs as one program.
{timed["device"]}, torch {timed["torch"]}, {timed["precision"]}.

{speed_table()}

## Photographs

{photos_text()}

{photos_table()}

## Large tables

`python benchmarks/table_scale.py --json docs/results/table-scale.json`: made-up CSV files of 50 columns, one epoch
of each stage, readers on at most 20,000 rows.

{scale_table()}
"""
