"""Whoever trains beside other programs is told once why it crawls; whoever trains alone is told nothing."""

import resource
import time

import pytest
import torch
from listeners import Heard

from csad.training import crowd
from csad.training.crowd import CROWDED, WINDOW, Crowd, Use
from csad.training.device import Way
from csad.training.fit import fit

CPU = torch.device("cpu")


@pytest.fixture
def used(monkeypatch):
    """What the process has used at each look, in turn; torch has two threads."""

    def script(*looks):
        monkeypatch.setattr(crowd, "_use", iter([Use(*look) for look in looks]).__next__)

    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    return script


def test_advice_is_given_once(used):
    used((0, 0), (WINDOW, 250 * WINDOW), (2 * WINDOW, 500 * WINDOW))
    found = Crowd()
    assert found.advice(CPU) == ""
    assert found.advice(CPU).startswith("The 2 threads of this training take turns on cores")
    assert found.advice(CPU) == ""


def test_who_has_the_cores_alone_is_told_nothing_and_a_rival_that_comes_later_is_noticed(used):
    looks = [(0, 0), (1, 20), (2, 40), (2.5, 500), (3, 290)]  # the fourth is too soon after the third to count
    used(*((k * WINDOW, taken * WINDOW) for k, taken in looks))
    found = Crowd()
    assert [bool(found.advice(CPU)) for _ in range(5)] == [False, False, False, False, True]


@pytest.mark.parametrize(("taken", "told"), [(0.9 * CROWDED, False), (1.1 * CROWDED, True)])
def test_how_often_a_core_is_taken_away_decides(used, taken, told):
    used((0, 0), (WINDOW, taken * WINDOW))
    found = Crowd()
    assert [bool(found.advice(CPU)) for _ in range(2)] == [False, told]
    assert 20 < CROWDED < 250  # what was measured alone, and beside a rival


def test_one_thread_waits_for_no_other(used, monkeypatch):
    used((0, 0), (WINDOW, 250 * WINDOW))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    found = Crowd()
    assert [found.advice(CPU) for _ in range(3)] == ["", "", ""]


def test_a_gpu_waits_for_no_core(used):
    used((0, 0), (WINDOW, 250 * WINDOW))
    found = Crowd()
    assert [found.advice(torch.device("cuda")) for _ in range(3)] == ["", "", ""]


def test_what_is_measured_is_this_process():
    before, start = crowd._use(), time.process_time()
    while time.process_time() - start < 0.05:
        sum(range(1000))
    after = crowd._use()
    assert after.seconds - before.seconds >= 0.04
    assert before.taken <= after.taken <= resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def test_a_training_tells_its_listener_and_the_next_one_does_not_again(used, make):
    used(*((k * WINDOW, k * 250 * WINDOW) for k in range(100)))
    way, listener = Way(CPU), Heard()
    for seed in (0, 1):
        dataset, method = make()
        fit(method, dataset, listener, way, seed=seed)
    assert sum("OMP_NUM_THREADS=1" in text for text in listener.warnings) == 1
