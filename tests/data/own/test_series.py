"""Series of a table, in files or in columns: labels of the table, one length, one unit for each channel, all told."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.own.dataset import TableDataset
from csad.data.own.from_files import from_series
from csad.data.own.load_preprocessor import load_preprocessor
from csad.data.own.preprocessor import NumberEncoder, Unit
from csad.data.own.read_series import Series
from csad.data.own.series import SeriesPreprocessor, WideSeries, default_channels, in_order
from csad.data.samples import Number
from csad.data.tables.infer import table_from_values
from csad.messages import message
from tests.support.csv_tables import write_table
from tests.support.messages import Refusal, codes, noticed, refused
from tests.support.picture_files import as_folder, as_zip

N = 40
LABELS: dict[str, list[Any]] = {
    "ill": ["yes" if k % 2 else "no" for k in range(N)],
    "sex": ["f" if k // 2 % 2 else "m" for k in range(N)],
    "age": [20 + k for k in range(N)],
    "fold": ["test" if k % 8 < 4 else "train" for k in range(N)],
}


def steps(k: int) -> int:
    """As many steps as the series of a row has: of the 20 for training, 18 have 6, one has 4 and one 9."""
    return {4: 4, 5: 9}.get(k, 6)


def text(k: int, *, header: str = "acc,gyro\n") -> bytes:
    """Channel acc is k, k + 1, …, gyro ten times as much."""
    return (header + "".join(f"{k + t},{10 * (k + t)}\n" for t in range(steps(k)))).encode()


FILES = {f"s/{k}.csv": text(k) for k in range(N)}
Make = Callable[..., TableDataset]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(
        files: dict[str, bytes] | None = None, columns: dict[str, Any] | None = None, **settings: Any
    ) -> TableDataset:
        source = as_folder(tmp_path / "all", FILES | (files or {}))
        table = write_table(tmp_path, {"file": list(FILES), **LABELS, **(columns or {})})
        usual = {"target": "ill", "bias": "sex", "series": "file", "series_in": source, "split": "fold"}
        return from_series(table, **(usual | settings))

    return made


def test_every_row_has_its_series_standardised_cut_or_filled_up_and_marked(make: Make) -> None:
    data = make()
    assert data.task.shape == (3, 6)  # nine in ten training series have 6 steps or fewer
    prepared = data.preparation
    assert isinstance(prepared, SeriesPreprocessor)
    assert prepared.channels == ("acc", "gyro")
    trained = [k for k in range(N) if k % 8 >= 4]
    values = np.array([k + t for k in trained for t in range(min(6, steps(k)))], np.float64)
    assert prepared.units[0].middle == pytest.approx(values.mean())
    assert prepared.units[1].size == pytest.approx(10 * values.std())
    for rows in data.splits.values():
        for x, k in zip(rows.x.numpy(), rows.extra["row"].tolist(), strict=True):
            count = min(6, steps(k))
            raw = prepared.units[0].restored(x[0, :count])
            np.testing.assert_allclose(raw, k + np.arange(count), atol=1e-4)
            np.testing.assert_allclose(x[1, :count], x[0, :count], atol=1e-5)
            assert x[:2, count:].tolist() == [[0.0] * (6 - count)] * 2
            assert x[2].tolist() == [0.0] * count + [1.0] * (6 - count)


def test_what_becomes_of_series_is_told(make: Make) -> None:
    data = make()
    told = "series of 6 steps, 2 channels (acc, gyro), and one extra channel that is 1 where "
    assert data.describe()[0].startswith(f"file  40 different words  input: {told}")
    assert " not used, because x contains only the series" in data.describe()[3]
    adjusted = message("series-lengths-adjusted", shortest=4, longest=9, length=6, cut=1, total=20, padded=1)
    assert data.notices == (adjusted,)


def test_a_length_may_be_given_and_series_of_one_length_need_no_mark(make: Make) -> None:
    assert make(length=9).task.shape == (3, 9)
    short = make(length=4)
    assert short.task.shape == (2, 4)
    assert noticed(short.notices[:1], "series-lengths-adjusted", length=4, cut=19, total=20)


def test_nine_in_ten_series_are_whole_at_a_length_that_one_of_them_has(make: Make) -> None:
    lengths = dict(zip((k for k in range(N) if k % 8 >= 4), [5, 5, *range(11, 27), 100, 101], strict=True))
    files = {f"s/{k}.csv": b"acc,gyro\n" + b"1,2\n" * lengths.get(k, 3) for k in range(N)}
    assert make(files).task.shape == (3, 26)  # two of the 20 for training are longer, by far


def test_series_of_one_length_that_lack_nothing_need_no_mark_and_one_lacking_value_does(make: Make) -> None:
    alike = dict.fromkeys(FILES, b"1,2\n3,4\n")
    assert make(alike).task.shape == (2, 2)
    assert make(alike | {"s/6.csv": b"1,\n3,4\n"}).task.shape == (3, 2)


def test_what_is_cut_off_is_not_said_to_be_lacking(make: Make) -> None:
    data = make({"s/5.csv": b"acc,gyro\n" + b"1,2\n" * 6 + b",\n"})  # of the seven steps six are kept
    assert codes(data.notices) == ["series-lengths-adjusted"]


def test_missing_values_are_the_mean_and_marked(make: Make) -> None:
    data = make({"s/6.csv": b"acc,gyro\n1,\n2,20\n3,30\n4,40\n5,50\n6,60\n"})
    row = data.train.extra["row"].tolist().index(6)
    assert data.train.x[row, 1, 0] == 0
    assert data.train.x[row, 2].tolist() == [1, 0, 0, 0, 0, 0]
    assert data.notices[-1] == message("series-with-missing-values", series=1)


def test_channels_go_by_their_names_and_files_without_a_header_by_their_places(make: Make) -> None:
    turned = b"gyro,acc\n" + b"".join(f"{10 * (6 + t)},{6 + t}\n".encode() for t in range(6))
    plain = make()
    for other in (turned, text(6, header="")):
        assert torch.equal(make({"s/6.csv": other}).train.x, plain.train.x)


def test_each_channel_is_found_by_its_own_name() -> None:
    given = Series(np.array([[1, 2, 3]], np.float32), ("b", "c", "a"))
    found = in_order(given, ("a", "b", "c"))
    assert isinstance(found, Series)
    assert found.values.tolist() == [[3, 1, 2]]
    assert in_order(given, ("a", "b", "d")) == "its channels are b, c, a, but a, b, d in other series"
    assert in_order(given, default_channels(3)) == given


def test_arrays_and_texts_give_the_same(make: Make, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[k, 10 * k] for k in range(6, 12)]))
    files = [name.replace("s/6.csv", "s/6.npy") for name in FILES]
    data = make({"s/6.npy": (tmp_path / "a.npy").read_bytes()}, {"file": files})
    assert torch.equal(data.train.x, make().train.x)


def test_one_broken_series_in_a_hundred_is_left_out_and_named(tmp_path: Path) -> None:
    files = {f"{k}.csv": f"{k},1\n{k},2\n".encode() for k in range(150)} | {"7.csv": b"1,2,3\n"}
    columns = {"file": list(files), "y": [k % 2 for k in range(150)], "b": [k // 2 % 2 for k in range(150)]}
    source = as_zip(tmp_path / "all.zip", files)
    data = from_series(write_table(tmp_path, columns), target="y", bias="b", series="file", series_in=source)
    assert sum(map(len, data.splits.values())) == 149
    for rows in data.splits.values():
        first = data.preparation.units[0].restored(rows.x[:, 0, 0].numpy())
        np.testing.assert_allclose(first, rows.extra["row"].numpy(), atol=1e-3)  # each series with its own row
        assert rows.y.tolist() == [k % 2 for k in rows.extra["row"].tolist()]
    [notice] = data.notices
    assert noticed([notice], "broken-files-left-out", files="One series is", names="7.csv")
    assert "number of channels is 3, but 2 in other series" in notice


def test_where_series_are_predicted_for_any_but_all_may_be_broken(make: Make, tmp_path: Path) -> None:
    prepared = make().preparation
    names = ["a.npy", "b.npy", "c.npy"]
    whole = io.BytesIO()
    np.save(whole, np.zeros((5, len(prepared.channels)), np.float32))
    source = as_zip(tmp_path / "new.zip", {"a.npy": b"", "b.npy": whole.getvalue(), "c.npy": b"none"})
    found, notices = prepared.read(source, {"given": names}, tolerated=1)
    assert (found["given"].places.tolist(), found["given"].broken) == ([1], ("a.npy", "c.npy"))
    assert noticed(notices[:1], "broken-files-left-out", files="2 series are", names="a.npy, c.npy")
    with refused("too-many-broken-series", count=2, total=2):
        prepared.read(source, {"given": ["a.npy", "c.npy"]}, tolerated=1)


def test_rows_without_a_series_are_left_out_and_counted(make: Make) -> None:
    data = make(columns={"file": [None if k < 3 else name for k, name in enumerate(FILES)]})
    assert sum(map(len, data.splits.values())) == N - 3
    assert data.notices[0] == message("rows-without-file", column="file", files="series", rows=3)


def test_series_lie_beside_the_table_where_no_place_is_named(make: Make) -> None:
    data = make(columns={"file": [f"all/{name}" for name in FILES]}, series_in="")
    assert torch.equal(data.train.x, make().train.x)


def test_files_whose_rows_are_channels_are_noticed(make: Make) -> None:
    turned = {name: (",".join(map(str, range(12))) + "\n").encode() * 2 for name in FILES}
    assert noticed(make(turned).notices[-1:], "series-may-be-transposed", channels=12, steps=2.0)


WIDE = {f"t{t}": [float(k + t) for k in range(N)] for t in (10, 0, 2, 1)}  # in no order


def test_columns_are_steps_in_the_order_of_their_numbers(make: Make) -> None:
    data = make(columns=WIDE, series="", series_in="", series_columns="t")
    assert data.task.shape == (1, 4)
    prepared = data.preparation
    assert isinstance(prepared, WideSeries)
    assert [column.column for column in prepared.columns] == ["t0", "t1", "t2", "t10"]
    assert {column.mean for column in prepared.columns} == {prepared.columns[0].mean}  # one unit for the channel
    first = data.train.x[0, 0].numpy() * prepared.columns[0].spread + prepared.columns[0].mean
    np.testing.assert_allclose(first, 4 + np.array([0, 1, 2, 10]), atol=1e-4)  # row 4 is the first that is trained on
    assert "t10, t0, … (4 columns)  numbers" in "\n".join(data.describe())


def test_the_unit_of_columns_is_that_of_the_training_rows_and_one_value_alone_has_a_size(make: Make) -> None:
    columns = WIDE | {name: [7.0] * N for name in ("u0", "u1", "u2", "u10")}
    prepared = make(columns=columns, series="", series_in="", series_columns=("t", "u")).preparation
    assert isinstance(prepared, WideSeries)
    values = np.array([k + t for k in range(N) if k % 8 >= 4 for t in (0, 1, 2, 10)], np.float64)
    scaled = [column for column in prepared.columns if isinstance(column, NumberEncoder)]
    assert (scaled[0].mean, scaled[0].spread) == (pytest.approx(values.mean()), pytest.approx(values.std()))
    assert (scaled[-1].mean, scaled[-1].spread) == (7, 1)


def test_rows_that_are_left_out_are_not_said_to_lack_steps(make: Make) -> None:
    lacking = WIDE | {"t2": [None, *WIDE["t2"][1:]], "ill": [None, *LABELS["ill"][1:]]}
    notices = make(columns=lacking, series="", series_in="", series_columns="t").notices
    assert codes(notices) == ["target-missing-in-some-rows"]


def test_a_step_that_two_channels_lack_is_marked_once(make: Make) -> None:
    lacking = [None if k == 4 else float(k) for k in range(N)]
    columns = WIDE | {f"u{t}": WIDE["t0"] for t in (0, 1, 10)} | {"t2": lacking, "u2": lacking}
    data = make(columns=columns, series="", series_in="", series_columns=("t", "u"))
    assert data.train.x[0, 2].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("v-2", "v-1", "v0", "v1"), Refusal("series-order-ambiguous", columns="v-2, v-1, v0, v1")),
        (("v-1", "v0"), Refusal("series-order-ambiguous", columns="v-1, v0")),
        (("v1", "v01"), Refusal("series-order-ambiguous", columns="v1, v01")),
        (("v0", "v1", "v2", "v3"), Refusal("channel-steps-differ", column="v3", channel="t")),
    ],
)
def test_steps_whose_time_is_not_clear_are_an_error(make: Make, names: tuple[str, ...], complaint: Refusal) -> None:
    columns = WIDE | dict.fromkeys(names, WIDE["t0"])
    with refused(complaint):
        make(columns=columns, series="", series_in="", series_columns=("t", "v"))


def test_columns_that_lack_values_are_marked_and_told(make: Make) -> None:
    lacking = WIDE | {"t2": [None if k == 4 else float(k + 2) for k in range(N)]}
    data = make(columns=lacking | {f"u{t}": WIDE["t0"] for t in (0, 1, 2, 10)}, series="", series_columns=("t", "u"))
    assert data.task.shape == (3, 4)
    assert data.train.x[0, :, 2].tolist()[::2] == [0, 1]
    assert data.train.x[:, 2].sum() == 1
    lacks = message("rows-with-missing-steps", rows=1)
    assert data.notices[-1] == lacks
    prepared = data.preparation
    assert isinstance(prepared, WideSeries)
    assert len(prepared.names()) == 12
    table = table_from_values([dict.fromkeys((*WIDE, "u0", "u1", "u2", "u10"), 1.0) | {"t0": None}])
    assert prepared.apply(table).shape == (1, 3, 4)
    assert prepared.notices(table) == [lacks]


def test_a_row_of_x_is_told_by_channel_as_the_user_has_it(make: Make) -> None:
    files, wide = make(), make(columns=WIDE, series="", series_in="", series_columns="t")
    assert isinstance(files.preparation, SeriesPreprocessor)
    assert isinstance(wide.preparation, WideSeries)
    first = files.preparation.curves(files.train.x[0].numpy())  # row 4, of four steps
    assert list(first) == ["acc", "gyro", "nothing measured"]
    np.testing.assert_allclose(first["gyro"][:4], [40, 50, 60, 70], rtol=1e-5)
    assert first["nothing measured"].tolist() == [0, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(wide.preparation.curves(wide.train.x[0].numpy())["t"], [4, 5, 6, 14], rtol=1e-5)


def test_biases_and_targets_may_be_numbers(make: Make) -> None:
    data = make(target="age", bias="sex", target_kind="number")
    assert data.task.target == Number()
    ages = data.preparation.target.restored(data.train.y.numpy())
    np.testing.assert_allclose(ages, 20 + data.train.extra["row"].numpy(), atol=1e-4)


def test_plain_settings_give_the_same_as_python_values(make: Make, tmp_path: Path) -> None:
    one = make(bias="age", bins={"age": (30, 50)}, length=5)
    again = from_series(
        tmp_path / "people.csv", target="ill", bias=("age",), series="file", series_in=str(tmp_path / "all"),
        split="fold", bins=("age=30,50",), length=5,
    )  # fmt: skip
    assert again.task == one.task
    assert again.fingerprint() == one.fingerprint()


def test_preparations_come_back_from_json(make: Make) -> None:
    files = SeriesPreprocessor("file", 5, ("a", "b"), (Unit(1.0, 2.0), Unit()), True, Unit(3.0, 4.0))
    wide = make(columns=WIDE, series="", series_in="", series_columns="t").preparation
    for one in (files, wide):
        assert load_preprocessor(json.loads(json.dumps(one.to_dict()))) == one
    with refused("preparation-damaged", inputs="series", reason="'units'"):
        load_preprocessor({"version": 1, "series": {}})
    with refused("preparation-damaged"):
        load_preprocessor({"version": 1, "series": files.to_dict()["series"] | {"units": []}})
    with refused("preparation-damaged", reason="its version is 9, not 1"):
        load_preprocessor({"version": 9, "series": {}})
    with refused("preparation-damaged"):
        load_preprocessor(wide.to_dict() | {"wide": {"channels": ["a", "b", "c"], "marked": False}})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"series": ""}, Refusal("file-column-missing", files="Series", option="--series")),
        ({"series": "sex"}, Refusal("file-column-role-conflict", column="sex", files="series")),
        ({"series": "fil"}, Refusal("unknown-column", column="fil", advice="Nearest: file.")),
        ({"series_columns": "t"}, Refusal("series-options-conflict")),
        ({"series": "", "series_columns": "q"}, Refusal("too-few-series-columns", channel="q", count=0)),
        ({"series": "", "series_columns": ("t", "t")}, Refusal("channel-named-twice")),
        ({"series": "", "series_columns": ("t", "u")}, Refusal("channel-lengths-differ", counts="t 4, u 2")),
        ({"series": "", "series_columns": "t", "length": 3}, Refusal("length-with-series-columns")),
        ({"series": "", "series_columns": "t", "target": "t0"}, Refusal("series-column-role-conflict", column="t0")),
        ({"series": "", "series_columns": "w"}, Refusal("series-step-not-numeric", column="w0")),
        ({"length": -1}, Refusal("series-length-out-of-range", length=-1)),
        ({"series_in": "nowhere"}, Refusal("series-not-found", place="nowhere")),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(make: Make, settings: dict[str, Any], complaint: Refusal) -> None:
    words = {name: [f"{name}{k % 3}" for k in range(N)] for name in ("w0", "w1")}
    columns = WIDE | {"u0": WIDE["t0"], "u1": WIDE["t0"]} | words
    with refused(complaint) as error:
        make(columns=columns, **settings)
    assert "\n" not in str(error.value)


def test_why_no_series_can_be_read_is_told(make: Make) -> None:
    timed = dict.fromkeys(FILES, b"time,acc\n2020-01-01 00:00,1\n")
    complaint = Refusal("no-readable-series", column="file")
    with refused(complaint):
        make(timed)
    named = [name if fold == "test" else None for name, fold in zip(FILES, LABELS["fold"], strict=True)]
    with refused("no-readable-series", column="file"):
        make(columns={"file": named})


def test_many_broken_series_are_an_error_that_names_the_first_and_says_why(make: Make) -> None:
    with refused("too-many-broken-series", count=1, total=40, name="s/6.csv"):
        make({"s/6.csv": b""})
