"""Loss terms and warning signs that several methods share. Unknown labels do not count, and never give NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from csad.data.pairs import known
from csad.data.samples import UNKNOWN, Classes, Number, Task
from csad.errors import InputError, unknown


def steps(inner_steps: int) -> int:
    """The number of inner steps. Raise InputError if it is below 1."""
    if inner_steps < 1:
        raise InputError("inner-steps-below-one", steps=inner_steps)
    return inner_steps


def bias_columns(task: Task, names: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the bias columns of these names, in the task's order; all columns if there are no names."""
    for name in names:
        if name not in task.bias_names:
            raise unknown("bias", name, task.bias_names)
    return tuple(k for k, name in enumerate(task.bias_names) if name in names or not names)


def known_labels(label: Tensor, kind: Classes | Number) -> Tensor:
    """Mask of the known labels of a column: −1 is unknown for a class, but not for a number."""
    return known(label.double() if isinstance(kind, Number) else label)


def known_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values (n,) whose mask is true; 0, with no gradient, when none is."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp(min=1)


def label_loss(out: Tensor, label: Tensor, kind: Classes | Number) -> Tensor:
    """Cross-entropy of logits (n, classes), or squared error of numbers (n, 1), over the known labels."""
    if isinstance(kind, Classes):
        classes = (torch.nan_to_num(label, nan=UNKNOWN) if label.is_floating_point() else label).long()
        total = cross_entropy(out, classes, ignore_index=UNKNOWN, reduction="sum")
        return total / known(classes).sum().clamp(min=1)
    mask = known(label.to(out.dtype))
    return known_mean((out[:, 0] - torch.where(mask, label, 0).to(out.dtype)).square(), mask)


def bias_loss(outs: Sequence[Tensor], b: Tensor, kinds: Sequence[Classes | Number]) -> Tensor:
    """Mean over the bias columns of each column's loss."""
    losses = [label_loss(out, b[:, k], kind) for k, (out, kind) in enumerate(zip(outs, kinds, strict=True))]
    return torch.stack(losses).mean()


def confusion(outs: Sequence[Tensor]) -> Tensor:
    """Cross-entropy against the uniform distribution, −1/K Σ log p_k: mean over rows and columns."""
    return torch.stack([-log_softmax(out, -1).mean() for out in outs]).mean()


def entropy(outs: Sequence[Tensor]) -> Tensor:
    """Entropy of predictions, −Σ p_k log p_k in nats: mean over rows and columns."""
    log_probabilities = [log_softmax(out, -1) for out in outs]
    return torch.stack([-(log_p.exp() * log_p).sum(-1).mean() for log_p in log_probabilities]).mean()


def as_inputs(b: Tensor, kinds: Sequence[Classes | Number], dtype: torch.dtype) -> Tensor:
    """Bias labels as inputs of a net: one-hot for a class, the number itself for a number; zeros if unknown."""
    columns = [
        (b[:, k, None] == torch.arange(kind.count, device=b.device)).to(dtype)
        if isinstance(kind, Classes)
        else torch.nan_to_num(b[:, k, None].to(dtype))
        for k, kind in enumerate(kinds)
    ]
    return torch.cat(columns, -1)


def recent(curve: Sequence[float]) -> float:
    """The mean of a curve's last quarter."""
    tail = curve[-max(1, len(curve) // 4) :]
    return sum(tail) / len(tail)


def fell_to_chance(curve: Sequence[float], target: Classes | Number) -> bool:
    """Whether a target loss that began well below the loss of guessing has risen to it."""
    if not isinstance(target, Classes) or len(curve) < 2:
        return False
    guessing = math.log(target.count)
    return curve[0] < 0.8 * guessing and recent(curve) > 0.95 * guessing
