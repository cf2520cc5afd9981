"""What becomes of BatchNorm while a net is trained: it learns, or it rests with the statistics and weights it has."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from csad.errors import InputError

POLICIES = ("auto", "frozen", "learns")


class Resting(nn.Module):
    """A net of which parts can rest: whatever mode the net is put in, they stay in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self._resting: tuple[nn.Module, ...] = ()
        self._rests_later = False

    def train(self, mode: bool = True) -> Resting:
        """Sets the mode of all but the resting parts."""
        super().train(mode)
        for part in self._resting:
            part.training = False
        return self

    def set_batch_norm(self, policy: str, *, pretrained: bool) -> None:
        """``frozen``: it rests from now on, ``learns``: never, ``auto``: now where pretrained, else from rest() on."""
        if policy not in POLICIES:
            raise InputError(f"net.batch_norm must be one of {POLICIES}, not {policy!r}.")
        self._rests_later = policy == "auto" and not pretrained
        if policy == "frozen" or (policy == "auto" and pretrained):
            self._freeze()

    def rest(self) -> bool:
        """Whether BatchNorm was put to rest just now; to be called once a first stage has moved the net."""
        due, self._rests_later = self._rests_later, False
        if due:
            self._freeze()
        return due

    def _freeze(self) -> None:
        norms = tuple(part for part in self.modules() if isinstance(part, _BatchNorm))
        for norm in norms:
            norm.eval().requires_grad_(False)
        self._resting += norms
