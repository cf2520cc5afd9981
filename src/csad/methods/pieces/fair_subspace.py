"""The sensitive directions of x, for project, SenSR and SenSeI: columns of x that are a function of a bias, and the
weights of a linear probe on the others (Yurochkin, Bower and Sun, ICLR 2020)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from csad.data.samples import Classes, Number, Samples, Task
from csad.methods.method import Course, Method
from csad.methods.pieces.terms import bias_columns, known_labels
from csad.nets.parts import Nets

PROBE_DECAY = 0.1  # of the linear probe's weights, mean cross-entropy + 0.1 / 2 · |w|²: SenSR's code
SMALLEST = 1e-6  # shorter directions, among vectors of length 1, are rounding: w_1 = −w_0 for two classes
# At most so many numbers of x are read, which takes up to half a minute (Adult has a tenth of them: a second). Of more
# rows an even selection represents all, also when columns are compared with a bias.
NUMBERS = 2**24


def most_directions(kinds: Sequence[Classes | Number], width: int) -> int:
    """The largest possible number of sensitive directions in x of ``width`` columns; the task alone decides it."""
    return min(width, 2 * sum(kind.outputs for kind in kinds))


def sensitive_directions(
    x: Tensor, b: Tensor, kinds: Sequence[Classes | Number], *, learned: Collection[int]
) -> Tensor:
    """Orthonormal rows (``most_directions``, d) that span what is sensitive in x (n, d), in float64; the rest are 0.

    Columns that are a function of a bias come first, as unit vectors, so that projecting them away leaves exact zeros.
    Then come the linear probes' weights in the other columns. Rows whose label is unknown are left out for that bias;
    a bias with a single known value has no directions.

    Args:
        x: The rows.
        b: Their bias labels.
        kinds: The kind of each bias.
        learned: The numbers of the biases that a probe is trained for.
    """
    x, b = x.double().cpu(), b.cpu()
    plain = torch.zeros(x.shape[1], dtype=torch.bool)
    others = [x.new_zeros(0, x.shape[1])]
    for k, kind in enumerate(kinds):
        rows = known_labels(b[:, k], kind)
        known_rows, label = x[rows], b[rows, k].double()
        if len(torch.unique(label)) < 2:
            continue
        proxies, moves = proxy_directions(known_rows, label, kind)
        if proxies.sum() <= kind.outputs:
            plain |= proxies
        else:  # more proxies than there may be directions, such as pixels: the directions in which they move together
            others.append(moves)
        if k in learned:
            others.append(probe_weights(known_rows, label, kind, ~proxies))
    columns = torch.nonzero(plain)
    units = x.new_zeros(len(columns), x.shape[1]).scatter_(1, columns, 1)
    rest = torch.cat(others) * ~plain
    _, sizes, turned = torch.linalg.svd(rest, full_matrices=False)
    sensitive = torch.cat([units, turned[sizes > SMALLEST] * ~plain])
    directions = x.new_zeros(most_directions(kinds, x.shape[1]), x.shape[1])
    directions[: len(sensitive)] = sensitive
    return directions


def proxy_directions(x: Tensor, label: Tensor, kind: Classes | Number) -> tuple[Tensor, Tensor]:
    """Mask (d,) of the columns that are a function of a bias, and the directions in which these move with it.

    Such a column has one value for each class, but not the same for all (a one-hot column, for example); for a number
    it is a linear function. The directions are 0 in the other columns.
    """
    if isinstance(kind, Classes):
        classes = [x[label == value] for value in torch.unique(label)]
        values = torch.stack([rows[0] for rows in classes])
        same = torch.stack([(rows == rows[0]).all(0) for rows in classes]).all(0)
        proxies, moves = same & (values != values[0]).any(0), values - values.mean(0)
    else:
        apart, moved = label - label.mean(), x - x.mean(0)
        slope = apart @ moved / apart.square().sum()
        left = moved.square().sum(0) - slope.square() * apart.square().sum()
        proxies, moves = (slope != 0) & (left < SMALLEST * moved.square().sum(0)), slope[None]
    return proxies, _of_length_one(moves * proxies)


def probe_weights(x: Tensor, label: Tensor, kind: Classes | Number, readable: Tensor) -> Tensor:
    """Weights (m, d) of a linear probe for the label, 0 in the columns that it may not read; the longest has length 1.

    A softmax classifier has a row per class, or one row for two classes, whose weights are each other's negative; for a
    number it is least squares.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    weights = x.new_zeros(1, x.shape[1])
    if not readable.any():
        return weights
    n = len(x)
    # The intercept absorbs the mean, so subtracting it changes no weight; it only speeds up the fit.
    columns = (x[:, readable] - x[:, readable].mean(0)).numpy()
    if isinstance(kind, Classes):
        # For two classes sklearn has one vector w for the softmax's ± w / 2, whose squares add up to half of w's.
        decay = PROBE_DECAY / 2 if len(torch.unique(label)) == 2 else PROBE_DECAY
        probe = LogisticRegression(C=1 / (decay * n), tol=1e-8, max_iter=10_000).fit(columns, label.long().numpy())
    else:
        probe = Ridge(alpha=PROBE_DECAY * n, solver="cholesky").fit(columns, label.numpy())
    coefficients = torch.as_tensor(probe.coef_, dtype=x.dtype).reshape(-1, columns.shape[1])
    weights = weights.repeat(len(coefficients), 1)
    weights[:, readable] = coefficients
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
    """A method that holds the sensitive directions of x, as buffer ``directions``; children give the schedule.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        learned: The biases for which a linear probe is trained; none: all. (SenSR's code has one for gender alone on
            Adult.) Columns that are a function of a bias count for every bias.
    """

    directions: Tensor

    def __init__(self, task: Task, nets: Nets, course: Course, *, learned: tuple[str, ...] = ()) -> None:
        super().__init__(task, nets, course)
        self.learned = bias_columns(task, learned)
        self.width = torch.Size(task.shape).numel()
        self.register_buffer("directions", torch.zeros(most_directions(task.biases, self.width), self.width))

    def prepare(self, train: Samples, view: Callable[[Tensor], Tensor]) -> None:
        """Compute the directions."""
        n = len(train)
        count = min(n, max(2, NUMBERS // self.width))
        rows = torch.arange(count, device=train.x.device) * n // count
        x = view(train.x[rows]).flatten(1)
        self.directions.copy_(sensitive_directions(x, train.b[rows], self.task.biases, learned=self.learned))

    def project_out(self, x: Tensor) -> Tensor:
        """x with all that is sensitive projected away."""
        return away_from(x, self.directions)
