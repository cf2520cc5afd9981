"""What can be wrong with pictures and series that a user's table names, or holds in its columns, case by case."""

from __future__ import annotations

import re

from tests.support.messages import Refusal
from tests.support.own_case import PREDICT, Case
from tests.support.own_faults import faces, many_faces, many_walks, table, trapped_walk, walks
from tests.support.people_tables import SHORT, N

FACES = [
    "train", "faces.csv", "--target", "bright", "--bias", "hue", "--image", "file", "--images", "faces.zip",
    "--set", "data.size=8", *SHORT, "--out", "new",
]  # fmt: skip
WALKS = [
    "train", "walks.csv", "--target", "ill", "--bias", "sex", "--series", "file", "--series-in", "walks.zip",
    "--set", "net.filters=4", "--set", "net.layers=1", *SHORT, "--out", "new",
]  # fmt: skip
STEPS = ["train", "own.csv", "--target", "income", "--bias", "gender", "--series-columns", "t", *SHORT, "--out", "new"]


def missing(files: str, name: str) -> Refusal:
    return Refusal("files-missing", missing=80, total=80, files=files, name=name)


FILE_CASES = [
    # Pictures.
    Case(
        "a picture outside the archive",
        FACES,
        Refusal("path-leaves-folder", files="Image", name="../7.png"),
        faces(lambda k: f"../{k}.png" if k == 7 else f"{k}.png"),
    ),
    Case(
        "a picture by its full path",
        FACES,
        Refusal("path-leaves-folder", files="Image", name="/etc/passwd"),
        faces(lambda k: "/etc/passwd" if k == 0 else f"{k}.png"),
    ),
    Case(
        "a picture that is not there",
        FACES,
        Refusal("files-missing", source="faces.zip", missing=1, total=80, files="images", name="none.png"),
        faces(lambda k: "none.png" if k == 0 else f"{k}.png"),
    ),
    Case(
        "pictures that are not beside their table",
        [word for word in FACES if word not in ("--images", "faces.zip")],
        Refusal("files-may-be-elsewhere", problem=missing("images", "0.png"), option="--images"),
        faces(),
    ),
    Case(
        "pictures that cannot be read",
        FACES,
        Refusal("too-many-broken-images", tolerated=0.01),
        faces(broken=(1, 2, 3, 4)),
    ),
    Case(
        "an archive that is none",
        FACES,
        Refusal("archive-unreadable", file="faces.zip"),
        lambda f: [faces()(f), (f / "faces.zip").write_bytes(b"PK")],
    ),
    # Series.
    Case(
        "a series outside the archive",
        WALKS,
        Refusal("path-leaves-folder", files="Series", name="../7.csv"),
        walks(lambda k: f"../{k}.csv" if k == 7 else f"{k}.csv"),
    ),
    Case(
        "series that are not beside their table",
        [word for word in WALKS if word not in ("--series-in", "walks.zip")],
        Refusal("files-may-be-elsewhere", problem=missing("series", "0.csv"), option="--series-in"),
        walks(),
    ),
    Case(
        "a series that is not there",
        WALKS,
        Refusal("files-missing", source="walks.zip", missing=1, total=80, files="series", name="none.csv"),
        walks(lambda k: "none.csv" if k == 0 else f"{k}.csv"),
    ),
    Case(
        "a file that is no series",
        WALKS,
        Refusal("series-file-ending", name="0.png"),
        walks(lambda k: "0.png" if k == 0 else f"{k}.csv"),
    ),
    Case(
        "series with words in them",
        WALKS,
        Refusal(
            "too-many-broken-series", count=1, total=80, place="walks.zip", name="3.csv", reason=re.compile("column 1 ")
        ),
        walks(broken={"3.csv": b"x,y\n1,2\nold,3\n"}),
    ),
    Case(
        "series of other channels",
        WALKS,
        Refusal("too-many-broken-series", count=1, name="3.csv", reason=re.compile("channels is 1, but 2")),
        walks(broken={"3.csv": b"1\n2\n"}),
    ),
    Case(
        "series of Python objects",
        WALKS,
        Refusal("too-many-broken-series", name="trap.npy", reason=re.compile("not numbers")),
        trapped_walk,
    ),
    Case(
        "an archive of series that is none",
        WALKS,
        Refusal("archive-unreadable", file="walks.zip"),
        lambda f: [walks()(f), (f / "walks.zip").write_bytes(b"PK")],
    ),
    Case(
        "series that lie nowhere",
        WALKS,
        Refusal("series-not-found", place="walks.zip"),
        lambda f: [walks()(f), (f / "walks.zip").unlink()],
    ),
    Case(
        "a length that is none",
        [*WALKS, "--set", "data.length=0.5"],
        Refusal("setting-wrong-type", setting="data.length", expected="a whole number"),
        walks(),
    ),
    Case("no column of steps", STEPS, Refusal("too-few-series-columns", channel="t")),
    Case(
        "one column of steps", STEPS, Refusal("too-few-series-columns", file="own.csv", count=1), table({"t1": [1] * N})
    ),
    Case(
        "words for steps",
        STEPS,
        Refusal("series-step-not-numeric", column="t1", file="own.csv"),
        table({"t0": [1] * N, "t1": ["a", "b"] * (N // 2)}),
    ),
    Case(
        "steps and files",
        [*STEPS, "--series", "city"],
        Refusal("conflicting-x-sources", options="--series and --series-columns"),
    ),
    Case(
        "steps and columns to drop",
        [*STEPS, "--drop", "who"],
        Refusal("option-conflicts-with-source", option="--drop", source="--series-columns", content="series"),
    ),
    Case(
        "steps and the bias among them",
        [*STEPS, "--keep-bias"],
        Refusal("option-conflicts-with-source", option="--keep-bias", source="--series-columns", content="series"),
    ),
    Case(
        "a place of series for columns",
        [*STEPS, "--series-in", "."],
        Refusal("file-column-option-missing", option="--series-in", files="series"),
    ),
    Case("a place of series to predict for", [*PREDICT, "--series-in", "."], Refusal("file-place-not-needed")),
    # What is odd, and yet works.
    Case(
        "one unreadable picture of many",
        FACES,
        Refusal("broken-files-left-out", files="One picture is", names="5.png"),
        many_faces,
        works=True,
    ),
    Case(
        "one unreadable series of many",
        WALKS,
        Refusal("broken-files-left-out", files="One series is", names="bad.csv", reason=re.compile("256 MB")),
        many_walks,
        works=True,
    ),
]
