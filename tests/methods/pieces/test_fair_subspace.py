"""The sensitive directions of x: columns that say a bias outright, a linear reader's weights, and no more."""

import numpy as np
import pytest
import torch

from csad.data.samples import Classes, Dataset, Number, Samples, Task
from csad.methods.pieces import fair_subspace
from csad.methods.pieces.fair_subspace import (
    away_from,
    most_directions,
    probe_weights,
    proxy_directions,
    sensitive_directions,
)
from csad.methods.pieces.terms import bias_columns, known_labels
from csad.runs.build import build, plan_run, read_dataset
from tests.support.messages import refused
from tests.support.stacking import planned

NAN = float("nan")
TWO, THREE = Classes(2), Classes(3)


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def people(rows=200, seed=0):
    """x of six columns, b of two biases: column 1 is the gender, column 4 tells of it, column 5 is the race."""
    generator = torch.Generator().manual_seed(seed)
    b = torch.randint(0, 2, (rows, 2), generator=generator)
    x = random(rows, 6, seed=seed + 1)
    x[:, 1], x[:, 5] = b[:, 0].double(), b[:, 1].double()
    x[:, 4] += 2 * b[:, 0]
    return x, b


def found(directions):
    """The rows that are not left over."""
    return directions[torch.linalg.vector_norm(directions, dim=1) > 0.5]


def within(vectors, directions):
    """Whether the vectors lie in the span of orthonormal rows."""
    return torch.allclose(vectors @ directions.T @ directions, vectors, atol=1e-9)


def softmax_weights(x, label, classes, decay=0.1):
    """Weights (classes, d) of the softmax reader: plain gradient descent on mean cross-entropy + decay / 2 · |w|²."""
    w, free, own = np.zeros((classes, x.shape[1])), np.zeros(classes), np.eye(classes)[label]
    for _ in range(4000):
        odds = np.exp(x @ w.T + free)
        wrong = (odds / odds.sum(1, keepdims=True) - own) / len(x)
        w, free = w - 0.5 * (wrong.T @ x + decay * w), free - 0.5 * wrong.sum(0)
    return w


# Columns that say a bias outright


def test_a_column_of_one_value_per_class_says_the_class_outright():
    label = torch.tensor([0, 1, 0, 2, 1]).double()
    x = torch.tensor(
        [
            # a copy, a constant, class 2 or not, almost a copy, any other names for the classes
            [0.0, 7, 0, 0, 5],
            [1.0, 7, 0, 1, -3],
            [0.0, 7, 0, 0, 5],
            [2.0, 7, 1, 2, 0],
            [1.0, 7, 0, 1.5, -3],
        ],
        dtype=torch.float64,
    )
    said, ways = proxy_directions(x, label, THREE)
    assert said.tolist() == [True, False, True, False, True]
    assert not ways[:, ~said].any()


def test_a_column_that_is_a_straight_line_says_the_number_outright():
    age = torch.tensor([20.0, 30, 50, 70, 71])
    x = torch.stack([(age - 48) / 20, age**2, -age, torch.full((5,), 3.0)], 1).float().double()
    said, ways = proxy_directions(x, age.double(), Number())
    assert said.tolist() == [True, False, True, False]
    # Both move with age: by 1 / 20 and by −1 a year.
    assert torch.allclose(ways[0] / ways[0, 2], torch.tensor([-1 / 20, 0, 1, 0]).double(), atol=1e-6)


# The linear reader


def test_the_reader_of_two_classes_has_the_softmaxs_weights():
    x, b = people()
    readable = torch.tensor([True, False, True, True, True, True])
    weights = probe_weights(x, b[:, 0].double(), TWO, readable)
    by_hand = softmax_weights(x[:, readable].numpy(), b[:, 0].numpy(), 2)
    assert np.allclose(by_hand[0], -by_hand[1], atol=1e-9)
    assert (weights.shape, weights[0, 1].item()) == ((1, 6), 0)
    assert np.allclose(weights[0, readable].numpy(), by_hand[1] / np.linalg.norm(by_hand[1]), atol=1e-6)


def test_the_reader_of_three_classes_has_the_softmaxs_weights():
    label = torch.arange(150) % 3
    x = random(150, 4) + 5  # far from zero, where the free term has to work
    x[:, 0] += label
    weights = probe_weights(x, label.double(), THREE, torch.ones(4, dtype=torch.bool))
    by_hand = softmax_weights((x - x.mean(0)).numpy(), label.numpy(), 3)
    assert np.allclose(weights.numpy(), by_hand / np.linalg.norm(by_hand, axis=1).max(), atol=1e-6)


def test_the_reader_of_a_number_is_least_squares():
    x = random(80, 3) + 2
    age = 40 + 3 * x[:, 0] - x[:, 2] + random(80, seed=5)
    weights = probe_weights(x, age, Number(), torch.tensor([True, True, True]))
    apart = (x - x.mean(0)).numpy()
    by_hand = np.linalg.solve(apart.T @ apart / 80 + 0.1 * np.eye(3), apart.T @ (age - age.mean()).numpy() / 80)
    assert np.allclose(weights[0].numpy(), by_hand / np.linalg.norm(by_hand), atol=1e-9)


def test_a_reader_that_may_read_nothing_gives_nothing():
    x, b = people()
    assert not probe_weights(x, b[:, 0].double(), TWO, torch.zeros(6, dtype=torch.bool)).any()
    assert not probe_weights(torch.ones(200, 6).double(), b[:, 0].double(), TWO, torch.ones(6).bool()).any()


# The directions


def test_directions_are_orthonormal_and_span_unit_vectors_and_readers_weights():
    x, b = people()
    directions = sensitive_directions(x, b, (TWO, TWO), learned=(0, 1))
    assert directions.shape == (most_directions((TWO, TWO), 6), 6) == (6, 6)
    own = found(directions)
    assert torch.allclose(own @ own.T, torch.eye(4).double(), atol=1e-12)
    assert not directions[4:].any()
    readable = [torch.tensor([k != hidden for k in range(6)]) for hidden in (1, 5)]
    for k in range(2):
        assert within(probe_weights(x, b[:, k].double(), TWO, readable[k]), own)
    assert torch.equal(own[:2], torch.eye(6).double()[[1, 5]])
    assert not own[2:, [1, 5]].any()  # exact zeros: what is projected away leaves no rounding in those columns


def test_only_the_biases_asked_for_are_learned_but_columns_count_for_all():
    x, b = people()
    own = found(sensitive_directions(x, b, (TWO, TWO), learned=(0,)))
    assert len(own) == 3
    assert within(torch.eye(6).double()[[1, 5]], own)
    assert within(probe_weights(x, b[:, 0].double(), TWO, torch.arange(6) != 1), own)
    assert not within(probe_weights(x, b[:, 1].double(), TWO, torch.arange(6) != 5), own)
    assert len(found(sensitive_directions(x, b, (TWO, TWO), learned=()))) == 2


def test_a_bias_given_twice_adds_nothing():
    x, b = people()
    once = found(sensitive_directions(x, b[:, :1], (TWO,), learned=(0,)))
    twice = found(sensitive_directions(x, b[:, [0, 0]], (TWO, TWO), learned=(0, 1)))
    assert len(once) == len(twice) == 2
    assert within(once, twice)


def test_three_classes_that_no_column_says_give_two_directions():
    label = torch.arange(90) % 3
    x = random(90, 5)
    x[:, :3] += torch.eye(3).double()[label]
    directions = sensitive_directions(x, label[:, None], (THREE,), learned=(0,))
    assert directions.shape == (5, 5)  # most_directions for 6, were there as many columns
    assert len(found(directions)) == 2


def test_one_column_per_class_says_the_class_outright_with_every_one_of_them():
    label = torch.arange(90) % 3
    x = torch.cat([random(90, 2), torch.eye(3).double()[label]], 1)
    own = found(sensitive_directions(x, label[:, None], (THREE,), learned=()))
    assert torch.equal(own, torch.eye(5).double()[2:])


def test_more_copies_than_there_is_room_for_leave_nothing_of_the_label():
    label = torch.arange(40) % 2
    x = random(40, 12)
    x[:, 2:] = label[:, None] * torch.arange(1, 11) + 5  # ten pixels
    directions = sensitive_directions(x, label[:, None], (TWO,), learned=())
    assert directions.shape == (4, 12)
    assert len(found(directions)) == 1
    left = away_from(x, directions)
    assert torch.allclose(left[:, 2:], left[:1, 2:].expand(40, -1))
    assert torch.allclose(left[:, :2], x[:, :2])


@pytest.mark.parametrize("whole", [True, False])
def test_rows_of_unknown_label_are_left_out_for_that_bias_alone(whole):
    x, b = people()
    more = torch.cat([x, random(30, 6, seed=9)])
    unknown = torch.cat([b, torch.full((30, 2), -1)])
    if not whole:
        unknown = torch.where(unknown < 0, NAN, unknown.double())
    kinds, learned = (TWO, TWO), (0, 1)
    assert torch.equal(
        sensitive_directions(more, unknown, kinds, learned=learned), sensitive_directions(x, b, kinds, learned=learned)
    )
    unknown[200:, 1] = 0  # now the race is known, and no column says it any more
    own = found(sensitive_directions(more, unknown, kinds, learned=learned))
    assert len(own) == 3
    assert torch.equal(own[0], torch.eye(6).double()[1])


@pytest.mark.parametrize("label", [0, 1, -1])
def test_a_bias_with_fewer_than_two_known_values_gives_nothing(label):
    x, _ = people()
    assert not sensitive_directions(x, torch.full((200, 1), label), (TWO,), learned=(0,)).any()
    assert not sensitive_directions(x, torch.full((200, 1), NAN), (Number(),), learned=(0,)).any()


def test_columns_of_classes_and_numbers_stand_side_by_side():
    x, b = people()
    age = 40 + 10 * x[:, 0]
    mixed = torch.stack([b[:, 0].double(), age], 1)
    directions = sensitive_directions(x, mixed, (TWO, Number()), learned=(0, 1))
    assert directions.shape == (6, 6)
    assert torch.equal(directions[:2], torch.eye(6).double()[[0, 1]])


def test_a_class_of_minus_one_is_unknown_and_a_number_is_not():
    label = torch.tensor([-1, 0, 3])
    assert known_labels(label, THREE).tolist() == [False, True, True]
    assert known_labels(label, Number()).tolist() == [True, True, True]
    assert known_labels(torch.tensor([NAN, -1.0]), Number()).tolist() == [False, True]


# Projecting away


def test_what_lies_along_a_direction_goes_and_the_rest_stays():
    directions = torch.tensor([[0.6, 0.8, 0, 0], [0, 0, 0, 0]])
    x = torch.tensor([[3.0, 4, 1, 2], [4.0, -3, 5, 6]]).reshape(2, 2, 2)
    assert torch.allclose(away_from(x, directions), torch.tensor([[[0.0, 0], [1, 2]], [[4, -3], [5, 6]]]), atol=1e-6)


def test_projecting_away_twice_is_projecting_once_whatever_the_run():
    x, b = people()
    directions = torch.stack([sensitive_directions(x, b[:, [k]], (TWO,), learned=(0,)) for k in (0, 1)])
    once = torch.func.vmap(away_from, (None, 0))(x, directions)
    assert torch.allclose(torch.func.vmap(away_from)(once, directions), once)
    assert torch.equal(once[0], away_from(x, directions[0]))
    assert not torch.allclose(once[0], once[1])


# The method's buffer


def of_people(method="project", rows=200, **settings):
    x, b = people(rows)
    samples = Samples(x.float(), (x[:, 0] + b[:, 0] > 0).long(), b)
    dataset = Dataset(Task("people", (6,), TWO, (TWO, TWO), ("gender", "race")), {"train": samples})
    _, plan = plan_run(dataset, method, settings, "", read_dataset)
    return dataset, build(dataset.task, method, plan, 0)


def test_the_directions_fill_a_buffer_whose_shape_the_task_tells():
    dataset, method = of_people()
    assert method.directions.shape == (6, 6)
    assert not method.directions.any()
    method.prepare(dataset.train, dataset.view)
    x = dataset.train.x
    expected = sensitive_directions(x, dataset.train.b, (TWO, TWO), learned=(0, 1))
    assert method.directions.dtype == torch.float32
    assert torch.equal(method.directions, expected.float())
    _, again = of_people()
    again.load_state_dict(method.state_dict())  # a run that is loaded is not prepared
    assert torch.equal(again.predict(x), method.predict(x))


def test_the_biases_to_learn_are_given_by_name():
    dataset, method = of_people(learned=("gender",))
    method.prepare(dataset.train, dataset.view)
    assert len(found(method.directions)) == 3
    with refused("misspelled-name", kind="bias", name="gendr", nearest="gender", known="gender, race"):
        of_people(learned=("gendr",))
    task = dataset.task
    assert [bias_columns(task, names) for names in ((), ("race",), ("race", "gender"))] == [(0, 1), (1,), (0, 1)]


def test_of_too_many_rows_an_even_selection_stands_for_all(monkeypatch):
    monkeypatch.setattr(fair_subspace, "NUMBERS", 6 * 50)
    dataset, method = of_people(rows=200)
    method.prepare(dataset.train, dataset.view)
    chosen = dataset.train.rows(torch.arange(0, 200, 4))
    expected = sensitive_directions(chosen.x, chosen.b, (TWO, TWO), learned=(0, 1))
    assert torch.equal(method.directions, expected.float())


@pytest.mark.parametrize(("toy", "width"), [("toy-image", 192), ("toy-series", 64), ("toy-table", 8)])
def test_images_and_series_are_taken_as_rows_as_f_sees_them(toy, width):
    dataset, method = planned(toy, "project")
    method.prepare(dataset.train, dataset.view)
    x = dataset.view(dataset.train.x)
    assert method.directions.shape[1] == width
    assert method.project_out(x).shape == x.shape
    along = method.project_out(x).flatten(1) @ method.directions.T
    assert along.abs().max() < 1e-4 < (x.flatten(1) @ method.directions.T).abs().max()
