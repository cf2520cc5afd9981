"""The program that compares versions of csad by their numbers: it must be able to say no."""

import json
import sys

import pytest

from tests.support.scripts import script


@pytest.fixture(scope="module")
def program():
    return script("benchmarks/same_weights.py")


def digests(program, place, seed=0, method="vanilla", **settings):
    return program.trained("methods/one", place, "toy-table", method, seed, program.SHORT | program.SMALL | settings)


def test_a_seed_gives_the_same_digests_again_and_another_seed_others(program, tmp_path):
    first, again, other = (digests(program, tmp_path / str(k), seed) for k, seed in enumerate((0, 0, 1)))
    assert set(first) == {"methods/one/state", "methods/one/figures", "methods/one/said"}
    assert first == again
    assert not set(first.values()) & set(other.values())


def test_what_is_refused_has_a_digest_too(program, tmp_path, capsys):
    assert digests(program, tmp_path, **{"net.backbone": "conv"}) == {"methods/one": program.REFUSED}
    assert "methods/one is refused: A convolutional backbone" in capsys.readouterr().out


def test_arrays_differ_in_each_of_name_kind_shape_and_bits(program):
    zeros = program.np.zeros((2, 3), dtype="float32")
    several = [{"a": zeros}, {"b": zeros}, {"a": zeros.T}, {"a": zeros.astype("int32")}, {"a": -zeros}]
    assert len({program.of_arrays(arrays) for arrays in several}) == len(several)


def test_figures_may_change_their_names_but_not_their_last_bit(program):
    def told(name, value):
        return program.of_numbers({"test": {name: value, "auc": 0.5}, "seconds": program.time.time()})

    assert told("equalised_odds", 0.1) == told("equalized_odds", 0.1)
    assert told("equalised_odds", 0.1) != told("equalised_odds", 0.1 + 2e-17)


@pytest.mark.parametrize(
    ("found", "known", "says"),
    [
        ({"a/1": "x", "b": "z"}, {"a/1": "x", "c": "y"}, "1 of 1 the same\nb is new\n"),
        ({"a/1": "x", "a/2": "z"}, {"a/1": "x", "a/2": "y"}, "1 of 2 the same\na/2 differs\n"),
        ({"a/1": "x"}, {"a/1": "x", "a/2": "y"}, "1 of 2 the same\na/2 is missing\n"),
        ({"a/1": "x"}, {}, "0 of 0 the same\na/1 is new\n"),
    ],
    ids=["same", "other", "missing", "nothing"],
)
def test_it_says_what_differs_or_is_missing(program, capsys, found, known, says):
    same = program.compare(found, {"digests": known, "made_with": program.made_with()}, ["a"])
    assert capsys.readouterr().out == says
    assert same == ("same\n" in says and says.startswith("1 of 1"))


def test_the_program_fails_where_anything_differs(program, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(program.PARTS, "methods", lambda place, seed: {"methods/one": f"digest of seed {seed}"})
    monkeypatch.setattr(program.torch, "use_deterministic_algorithms", lambda on: None)
    monkeypatch.setattr(program.warnings, "simplefilter", lambda kind: None)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["same_weights.py", "--parts", "methods", *map(str, words)])
        program.main()

    typed("--json", tmp_path / "first.json")
    assert json.loads((tmp_path / "first.json").read_text())["digests"] == {"methods/one": "digest of seed 0"}
    typed("--against", tmp_path / "first.json")
    with pytest.raises(SystemExit, match="1"):
        typed("--against", tmp_path / "first.json", "--seed", 1)
    assert "0 of 1 the same\nmethods/one differs" in capsys.readouterr().out
