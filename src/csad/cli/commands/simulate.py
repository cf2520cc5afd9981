"""The command that simulates people who tap, in the files of the mPower study, together with their truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.completion import effects
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import Json, Quiet


@one_sentence
def simulate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or an empty folder, such as DATA/mpower.")],
    people: Annotated[int, typer.Option(help="Number of people.")] = 3000,
    effect: Annotated[
        str, typer.Option(help="Effect of the disease on tapping: small, medium or large.", autocompletion=effects)
    ] = "medium",
    age_effect: Annotated[
        float, typer.Option(help="Effect of age on tapping, as a multiple of the usual one. 0 switches it off.")
    ] = 1.0,
    age_bias: Annotated[
        float,
        typer.Option(help="Log odds ratio of the disease per ten years of age. If negative, the young are ill."),
    ] = 1.0,
    records: Annotated[int, typer.Option(help="Number of records of each person.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate people who tap, with and without Parkinson's disease, in mPower's files, with truth.json beside them."""
    import shlex

    from csad.data.datasets.mpower_simulated import simulate as write_world

    console = Console(as_json, quiet)
    truth = write_world(
        folder, people=people, effect=effect, age_effect=age_effect, age_bias=age_bias, records=records, seed=seed
    )
    ill = sum(person["parkinson"] for person in truth["people"].values())
    root = folder.parent if folder.name == "mpower" else folder  # csad looks in a folder "mpower", then in its parent
    answer = {
        "folder": str(folder), "data_root": str(root), "truth": str(folder / "truth.json"), "records": people * records,
        "parkinson": ill, **{key: truth[key] for key in ("world", "disease_effect", "ceiling_auc")},
    }  # fmt: skip

    def show() -> None:
        each = "a record" if records == 1 else f"{records:,} records"
        echo(f"Written: {folder} ({people:,} people with {each} each; {ill:,} have the disease).")
        echo(f"Highest possible AUC among people of one age: about {truth['ceiling_auc']:.3f}.")
        echo(f"True values: {answer['truth']}. To train, run: csad train mpower --data-root {shlex.quote(str(root))}")

    console.answer(answer, show)
