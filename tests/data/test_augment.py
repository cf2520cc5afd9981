"""Variation: what becomes of a picture, by hand, and numbers that look random but follow from row and tag."""

from __future__ import annotations

import torch

from csad.data.augment import Pictures, hash_uniform
from tests.support.messages import refused

PICTURE = torch.arange(12.0).reshape(1, 1, 3, 4)


def noise(flip: float, down: float = 0.5, across: float = 0.5) -> torch.Tensor:
    return torch.tensor([[flip, down, across]])


def test_a_picture_is_flipped_by_a_number_below_one_half() -> None:
    vary = Pictures()
    assert torch.equal(vary(PICTURE, noise(0.49)), PICTURE.flip(-1))
    assert torch.equal(vary(PICTURE, noise(0.5)), PICTURE)
    assert torch.equal(Pictures(flip=False)(PICTURE, noise(0.1)), PICTURE)


def test_a_picture_is_moved_and_its_edge_repeated() -> None:
    vary = Pictures(flip=False, shift=1)
    assert torch.equal(vary(PICTURE, noise(0, 0.5, 0.5)), PICTURE)
    # The window starts a pixel above and a pixel to the right of the picture.
    moved = torch.tensor([[1.0, 2, 3, 3], [1, 2, 3, 3], [5, 6, 7, 7]])
    assert torch.equal(vary(PICTURE, noise(0, 0.0, 0.99))[0, 0], moved)


def test_each_picture_has_its_own_numbers_and_channels_stay_together() -> None:
    pictures = torch.cat([PICTURE, PICTURE + 100]).repeat(1, 3, 1, 1) * torch.tensor([1.0, 2, 3])[:, None, None]
    varied = Pictures(shift=1)(pictures, torch.cat([noise(0.9, 0.5, 0.5), noise(0.1, 0.5, 0.5)]))
    assert torch.equal(varied[0], pictures[0])
    assert torch.equal(varied[1], pictures[1].flip(-1))


def test_a_move_cannot_be_negative() -> None:
    with refused("negative-shift", shift=-1):
        Pictures(shift=-1)


def test_the_numbers_look_random_and_follow_from_row_and_tag() -> None:
    rows = torch.arange(20_000)
    found = hash_uniform(rows, torch.tensor(7), 3)
    assert torch.equal(found, hash_uniform(rows, torch.tensor(7), 3))
    assert found.shape == (20_000, 3)
    assert float(found.min()) >= 0
    assert float(found.max()) < 1
    other = hash_uniform(rows, torch.tensor(8), 3)
    for values in (found, other):
        assert torch.allclose(values.mean(0), torch.full((3,), 0.5), atol=0.01)
        counts = torch.histc(values, 20, 0, 1) / values.numel()
        assert torch.allclose(counts, torch.full((20,), 0.05), atol=0.004)
    together = torch.stack([found[:, 0], found[:, 1], other[:, 0], found[:, 0].roll(1)])
    assert float((torch.corrcoef(together) - torch.eye(4)).abs().max()) < 0.03


def test_numbers_of_a_row_do_not_depend_on_its_company() -> None:
    rows, tags = torch.tensor([5, 9, 5]), torch.tensor([1, 1, 2])
    found = hash_uniform(rows, tags, 2)
    assert torch.equal(found[1], hash_uniform(rows[1:2], tags[1:2], 2)[0])
    assert not torch.equal(found[0], found[2])
