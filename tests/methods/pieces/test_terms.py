"""Loss terms by hand and against torch; a label that nobody knows counts for nothing."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from csad.data.samples import Classes, Number
from csad.methods.pieces.terms import bias_loss, fell_to_chance, known_mean, label_loss, recent

NAN = float("nan")


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_a_class_takes_one_output_each_and_a_number_one() -> None:
    assert (Classes(7).outputs, Number().outputs) == (7, 1)


def test_the_known_mean_leaves_the_unknown_out_of_sum_and_count() -> None:
    values = torch.tensor([1.0, 100.0, 5.0])
    assert known_mean(values, torch.tensor([True, False, True])) == 3.0
    assert known_mean(values, torch.tensor([False, True, False])) == 100.0


def test_the_known_mean_of_nothing_is_zero_without_gradient() -> None:
    values = torch.tensor([1.0, 2.0], requires_grad=True)
    mean = known_mean(values, torch.tensor([False, False]))
    mean.backward()
    assert mean == 0
    assert values.grad is not None
    assert values.grad.tolist() == [0, 0]


def test_the_loss_of_classes_by_hand() -> None:
    # Row 0: odds 1 : 3 against the label; row 1: 3 : 1 for it.
    out = torch.tensor([[0.0, math.log(3)], [0.0, math.log(3)]])
    assert label_loss(out, torch.tensor([0, 1]), Classes(2)).item() == pytest.approx(
        (math.log(4) + math.log(4 / 3)) / 2
    )


def test_the_loss_of_numbers_by_hand() -> None:
    out = torch.tensor([[1.0], [4.0]])
    assert label_loss(out, torch.tensor([3.0, 1.0]), Number()) == (4 + 9) / 2


def test_losses_are_torchs_where_all_is_known() -> None:
    logits, labels = random(9, 5), torch.arange(9) % 5
    assert torch.allclose(label_loss(logits, labels, Classes(5)), cross_entropy(logits, labels))
    numbers, wanted = random(9, 1), random(9)
    assert torch.allclose(label_loss(numbers, wanted, Number()), mse_loss(numbers[:, 0], wanted))


@pytest.mark.parametrize("labels", [torch.tensor([2, -1, 0, -1]), torch.tensor([2.0, NAN, 0.0, NAN])])
def test_rows_of_unknown_class_count_for_nothing(labels: Tensor) -> None:
    logits = random(4, 3).requires_grad_()
    loss = label_loss(logits, labels, Classes(3))
    loss.backward()
    assert torch.allclose(loss, cross_entropy(logits[[0, 2]], torch.tensor([2, 0])))
    assert logits.grad is not None
    assert torch.equal(logits.grad[[1, 3]], torch.zeros(2, 3, dtype=torch.float64))
    assert bool((logits.grad[[0, 2]] != 0).all())


def test_rows_of_unknown_number_count_for_nothing() -> None:
    out = torch.tensor([[1.0], [7.0], [2.0]], requires_grad=True)
    loss = label_loss(out, torch.tensor([3.0, NAN, 2.5]), Number())
    loss.backward()
    assert loss == (4 + 0.25) / 2
    assert out.grad is not None
    assert out.grad.flatten().tolist() == [-2.0, 0.0, -0.5]


def test_a_number_below_zero_is_known() -> None:
    loss = label_loss(torch.tensor([[1.0], [0.0]]), torch.tensor([-1, -3]), Number())
    assert loss.item() == pytest.approx((4 + 9) / 2)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (torch.tensor([-1, -1]), Classes(3)),
        (torch.tensor([NAN, NAN]), Classes(3)),
        (torch.tensor([NAN, NAN]), Number()),
    ],
)
def test_with_no_label_known_the_loss_is_zero_and_moves_nothing(labels: Tensor, kind: Classes | Number) -> None:
    out = torch.randn(2, kind.outputs, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = label_loss(out, labels, kind)
    loss.backward()
    assert loss == 0
    assert out.grad is not None
    assert torch.equal(out.grad, torch.zeros_like(out))


def test_extreme_logits_of_unknown_rows_give_no_nan() -> None:
    logits = torch.tensor([[1e38, -1e38], [0.0, 0.0]], requires_grad=True)
    loss = label_loss(logits, torch.tensor([-1, 1]), Classes(2))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2))
    assert logits.grad is not None
    assert logits.grad.tolist() == [[0, 0], [0.5, -0.5]]


def test_the_bias_loss_is_the_mean_over_the_columns() -> None:
    even, sure = torch.zeros(2, 4), torch.tensor([[0.0, math.log(3)], [0.0, math.log(3)]])
    b = torch.tensor([[3, 1], [0, 1]])
    wanted = (math.log(4) + math.log(4 / 3)) / 2
    assert bias_loss([even, sure], b, (Classes(4), Classes(2))).item() == pytest.approx(wanted)


def test_a_row_unknown_in_one_column_still_counts_in_the_others() -> None:
    first, second = random(3, 2), random(3, 4)
    b = torch.tensor([[0, -1], [1, 3], [-1, 2]])
    wanted = (cross_entropy(first[:2], torch.tensor([0, 1])) + cross_entropy(second[1:], torch.tensor([3, 2]))) / 2
    assert torch.allclose(bias_loss([first, second], b, (Classes(2), Classes(4))), wanted)


def test_columns_of_classes_and_numbers_stand_side_by_side() -> None:
    b = torch.tensor([[1.0, 40.0], [NAN, 20.0]])
    loss = bias_loss([torch.zeros(2, 2), torch.tensor([[41.0], [23.0]])], b, (Classes(2), Number()))
    assert loss.item() == pytest.approx((math.log(2) + (1 + 9) / 2) / 2)


def test_a_column_too_few_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        bias_loss([torch.zeros(2, 2)], torch.zeros(2, 2), (Classes(2), Classes(2)))


def test_the_recent_part_of_a_curve_is_its_last_quarter() -> None:
    assert recent([9.0] * 6 + [1.0, 3.0]) == 2.0
    assert recent([9.0, 9.0, 5.0]) == 5.0
    assert recent([4.0]) == 4.0


def test_a_target_falls_to_chance_from_well_below_it_to_95_hundredths_of_it() -> None:
    chance = math.log(10)
    assert fell_to_chance([0.1] * 3 + [chance], Classes(10))
    assert fell_to_chance([0.1, 0.96 * chance], Classes(10))
    assert not fell_to_chance([0.1, 0.94 * chance], Classes(10))
    assert not fell_to_chance([0.1, chance, chance] + [0.1] * 5, Classes(10))


def test_a_target_that_was_never_below_chance_has_not_fallen_to_it() -> None:
    assert not fell_to_chance([22.0, 9.0, 4.0, 3.0], Classes(10))
    assert not fell_to_chance([math.log(10)] * 8, Classes(10))


def test_chance_is_known_neither_without_a_curve_nor_for_numbers() -> None:
    assert not fell_to_chance([], Classes(2))
    assert not fell_to_chance([0.1, 100.0], Number())
