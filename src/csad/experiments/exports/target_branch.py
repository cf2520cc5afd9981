"""What is left of a trained method at test time: F, D_y, P_y, and what they lean on when they predict."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from csad.methods.method import TARGET_BRANCH, Method


def at_rest(method: Method) -> Method:
    """A copy of the method on the CPU that only predicts, in float32, which every machine knows."""
    copied = copy.deepcopy(method).cpu().eval()
    copied.course = replace(copied.course, precision="float32")
    return copied


@torch.no_grad()
def target_branch(method: Method) -> Method:
    """A copy of the method, at rest, that holds no more than predicting needs: no bias branch, no M.

    Beside F, D_y and P_y that is whatever ``predict`` fails without, such as the directions that project takes away.
    """
    left = at_rest(method)
    x = torch.zeros(2, *left.task.shape)
    stores: tuple[dict[str, Any], ...] = (left._modules, left._buffers, left._parameters)
    for store in stores:
        for name in [name for name in store if name not in TARGET_BRANCH]:
            taken = store.pop(name)
            try:
                left.predict(x)
            except AttributeError:
                store[name] = taken
    return left


class Scores(nn.Module):
    """From x as it is stored to what is predicted, P_y(D_y(F(x))), with the view between: one module to export."""

    def __init__(self, method: Method, view: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.method = method
        self.view = view

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n, classes), or (n, 1) for a number."""
        return self.method.predict(self.view(x))
