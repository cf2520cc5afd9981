from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from csad.data.datasets.coloring import COLORINGS, GREY, PALETTE, color_digits, paint
from csad.data.pairs import Related
from csad.data.samples import Classes, Dataset
from csad.data.validate import check_trainable
from tests.support.messages import refused

DOT = np.ones((1, 1), dtype=bool)


def dots(means: np.ndarray, color_variance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The colours (n, 3) and bins of one-pixel digits."""
    masks = np.broadcast_to(DOT, (len(means), 1, 1))
    pixels, bins = paint(masks, means, color_variance, np.random.default_rng(seed))
    return pixels[:, :, 0, 0].astype(int), bins


def rows(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(n, 4, 5), dtype=np.uint8), np.arange(n) % 10


def make(**changed: object) -> Dataset:
    digits = {"train": rows(), "validation": rows(seed=1), "test": rows(seed=2)}
    settings = {"digits": digits, "threshold": 128, "color_variance": 0.02, "seed": 0} | changed
    return color_digits("little", **settings)


def test_a_digit_is_one_flat_colour_on_black() -> None:
    masks = np.array([[[1, 0], [1, 1]], [[0, 0], [0, 1]]], dtype=bool)
    pixels, _ = paint(masks, np.array([0, 9]), 0.02, np.random.default_rng(0))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (2, 3, 2, 2)
    for mask, image in zip(masks, pixels, strict=True):
        assert (image[:, ~mask] == 0).all()
        assert len(np.unique(image[:, mask], axis=1).T) == 1
        assert (image[:, mask] > 0).all()


def test_a_pixel_at_the_threshold_stays_black_and_one_above_it_is_painted() -> None:
    grey = np.array([[[127, 128, 129, 130]]], dtype=np.uint8).repeat(2, axis=0)
    dataset = color_digits("edge", {"train": (grey, np.array([0, 1]))}, threshold=128, color_variance=0.02, seed=0)
    painted = dataset.train.x[0, :, 0] > 0
    assert painted.all(0).tolist() == [False, False, True, True]
    assert painted.any(0).tolist() == [False, False, True, True]


def test_the_label_is_the_colour_divided_by_32() -> None:
    colors, bins = dots(np.arange(1000) % 10, 0.05)
    assert (bins == colors // 32).all()
    assert bins.dtype == np.int64
    assert set(bins.ravel()) == set(range(8))


@pytest.mark.parametrize("color_variance", [1e-12, 1e-6, 0.02, 0.05, 1.0])
def test_no_channel_is_ever_0_or_255(color_variance: float) -> None:
    colors, _ = dots(np.arange(5000) % 10, color_variance)
    assert colors.min() >= 1
    assert colors.max() <= 254


def test_almost_no_variance_gives_the_palette_itself_kept_within_1_and_254() -> None:
    colors, _ = dots(np.arange(10), 1e-12)
    assert (colors == PALETTE.clip(1, 254)).all()


@pytest.mark.parametrize("color_variance", [0.02, 0.05])
@pytest.mark.parametrize("digit", range(10))
def test_each_channel_follows_the_truncated_normal(digit: int, color_variance: float) -> None:
    n = 20_000
    colors, _ = dots(np.full(n, digit), color_variance)
    deviation = 255 * np.sqrt(color_variance)
    for channel, mean in zip(colors.T, PALETTE[digit], strict=True):
        law = stats.truncnorm((0.5 - mean) / deviation, (254.5 - mean) / deviation, mean, deviation)
        # Rounding to whole numbers moves the mean by nothing and adds a twelfth to the variance.
        assert channel.mean() == pytest.approx(law.mean(), abs=4.5 * law.std() / np.sqrt(n))
        assert channel.var() == pytest.approx(law.var() + 1 / 12, rel=0.06)


def test_the_standard_deviation_is_36_grey_levels_at_a_variance_of_002() -> None:
    colors, _ = dots(np.full(50_000, 1), 0.02)  # teal: green and blue lie in the middle, far from both ends
    assert colors[:, 1:].std(axis=0) == pytest.approx([36.06, 36.06], abs=0.5)
    assert np.corrcoef(colors[:, 1], colors[:, 2])[0, 1] == pytest.approx(0, abs=0.02)


def test_pairs_are_as_dense_as_measured_on_the_palette() -> None:
    means = np.arange(2000) % 10
    for color_variance, density, differ in ((0.02, 0.068, 0.35), (0.03, 0.058, 0.46), (0.05, 0.051, 0.60)):
        _, bins = dots(means, color_variance)
        related = (np.abs(bins[:, None] - bins[None]) <= 1).all(-1)
        np.fill_diagonal(related, False)
        assert related.mean() == pytest.approx(density, abs=0.005)
        assert (means[:, None] != means[None])[related].mean() == pytest.approx(differ, abs=0.03)


def test_training_digits_have_their_class_colour_and_others_any() -> None:
    dataset = make()
    assert (dataset.train.extra["color"] == dataset.train.y).all()
    for split in ("validation", "test"):
        samples = dataset.splits[split]
        assert samples.extra["color"].dtype == torch.int64
        assert 0.5 < (samples.extra["color"] != samples.y).float().mean() <= 1


def test_random_coloring_gives_training_digits_any_colour_and_leaves_the_other_splits_alone() -> None:
    digits = {"train": rows(2000), "test": rows()}
    biased, random = make(digits=digits), make(digits=digits, coloring="random")
    color, y = random.train.extra["color"], random.train.y
    assert (color == y).float().mean().item() == pytest.approx(0.1, abs=0.03)
    assert torch.bincount(color, minlength=10).min() > 140, "each of the ten colours has its tenth"
    assert random.splits["test"].fingerprint() == biased.splits["test"].fingerprint()
    # The same noise: around its mean a channel strays as far as in biased training.
    green = random.train.x.amax((2, 3))[color == 1, 1].float()
    assert green.std().item() == pytest.approx(36, abs=5)


def test_grey_digits_have_the_same_shapes_and_labels_but_no_colour() -> None:
    biased, grey = make(), make(coloring="grey")
    for split, samples in grey.splits.items():
        shape = biased.splits[split].x.amax(1, keepdim=True) > 0
        assert samples.x.dtype == torch.uint8
        assert torch.equal(samples.x, (GREY * shape).to(torch.uint8).expand(-1, 3, -1, -1))
        for name in ("y", "b"):
            assert torch.equal(getattr(samples, name), getattr(biased.splits[split], name))
        assert torch.equal(samples.extra["color"], biased.splits[split].extra["color"])
    assert torch.equal(make(coloring="grey", seed=5, color_variance=0.05).train.x, grey.train.x)


@pytest.mark.parametrize("coloring", COLORINGS)
def test_every_coloring_can_be_trained_on_with_a_bias_and_without(coloring: str) -> None:
    for needs_bias in (False, True):
        check_trainable(make(coloring=coloring), needs_bias=needs_bias)


def test_an_unknown_coloring_is_an_input_error_that_names_the_nearest() -> None:
    with refused("misspelled-name", name="gray", nearest="grey", known="biased, grey, random"):
        make(coloring="gray")


def test_the_task_names_ten_digits_and_three_channels_of_eight_bins() -> None:
    task = make().task
    assert task.shape == (3, 4, 5)
    assert task.target == Classes(10, tuple("0123456789"))
    assert task.biases == (Classes(8),) * 3
    assert task.bias_names == ("red", "green", "blue")
    assert task.related == Related("near_bias", (1, 1, 1))


def test_a_seed_gives_the_same_pixels_again_and_another_seed_others() -> None:
    one, again, other = make(), make(), make(seed=1)
    for split in one.splits:
        assert torch.equal(one.splits[split].x, again.splits[split].x)
        assert not torch.equal(one.splits[split].x, other.splits[split].x)


def test_a_change_of_one_split_leaves_the_others_as_they_were() -> None:
    whole = make()
    fewer = make(digits={"test": rows(seed=2), "train": rows(n=11)})
    assert torch.equal(whole.splits["test"].x, fewer.splits["test"].x)
    assert torch.equal(whole.splits["test"].b, fewer.splits["test"].b)


def test_two_splits_of_the_same_digits_have_different_colours() -> None:
    dataset = make(digits={"train": rows(), "a": rows(), "b": rows()})
    assert not torch.equal(dataset.splits["a"].extra["color"], dataset.splits["b"].extra["color"])


@pytest.mark.parametrize("color_variance", [0, -0.1, 1.01, float("nan")])
def test_a_variance_outside_0_to_1_is_an_input_error(color_variance: float) -> None:
    with refused("color-variance-out-of-range"):
        make(color_variance=color_variance)


def test_a_label_above_nine_and_a_negative_seed_are_input_errors() -> None:
    grey, labels = rows()
    with refused("digit-labels-out-of-range", low=0, high=10):
        make(digits={"train": (grey, np.where(labels == 9, 10, labels))})
    with refused("negative-seed", seed=-1):
        make(seed=-1)
