"""Mini-batches balanced over the target, or over the cells of target and bias."""

import pytest
import torch

from csad.data.sampler import balanced_over, epoch_order
from tests.support.messages import refused

Y = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1])
B = torch.tensor([[0, 5], [0, 5], [0, 5], [1, 5], [1, 2], [0, 5], [0, 5], [1, 5]])


def test_a_plain_order_is_balanced_over_nothing_and_a_target_order_over_the_target():
    assert balanced_over("", Y, B) is None
    assert balanced_over("target", Y, B) is Y


def test_cells_are_the_combinations_of_target_and_all_bias_columns_that_there_are():
    # (0, 0, 5) three times, (0, 1, 2) and (0, 1, 5) once each, (1, 0, 5) twice, (1, 1, 5) once: in this order.
    assert balanced_over("cells", Y, B).tolist() == [0, 0, 0, 2, 1, 3, 3, 4]


@pytest.mark.parametrize(
    "b", [torch.tensor([[0], [-1], [1], [0], [-1]]), torch.tensor([[0.0], [torch.nan], [1.0], [0.0], [torch.nan]])]
)
def test_rows_of_an_unknown_bias_are_one_cell_of_each_class(b):
    cells = balanced_over("cells", torch.tensor([0, 0, 0, 1, 1]), b).tolist()
    assert len(set(cells)) == 5
    assert balanced_over("cells", torch.zeros(5, dtype=torch.long), b).tolist() == [1, 0, 2, 1, 0]


def test_every_mini_batch_has_every_cell_equally_often_however_rare_it_is():
    y = torch.tensor([0] * 60 + [1] * 40)
    b = torch.tensor([[0]] * 57 + [[1]] * 3 + [[0]] * 2 + [[1]] * 38)
    cells = balanced_over("cells", y, b)
    batches = epoch_order(100, 16, torch.Generator().manual_seed(0), balance=cells)
    assert len(batches) == 7  # of 16 rows, enough for 100
    for rows in batches:
        found = torch.stack([y[rows], b[rows, 0]])
        assert [(found == torch.tensor([[k], [c]])).all(0).sum().item() for k in (0, 1) for c in (0, 1)] == [4] * 4


def test_more_cells_than_a_mini_batch_has_rows_are_an_input_error():
    ages = torch.arange(40)[:, None]
    with refused("batch-smaller-than-values", values=40, batch_size=16):
        epoch_order(40, 16, torch.Generator(), balance=balanced_over("cells", torch.zeros(40).long(), ages))
