"""What can be wrong with pictures and series that a user's table names, or holds in its columns, case by case."""

from __future__ import annotations

from own_case import PREDICT, Case
from own_faults import faces, many_faces, many_walks, table, trapped_walk, walks
from people_tables import SHORT, N

FACES = [
    "train", "faces.csv", "--target", "bright", "--bias", "hue", "--image", "file", "--images", "faces.zip",
    "--set", "data.size=8", *SHORT, "--out", "new",
]  # fmt: skip
WALKS = [
    "train", "walks.csv", "--target", "ill", "--bias", "sex", "--series", "file", "--series-in", "walks.zip",
    "--set", "net.filters=4", "--set", "net.layers=1", *SHORT, "--out", "new",
]  # fmt: skip
STEPS = ["train", "own.csv", "--target", "income", "--bias", "gender", "--series-columns", "t", *SHORT, "--out", "new"]

FILE_CASES = [
    # Pictures.
    Case(
        "a picture outside the archive",
        FACES,
        "Image '../7.png' lies outside its folder or archive",
        faces(lambda k: f"../{k}.png" if k == 7 else f"{k}.png"),
    ),
    Case(
        "a picture by its full path",
        FACES,
        "Image '/etc/passwd' lies outside",
        faces(lambda k: "/etc/passwd" if k == 0 else f"{k}.png"),
    ),
    Case(
        "a picture that is not there",
        FACES,
        "faces.zip lacks 1 of the 80 images that are listed, the first is 'none.png'",
        faces(lambda k: "none.png" if k == 0 else f"{k}.png"),
    ),
    Case(
        "pictures that are not beside their table",
        [word for word in FACES if word not in ("--images", "faces.zip")],
        "lacks 80 of the 80 images that are listed, the first is '0.png': give the whole file, or a list of only those "
        "that are there. If they lie elsewhere, say where: --images PLACE.",
        faces(),
    ),
    Case("pictures that cannot be read", FACES, "broken", faces(broken=(1, 2, 3, 4))),
    Case(
        "an archive that is none",
        FACES,
        "faces.zip is cut short or not what its name says",
        lambda f: [faces()(f), (f / "faces.zip").write_bytes(b"PK")],
    ),
    # Series.
    Case(
        "a series outside the archive",
        WALKS,
        "Series '../7.csv' lies outside its folder or archive",
        walks(lambda k: f"../{k}.csv" if k == 7 else f"{k}.csv"),
    ),
    Case(
        "series that are not beside their table",
        [word for word in WALKS if word not in ("--series-in", "walks.zip")],
        "If they lie elsewhere, say where: --series-in PLACE.",
        walks(),
    ),
    Case(
        "a series that is not there",
        WALKS,
        "walks.zip lacks 1 of the 80 series that are listed, the first is 'none.csv'",
        walks(lambda k: "none.csv" if k == 0 else f"{k}.csv"),
    ),
    Case(
        "a file that is no series",
        WALKS,
        "Series '0.png' cannot be read: series are .csv or .npy files, one each.",
        walks(lambda k: "0.png" if k == 0 else f"{k}.csv"),
    ),
    Case(
        "series with words in them",
        WALKS,
        "1 of 80 series in walks.zip cannot be used, the first is '3.csv': its column 1 holds something else",
        walks(broken={"3.csv": b"x,y\n1,2\nold,3\n"}),
    ),
    Case(
        "series of other channels",
        WALKS,
        "the first is '3.csv': it has 1 channels where others have 2",
        walks(broken={"3.csv": b"1\n2\n"}),
    ),
    Case("series of Python objects", WALKS, "'trap.npy': it holds something else than numbers", trapped_walk),
    Case(
        "an archive of series that is none",
        WALKS,
        "walks.zip is cut short or not what its name says",
        lambda f: [walks()(f), (f / "walks.zip").write_bytes(b"PK")],
    ),
    Case(
        "series that lie nowhere",
        WALKS,
        "The series walks.zip are not there: give --series-in FOLDER",
        lambda f: [walks()(f), (f / "walks.zip").unlink()],
    ),
    Case("a length that is none", [*WALKS, "--set", "data.length=0.5"], "data.length must be a whole number", walks()),
    Case("no column of steps", STEPS, "two columns or more that begin with 't' and end in a number"),
    Case("one column of steps", STEPS, "own.csv has 1.", table({"t1": [1] * N})),
    Case(
        "words for steps",
        STEPS,
        "Column 't1' of own.csv is a step of the series, so it must hold numbers.",
        table({"t0": [1] * N, "t1": ["a", "b"] * (N // 2)}),
    ),
    Case("steps and files", [*STEPS, "--series", "city"], "--series and --series-columns each say what x is made of"),
    Case("steps and columns to drop", [*STEPS, "--drop", "who"], "--drop means nothing with --series-columns"),
    Case("steps and the bias among them", [*STEPS, "--keep-bias"], "--keep-bias means nothing with --series-columns"),
    Case(
        "a place of series for columns", [*STEPS, "--series-in", "."], "--series-in says where series lie: give --ser"
    ),
    Case("a place of series to predict for", [*PREDICT, "--series-in", "."], "--series-in on series: leave it out"),
    # What is odd, and yet works.
    Case(
        "one unreadable picture of many",
        FACES,
        "One picture is broken and left out: 5.png.",
        many_faces,
        works=True,
    ),
    Case(
        "one unreadable series of many",
        WALKS,
        "One series is broken and left out: bad.csv (it is empty, or larger than 256 MB).",
        many_walks,
        works=True,
    ),
]
