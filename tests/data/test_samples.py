from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from csad.data.sampler import epoch_order
from csad.data.samples import Classes, Samples, all_finite, as_float
from tests.support.messages import Refusal, refused


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_one_bias_column_may_be_given_flat() -> None:
    samples = Samples(np.zeros((3, 2)), [0, 1, 0], [1, -1, 0], {"color": [7, 8, 9]})
    assert samples.b.tolist() == [[1], [-1], [0]]
    chosen = samples.rows([2, 0])
    assert (chosen.b.tolist(), chosen.extra["color"].tolist(), len(chosen)) == ([[0], [1]], [9, 7], 2)
    assert samples.to(torch.device("cpu")).extra["color"].tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("x", "y", "b", "complaint"),
    [
        (np.zeros((0, 2)), [], [], Refusal("no-rows")),
        (np.zeros((3, 2)), [0, 1], [0, 1, 0], Refusal("x-label-rows-differ", rows=3, name="y", count=2)),
        (np.zeros((3, 2)), [0, 1, 0], [0, 1], Refusal("x-label-rows-differ", rows=3, name="b", count=2)),
        (np.zeros((2, 2)), [[0], [1]], [0, 1], Refusal("label-shapes-invalid")),
        (np.array([[0, 1], [np.nan, 0]]), [0, 1], [0, 1], Refusal("x-not-finite", row=1)),
        (np.array([[0, np.inf], [0, 0]]), [0, 1], [0, 1], Refusal("x-not-finite", row=0)),
        (np.zeros((2, 1)), ["a", "b"], [0, 1], Refusal("values-not-numeric", name="y", dtype="<U1")),
        ([[0, 1], [0]], [0, 1], [0, 1], Refusal("ragged-values", name="x")),
    ],
)
def test_rows_that_do_not_fit_are_input_errors(x: Any, y: Any, b: Any, complaint: Refusal) -> None:
    with refused(complaint):
        Samples(x, y, b)


def test_arrays_that_are_read_only_or_run_backwards_are_taken() -> None:
    x = np.arange(6.0).reshape(3, 2)
    backwards = x[::-1]
    x.flags.writeable = False
    assert Samples(x, [0, 1, 0], [0, 1, 0]).x[0].tolist() == [0, 1]
    assert Samples(backwards, [0, 1, 0], [0, 1, 0]).x[0].tolist() == [4, 5]


def test_a_torch_data_set_is_read_row_by_row() -> None:
    rows = [(torch.tensor([1.0, 2.0]), 0, 1), (torch.tensor([3.0, 4.0]), 1, -1)]
    samples = Samples.from_dataset(rows)
    assert (samples.x.tolist(), samples.y.tolist(), samples.b.tolist()) == ([[1, 2], [3, 4]], [0, 1], [[1], [-1]])
    several = Samples.from_dataset([(np.zeros(2), 0, np.array([1, 2]))])
    assert several.b.tolist() == [[1, 2]]


def test_a_torch_data_set_without_three_values_or_rows_is_an_input_error() -> None:
    with refused("dataset-row-not-triple"):
        Samples.from_dataset([(torch.zeros(2), 0)])
    with refused("no-rows"):
        Samples.from_dataset([])


def test_images_in_bytes_become_minus_one_to_one_and_other_numbers_stay() -> None:
    image = torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(1, 1, 1, 3)
    assert as_float(image).flatten().tolist() == pytest.approx([-1, -0.6, 1])
    assert as_float(torch.tensor([[0, 1]], dtype=torch.uint8)).tolist() == [[0.0, 1.0]]
    assert as_float(torch.tensor([3, 4])).tolist() == [3.0, 4.0]
    assert as_float(torch.tensor([0.1], dtype=torch.float64)).dtype == torch.get_default_dtype()


@pytest.mark.parametrize(("n", "size"), [(10, 4), (12, 4), (3, 8), (1, 1), (7, 7)])
def test_every_row_comes_once_in_an_epoch(n: int, size: int) -> None:
    kept = epoch_order(n, size, chance(), partial="keep")
    assert sorted(torch.cat(kept).tolist()) == list(range(n))
    filled = epoch_order(n, size, chance(), partial="fill")
    assert all(len(batch) == size for batch in filled)
    assert len(filled) == len(kept)
    assert sorted(torch.cat(filled)[:n].tolist()) == list(range(n))
    dropped = epoch_order(n, size, chance(), partial="drop")
    assert len(dropped) == max(1, n // size)
    assert len(set(torch.cat(dropped).tolist())) == len(torch.cat(dropped))


def test_the_generator_decides_the_order() -> None:
    one, again, other = (torch.cat(epoch_order(50, 8, chance(seed))).tolist() for seed in (0, 0, 1))
    assert one == again != other


def test_a_balanced_batch_has_each_value_equally_often() -> None:
    balance = torch.tensor([0] * 90 + [1] * 8 + [2] * 2)
    batches = epoch_order(100, 12, chance(), balance=balance)
    assert len(batches) == 9
    for batch in batches:
        assert torch.bincount(balance[batch], minlength=3).tolist() == [4, 4, 4]
    drawn = torch.cat(batches)
    common = drawn[balance[drawn] == 0]
    assert len(common.unique()) == len(common)
    rare = torch.bincount(drawn[balance[drawn] == 2] - 98)
    assert rare.tolist() == [18, 18]


def test_a_balanced_batch_gives_what_does_not_divide_to_the_first_values() -> None:
    balance = torch.tensor([0, 1, 2] * 5)
    for batch in epoch_order(15, 8, chance(), balance=balance):
        assert torch.bincount(balance[batch]).tolist() == [3, 3, 2]


def test_a_batch_too_small_to_hold_every_value_is_an_input_error() -> None:
    with refused("batch-smaller-than-values", values=3):
        epoch_order(6, 2, chance(), balance=torch.tensor([0, 1, 2] * 2))


def test_classes_are_called_by_their_names_or_else_by_their_numbers():
    assert Classes(2, ("no", "yes")).words == ("no", "yes")
    assert Classes(3).words == ("0", "1", "2")


@pytest.mark.parametrize("fact", ["person", "group"])
def test_rows_of_one_person_or_group_are_told(fact):
    whose = torch.tensor([4, 4, 7])
    samples = Samples(torch.zeros(3, 2), [0, 1, 0], [0, 0, 1], {fact: whose, "row": torch.arange(3)})
    assert torch.equal(samples.persons, whose)
    assert Samples(torch.zeros(3, 2), [0, 1, 0], [0, 0, 1]).persons is None


def test_what_truly_speaks_for_a_class_is_told_where_it_is_known():
    known = Samples(torch.zeros(3, 2), [0, 1, 0], [0, 0, 1], {"evidence": [0.1, 2.0, -1.0]})
    assert known.rows([2, 0]).evidence.tolist() == [-1.0, 0.1]
    assert Samples(torch.zeros(3, 2), [0, 1, 0], [0, 0, 1]).evidence is None


@pytest.mark.parametrize("told", [[[1.0, 2], [3, 4], [5, 6]], [1.0, math.nan, 2]])
def test_what_does_not_tell_one_number_of_every_row_is_no_evidence(told):
    assert Samples(torch.zeros(3, 2), [0, 1, 0], [0, 1, 1], {"evidence": torch.tensor(told)}).evidence is None


def test_a_mask_of_bytes_chooses_rows_as_torch_has_it():
    rows = Samples(torch.arange(8.0).reshape(4, 2), [0, 1, 0, 1], [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="uint8"):
        found = rows.rows(torch.tensor([1, 0, 0, 1], dtype=torch.uint8))
    assert found.x.tolist() == [[0, 1], [6, 7]]
    assert found.b[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32, torch.float64, torch.bfloat16, torch.bool])
@pytest.mark.parametrize("index", [[2, 0, 0], [-1], [True, False, False, True], []])
def test_chosen_rows_are_those_of_x_whatever_it_is_of(dtype, index):
    x = (torch.arange(24).reshape(4, 3, 2) % 5).to(dtype)
    samples, index = Samples(x, [0, 1, 0, 1], [0, 0, 1, 1]), torch.tensor(index, dtype=None if index else torch.long)
    if not len(index):
        with refused("no-rows"):
            samples.rows(index)
        return
    assert torch.equal(samples.rows(index).x, x[index])
    assert samples.rows(index).x.dtype == dtype


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_one_value_that_is_no_number_is_found(dtype, bad):
    x = torch.linspace(-9, 9, 30).reshape(5, 6).to(dtype)
    assert all_finite(x)
    assert all_finite(x[:0])
    x[3, 4] = bad
    assert not all_finite(x)
