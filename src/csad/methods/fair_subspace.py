"""The sensitive directions of x, which project, SenSR and SenSeI share: what columns of x say of a bias outright, and
what a linear reader makes of the others (Yurochkin, Bower and Sun, ICLR 2020)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from csad.data.samples import Classes, Number, Samples, Task
from csad.methods.method import Course, Method
from csad.methods.terms import bias_columns, known_labels, outputs
from csad.nets.parts import Nets

READER_DECAY = 0.1  # of the linear reader's weights, mean cross-entropy + 0.1 / 2 · |w|²: SenSR's code
SMALLEST = 1e-6  # a direction that is shorter, beside vectors of length 1, is rounding: w_1 = −w_0 for two classes
# So many numbers of x are looked at, which takes half a minute at most (Adult has a tenth of them, a second); of more
# rows than that an even selection is taken, and it stands for all, for the columns that say a bias outright as well.
NUMBERS = 2**24


def room(kinds: Sequence[Classes | Number], width: int) -> int:
    """The most sensitive directions that there can be in x of ``width`` columns: it follows from the task alone."""
    return min(width, 2 * sum(map(outputs, kinds)))


def sensitive_directions(
    x: Tensor, b: Tensor, kinds: Sequence[Classes | Number], *, learned: Collection[int]
) -> Tensor:
    """Orthonormal rows (``room``, d) that span all that is sensitive in x (n, d), in float64; those left over are 0.

    Columns that say a bias outright come first, as unit vectors, so that projecting them away leaves exact zeros; then
    what is left beside them of the linear readers' weights, for the biases in ``learned``. Rows whose label is unknown
    are left out for that bias; one with a single known value gives nothing.
    """
    x, b = x.double().cpu(), b.cpu()
    plain = torch.zeros(x.shape[1], dtype=torch.bool)
    others = [x.new_zeros(0, x.shape[1])]
    for k, kind in enumerate(kinds):
        rows = known_labels(b[:, k], kind)
        seen, label = x[rows], b[rows, k].double()
        if len(torch.unique(label)) < 2:
            continue
        said, ways = said_outright(seen, label, kind)
        if said.sum() <= outputs(kind):
            plain |= said
        else:  # more copies than there is room for, such as pixels: the ways in which they move with the label
            others.append(ways)
        if k in learned:
            others.append(reader_weights(seen, label, kind, ~said))
    columns = torch.nonzero(plain)
    units = x.new_zeros(len(columns), x.shape[1]).scatter_(1, columns, 1)
    rest = torch.cat(others) * ~plain
    _, sizes, turned = torch.linalg.svd(rest, full_matrices=False)
    found = torch.cat([units, turned[sizes > SMALLEST] * ~plain])
    directions = x.new_zeros(room(kinds, x.shape[1]), x.shape[1])
    directions[: len(found)] = found
    return directions


def said_outright(x: Tensor, label: Tensor, kind: Classes | Number) -> tuple[Tensor, Tensor]:
    """Mask (d,) of the columns that say a bias outright, and the directions in which these move with it, 0 elsewhere.

    Such a column is a function of the label: one value for each class, not one for all (so each of several columns that
    are 1 for one class and 0 for the rest); for a number, a straight line.
    """
    if isinstance(kind, Classes):
        classes = [x[label == value] for value in torch.unique(label)]
        values = torch.stack([rows[0] for rows in classes])
        same = torch.stack([(rows == rows[0]).all(0) for rows in classes]).all(0)
        said, ways = same & (values != values[0]).any(0), values - values.mean(0)
    else:
        apart, moved = label - label.mean(), x - x.mean(0)
        slope = apart @ moved / apart.square().sum()
        left = moved.square().sum(0) - slope.square() * apart.square().sum()
        said, ways = (slope != 0) & (left < SMALLEST * moved.square().sum(0)), slope[None]
    return said, _of_length_one(ways * said)


def reader_weights(x: Tensor, label: Tensor, kind: Classes | Number, readable: Tensor) -> Tensor:
    """Weights (m, d) of a linear reader of the label, 0 in the columns that it may not read: the longest has length 1.

    A softmax classifier has a row per class, or one row for two classes, whose weights are each other's negative; for a
    number it is least squares.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    weights = x.new_zeros(1, x.shape[1])
    if not readable.any():
        return weights
    n = len(x)
    # The free term takes up the mean, so leaving it out changes no weight, only how soon they are found.
    columns = (x[:, readable] - x[:, readable].mean(0)).numpy()
    if isinstance(kind, Classes):
        # With two classes sklearn has one vector w for the softmax's ± w / 2, whose squares add up to half of w's.
        decay = READER_DECAY / 2 if len(torch.unique(label)) == 2 else READER_DECAY
        reader = LogisticRegression(C=1 / (decay * n), tol=1e-8, max_iter=10_000).fit(columns, label.long().numpy())
    else:
        reader = Ridge(alpha=READER_DECAY * n, solver="cholesky").fit(columns, label.numpy())
    found = torch.as_tensor(reader.coef_, dtype=x.dtype).reshape(-1, columns.shape[1])
    weights = weights.repeat(len(found), 1)
    weights[:, readable] = found
    return _of_length_one(weights)


def _of_length_one(rows: Tensor) -> Tensor:
    """The rows, all divided by the length of the longest; zeros stay."""
    longest = torch.linalg.vector_norm(rows, dim=1).max()
    return rows / torch.where(longest > 0, longest, 1)


def away_from(x: Tensor, directions: Tensor) -> Tensor:
    """x without its part along the directions (orthonormal rows, or 0), in x's shape: x − (x Dᵀ) D."""
    rows = x.flatten(1)
    return (rows - rows @ directions.T @ directions).reshape(x.shape)


class SensitiveSubspace(Method):
    """A method that knows the sensitive directions of x, as buffer ``directions``; children give the schedule.

    ``learned`` names the biases that a linear reader is trained on, all if none: SenSR's code has one for gender alone
    on Adult. Columns that say a bias outright count for every bias.
    """

    directions: Tensor

    def __init__(self, task: Task, nets: Nets, course: Course, *, learned: tuple[str, ...] = ()) -> None:
        super().__init__(task, nets, course)
        self.learned = bias_columns(task, learned)
        self.width = torch.Size(task.shape).numel()
        self.register_buffer("directions", torch.zeros(room(task.biases, self.width), self.width))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Finds the directions."""
        n = len(train)
        taken = min(n, max(2, NUMBERS // self.width))
        rows = torch.arange(taken, device=train.x.device) * n // taken
        x = view(train.x[rows]).flatten(1)
        self.directions.copy_(sensitive_directions(x, train.b[rows], self.task.biases, learned=self.learned))

    def hidden(self, x: Tensor) -> Tensor:
        """x with all that is sensitive projected away."""
        return away_from(x, self.directions)
