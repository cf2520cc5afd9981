"""The command that writes a simulated world of people who tap, in mPower's files, with its truth beside them."""

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
    people: Annotated[int, typer.Option(help="How many.")] = 3000,
    effect: Annotated[
        str, typer.Option(help="How much the disease shows: small, medium or large.", autocompletion=effects)
    ] = "medium",
    age_effect: Annotated[float, typer.Option(help="How much age shows: times the usual; 0: not at all.")] = 1.0,
    age_bias: Annotated[
        float,
        typer.Option(
            help="Logarithm of what ten years multiply the odds of the disease by; below 0: the young are ill."
        ),
    ] = 1.0,
    records: Annotated[int, typer.Option(help="How many of each person.")] = 1,
    seed: Annotated[int, typer.Option(help="People and records follow from it.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make up people who tap, with and without Parkinson's disease: mPower's files, and truth.json with the truth."""
    import shlex

    from csad.data.sets.mpower_simulation import simulate as write_world

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
        echo(f"Best to be reached among people of one age: an AUC of about {truth['ceiling_auc']:.3f}.")
        echo(f"The truth: {answer['truth']}. To train: csad train mpower --data-root {shlex.quote(str(root))}")

    console.answer(answer, show)
