"""How much memory a training keeps: counted on graphs whose bytes are known, and on real steps without a trace."""

import pytest
import torch

from csad.training.memory import SavedBytes, free_bytes, run_bytes, small

DOUBLE = 8  # bytes


def numbers(*shape):
    return torch.ones(*shape, dtype=torch.double, requires_grad=True)


def test_what_autograd_keeps_is_counted_in_bytes():
    a, b = numbers(10, 20), numbers(20, 30)
    with SavedBytes() as kept:
        product = a @ b  # keeps a and b for each other's gradient
        assert kept.now == kept.most == DOUBLE * (200 + 600)
        value = product.exp()  # keeps what it gives
        assert kept.now == DOUBLE * (200 + 600 + 300)
    value.sum().backward()
    assert kept.now == 0
    assert kept.most == DOUBLE * (200 + 600 + 300)


def test_memory_that_is_shared_counts_once():
    a = numbers(10, 10)
    with SavedBytes() as kept:
        square = a * a
        assert kept.now == DOUBLE * 100
        turned = a.T @ a  # a view of the same memory
        assert kept.now == DOUBLE * 100
    (square.sum() + turned.sum()).backward()
    assert kept.now == 0


def test_what_is_let_go_without_a_backward_pass_counts_no_more():
    a, b = numbers(10, 20), numbers(20, 30)
    with SavedBytes() as kept:
        first = a @ b
        del first
        assert kept.now == 0
        second = (a @ b) @ numbers(30, 5)
        assert kept.now == DOUBLE * (200 + 600 + 300 + 150)
        del second
    assert (kept.now, kept.most) == (0, DOUBLE * (200 + 600 + 300 + 150))


def test_nothing_is_kept_where_no_gradient_is_wanted():
    with SavedBytes() as kept, torch.no_grad():
        numbers(10, 20) @ numbers(20, 30)
    assert kept.most == 0


def test_nothing_is_counted_outside():
    kept = SavedBytes()
    with kept:
        pass
    numbers(3).exp()
    assert kept.most == 0


def test_estimating_leaves_a_method_bit_for_bit_as_it_is(make, method_name, toy):
    dataset, method = make(toy, method_name, train__average=0.9)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    assert run_bytes(method, dataset) > 5 * sum(value.nbytes for value in before.values())
    assert all(torch.equal(value, before[name]) for name, value in method.state_dict().items())
    assert all(weight.grad is None and weight.requires_grad for weight in method.parameters())


def test_a_larger_batch_needs_more_memory(make):
    sizes = []
    for batch_size in (16, 32, 64):
        dataset, method = make("toy-image", train__batch_size=batch_size)
        sizes.append(run_bytes(method, dataset))
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_larger_training_set_needs_room_for_its_features(make):
    # F(x) of the whole set is held where a stage leaves F alone; it tells only where that outweighs a step.
    found = []
    for rows in (10_000, 20_000):
        dataset, method = make("toy-table", "csad-content", data__rows=rows, train__batch_size=2)
        found.append(run_bytes(method, dataset))
    assert found[1] - found[0] == pytest.approx(10_000 * 64 * 4, rel=0.1)


def test_two_batches_are_all_that_is_looked_at(make):
    dataset, _ = make("toy-table", data__rows=200)
    assert len(small(dataset, 32).train) == 64
    assert len(small(dataset, 150).train) == 200
    assert torch.equal(small(dataset, 32).train.x, dataset.train.x[:64])
    assert small(dataset, 32).splits["test"] is dataset.splits["test"]


def test_this_machine_has_some_memory_left():
    assert free_bytes(torch.device("cpu")) > 2**20
