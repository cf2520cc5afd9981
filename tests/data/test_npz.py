from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from csad.data.arrays import from_arrays, from_npz
from csad.data.samples import Classes
from tests.support.messages import Refusal, refused

N = 200
X = np.arange(2.0 * N).reshape(N, 2)
Y = np.arange(N) % 2
B = np.arange(N) // 2 % 2


def test_an_npz_file_gives_the_same_as_its_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "people.npz", x=X, y=np.where(Y == 1, "yes", "no"), b=B)
    dataset = from_npz(tmp_path / "people.npz", bias_names=("sex",))
    assert dataset.task.name == "people"
    assert dataset.task.target.names == ("no", "yes")
    assert torch.equal(dataset.train.x, from_arrays(X, np.where(Y == 1, "yes", "no"), B).train.x)


def test_test_arrays_in_an_npz_file_become_the_test_split(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y, b=B, x_test=X[:5], y_test=Y[:5] + 1, b_test=B[:5])
    dataset = from_npz(tmp_path / "a.npz")
    assert [len(rows) for rows in dataset.splits.values()] == [175, 25, 5]
    assert dataset.task.target == Classes(3, ("0", "1", "2"))
    assert dataset.splits["test"].y.tolist() == [1, 2, 1, 2, 1]


def test_a_file_that_is_no_npz_of_plain_arrays_is_an_input_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "part.npz", x=X, y=Y)
    np.savez(tmp_path / "half.npz", x=X, y=Y, b=B, x_test=X)
    np.savez(tmp_path / "objects.npz", x=X, y=Y, b=np.array([{}] * N, dtype=object))
    np.save(tmp_path / "one.npy", X)
    (tmp_path / "text.npz").write_text("x,y,b\n1,2,3\n")
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "part.npz").read_bytes()[:-200])
    complaints = {
        "part.npz": Refusal("npz-array-missing", array="b", known="x, y"),
        "half.npz": Refusal("npz-array-missing", array="y_test"),
        "objects.npz": Refusal("invalid-npz-file", problem="holds Python objects"),
        "one.npy": Refusal("npz-single-array"),
        "text.npz": Refusal("invalid-npz-file", problem="is not an .npz file"),
        "empty.npz": Refusal("invalid-npz-file", problem="is not an .npz file"),
        "cut.npz": Refusal("invalid-npz-file", problem="is not an .npz file"),
        "missing.npz": Refusal("file-unreadable"),
        ".": Refusal("file-unreadable", reason="Is a directory"),
    }
    for name, complaint in complaints.items():
        with refused(complaint):
            from_npz(tmp_path / name)
