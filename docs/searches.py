"""The pages on what was tried: each sweep of a search with its question, its figures and what follows."""

import json
import statistics

from choices import RESULTS, chosen_weights, sweeps

from csad.report.formatting import markdown_table, signed


def table(columns, rows):
    return markdown_table(columns, rows, ["---"] * len(columns))


def filled(page, mark, text):
    """The page with a text between the two marks that it has for it."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, rest = page.split(start)
    return f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}"


def grouped(runs, column):
    """The runs by their values but for one, and then by that one."""
    cells = {}
    for run in runs:
        values = dict(run["values"])
        place = values.pop(column, "")
        cells.setdefault(tuple(values.items()), {}).setdefault(place, []).append(run)
    return cells


def weights_table(search, family):
    """The chosen λ of each row, column by column."""
    chosen = chosen_weights(search, family)
    columns = list(next(iter(chosen.values())))
    rows = [[row, *(f"{weights[column]:g}" for column in columns)] for row, weights in chosen.items()]
    return table(["λ", *(f"σ² = {column}" for column in columns)], rows)


def section(name, told, runs, table, left_out):
    """One sweep: what was asked, what was set, what came out, what follows."""
    varied = {key for run in runs for key in run["values"]}
    fixed = [f"`{key}={value}`" for key, value in told["set"].items() if key not in (*varied, *left_out)]
    seeds = sorted({run["seed"] for run in runs})
    preset = [f"preset `{told['preset']}`"] if "preset" in told else []
    about = [told.get("method", "csad"), *preset, *fixed, f"seeds {', '.join(map(str, seeds))}"]
    return f"""## {told["question"]}

Sweep `{name}`: {", ".join(about)}.

{table}

{told["finding"]}
"""


def outcome(runs):
    """The mean at the end and, where the way there was watched, at its best."""
    end = f"{statistics.mean(run['validation'] for run in runs):.4f}"
    if not all(run.get("curve") for run in runs):
        return end
    return f"{end} (best {statistics.mean(max(a for _, a in run['curve']) for run in runs):.3f})"


def colored_mnist(name, told, runs):
    column = "data.color_variance"
    variances = sorted({run["values"].get(column, told["set"][column]) for run in runs})
    cells = grouped(runs, column)
    names = [key for key, _ in next(iter(cells))]
    rows = [
        [*(value for _, value in values), *(outcome(found.get(v) or found[""]) for v in variances)]
        for values, found in cells.items()
    ]
    return section(name, told, runs, table([*names, *(f"σ² = {float(v):.3f}" for v in variances)], rows), {column})


def figures_table(runs, over="", head=lambda place, figure: figure):
    """A line for each setting that was tried: means of its figures over the values of one column, and over seeds.

    ``head`` says under which head a figure stands, by the value of that column and the figure's name.
    """
    tried = []
    for values, found in grouped(runs, over).items():
        told = {}
        for place, several in found.items():
            for run in several:
                for figure, value in run["figures"].items():
                    told.setdefault(head(place, figure.replace("_", " ")), []).append(value)
        tried.append(([value for _, value in values], told))
    heads = list(dict.fromkeys(name for _, told in tried for name in told))
    rows = [
        [*values, *(f"{statistics.mean(told[name]):.3f}" if name in told else "–" for name in heads)]
        for values, told in tried
    ]
    return table([*(key for key in runs[0]["values"] if key != over), *heads], rows)


def adult(name, told, runs):
    splits = told["set"]["data.split"].replace(",", ", ")
    shown = f"Splits {splits}.\n\n{figures_table(runs, 'data.split')}"
    return section(name, told, runs, shown, {"data.split"})


def fairface(name, told, runs):
    """Heads say what was trained on too, since the same photos are seen or not."""
    shown = figures_table(runs, "data.setting", lambda trained, judge: f"{trained}→{judge}")
    return section(name, told, runs, shown, {"data.setting"})


def celeba(name, told, runs):
    return section(name, told, runs, figures_table(runs), ())


def pages():
    """Each page's text by its file's name."""
    return {
        file: "\n".join([head(RESULTS / search), *(write(*sweep) for sweep in sweeps(RESULTS / search))])
        for file, search, head, write in (
            ("colored-mnist-recipes.md", "colored-mnist-search", colored_mnist_head, colored_mnist),
            ("adult-settings.md", "adult-search", lambda _: ADULT, adult),
            ("fairface-settings.md", "fairface-search", lambda _: FAIRFACE, fairface),
            ("wiki-settings.md", "wiki-search", lambda _: WIKI, fairface),
            ("mpower-simulated-settings.md", "mpower-simulated-search", simulated_head, celeba),
            ("celeba-settings.md", "celeba-search", lambda _: CELEBA, celeba),
        )
        if any(sweeps(RESULTS / search))
    }


def colored_mnist_head(search):
    return f"""{COLORED_MNIST}
## The weights of the table

Of the sweeps `lambda-…` below, for each row and column: the λ of the highest mean, on a tie the smaller.

{weights_table(search, "lambda")}
"""


def simulated_head(search):
    told = json.loads((search / "worlds.json").read_text())
    return f"""{SIMULATED}
## In which world does age mislead?

`python benchmarks/tapping_worlds.py`: what logistic regressions on the traits of {told["people"]:,} people, who are
as often ill at every age, tell better than those on people of the world, in AUC where age tells nothing. No net has a
part in it. Worlds are named by how much age shows in tapping and by the logarithm of the odds of the disease per
decade.

{worlds_table(told["rows"])}
"""


def worlds_table(rows):
    """Each world's gaps, a column for each effect."""
    gaps = {}
    for row in rows:
        gaps.setdefault((row["age_effect"], row["age_bias"]), {})[row["effect"]] = row["even"] - row["biased"]
    effects = list(next(iter(gaps.values())))
    lines = [
        [f"{age:g}", f"{bias:g}", *(signed(own[effect]) for effect in effects)] for (age, bias), own in gaps.items()
    ]
    return table(["data.age_effect", "data.age_bias", *effects], lines)


COLORED_MNIST = """# Recipes tried on Colored MNIST

Written by `make docs` from `colored-mnist-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py colored-mnist NAME …` on one H200 (TF32). Figures are accuracies on the last 5,000 training
digits, coloured at random, which were held out of training; the test digits were not read. What a sweep does
not set is as in the authors' code. In brackets the best on the way there, where it was watched. One seed each unless
said otherwise: differences below about .004 say nothing. The sweeps up to `gr` were run with a forerunner of that
program, which looked twice an epoch.
"""

ADULT = """# Settings tried on Adult

Written by `make docs` from `adult-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py adult NAME …`. Figures are means over the splits named, on a fifth of each split's training
rows, which was held out of training; no split's own test rows were looked at (rows recur between splits). What a sweep
does not set is as `common` has it there, or as `csad train adult`. Consistencies and gaps wobble by .02 to .04 from run
to run: differences below .01 say nothing.

The weights of the table's other methods are taken from the sweeps `weight-…`: of those whose balanced accuracy is
within .015 of the paper's for that method, or nearest to it if none is, the one with the smallest mean of both RMS
gaps. CSAD has the settings with the smallest sum of both RMS gaps, of all that were tried on ten splits and have a
balanced accuracy of at least .806. No sweep reads test rows, but the search is not blind to them: CSAD's settings met
them between sweeps, in the table and beside fairlearn, c28's before c29's were taken, c29's before c30 was declared.
"""

FAIRFACE = """# Settings tried on faces

Written by `make docs` from `fairface-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py fairface NAME …`. Figures are balanced accuracies of gender on FairFace, on the opposite
set and on the test set, trained on EB1 and on EB2. In EB1 and EB2 no photo is against the bias, so nothing held out of
them could judge: settings are chosen here, by the highest mean of all four figures. FairFace's own table is therefore
not one of unseen photos, and says so. What a sweep does not set is as `common` has it there, or as
`csad train fairface`. Files of weights are made by `python benchmarks/face_weights.py`, of CelebA's attributes but for
gender and age; with `--attributes plain` of those that by their names go with neither.
"""

CELEBA = """# Settings tried on the part of CelebA

Written by `make docs` from `celeba-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py celeba NAME …`. Figures are those of a fifth of the training images, held out; no image of
another part was looked at. What a sweep does not set is as `common` has it there, or as `csad train celeba`. Settings
are those with the highest unbiased accuracy of all that were tried with two seeds or more; vanilla and LfF, which know
no bias labels, have those with the highest accuracy. Of these two one seed was enough at first, and vanilla with a rate
of 5e-5 and LfF without weight decay had met the test images before `v4` and `weight-lff-3` were taken.
"""

SIMULATED = """# Settings tried on simulated tapping

Written by `make docs` from `mpower-simulated-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py mpower-simulated NAME …`. Figures are those of the test people of worlds that are none of
the tables': that of seed 100 unless a sweep names another. What a sweep does not set is as `common` has it there, or as
`csad train mpower-simulated`. The table mpower-simulated-young has, of each method and for each effect, the settings
with the highest mean AUC, of all that take the best epoch by validation people and were tried in four worlds, of seeds
100 to 103, in which the young are ill; the preset `young-ill` has those of the medium effect. An
[earlier table](mpower-simulated-young-last-epoch.md) had, for all effects, the settings with the highest mean of two
worlds, of all that take the last epoch.
"""

WIKI = """# Settings tried on WIKI faces

Written by `make docs` from `wiki-search/`; the sweeps are declared in its `stacks.toml` and were run with
`python benchmarks/search.py wiki NAME …`. Figures are those of gender on a fifth of the opposite set, trained on EB1
and on EB2; these photos are not trained on, and the table leaves them out. Which settings were tried was laid down
after an earlier table, with FairFace's settings, had shown all photos. `csad train wiki` has, of each method, the
settings with the highest mean of balanced accuracy, of all that were tried with two seeds. One seed had chosen before,
and the table with its choice, since replaced, had shown all other photos too. What a sweep does not set is as `common`
has it there, or as `csad train wiki`.
"""
