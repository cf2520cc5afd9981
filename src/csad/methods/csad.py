"""Cross-sample adversarial debiasing (Zhu et al., ICCV 2021) and its three ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from csad.data.pairs import Related, of_one_class
from csad.data.samples import Classes, Task
from csad.errors import InputError, unknown
from csad.information.bounds.cs import PAIRS
from csad.information.estimator import Estimator
from csad.information.similarity import Similarity
from csad.messages import message
from csad.methods.method import Course, Encoded, Stage, Update
from csad.methods.pieces.bias_branch import BiasBranched
from csad.methods.pieces.terms import recent, steps
from csad.nets.parts import Nets
from csad.registry import BOUNDS, METHODS


@METHODS.register("csad")
@METHODS.register("csad-content", "CSAD with content similarity alone (Eq. 3).", kind="content")
@METHODS.register("csad-struc", "CSAD with structural similarity alone (Eq. 8).", kind="structure")
@METHODS.register("ad-jsd", "CSAD with content similarity and I_JSD in place of I_CS.", kind="content", bound="jsd")
class Csad(BiasBranched):
    """Cross-sample adversarial debiasing: M measures how much h_y tells of h_b, and F unlearns it.

    Args:
        task: The shape of x, the target and the biases.
        nets: Builds the parts.
        course: How long and how fast to train.
        debias_weight: λ, the weight of the information that F unlearns.
        inner_steps: K, the paper's: steps of the bias branch and of M for each step of F.
        bound: The bound on mutual information: cs, jsd, mine or nce.
        pairs: The form of I_CS: ``sum`` as in the authors' code, ``mean`` as printed in Eq. 2.
        related_by: Ω, which samples share a bias: a rule such as same_sample; "" for the task's.
        within_classes: Whether to compare samples of one class only (not in the paper): then the information is what
            h_y tells of h_b beyond what y itself tells of b.
        kind: The similarity: ``joint``, ``content`` or ``structure``.
        form: ``authors`` for the similarity of the authors' code, ``paper`` for the printed equations.
        walk_on: c, the paper's: the probability that the random walk continues.
        sharpness: The initial value of τ; the default is the paper's.
        scale: The initial value of α; the default is the paper's.
    """

    starts = ("sharpness", "scale")  # where M's scales start
    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,
        inner_steps: int = 10,
        bound: str = "cs",
        pairs: str = "sum",
        related_by: str = "",
        within_classes: bool = False,
        kind: str = "joint",
        form: str = "authors",
        walk_on: float = 0.5,
        sharpness: float = 10.0,
        scale: float = 1.0,
    ) -> None:
        super().__init__(task, nets, course)
        if min(sharpness, scale) <= 0:
            raise InputError("sharpness-or-scale-not-positive", sharpness=sharpness, scale=scale)
        similarity = Similarity(form=form, kind=kind, walk_on=walk_on)
        self.M = Estimator(
            nets.estimator_net(),
            nets.estimator_net(),
            similarity,
            sharpness=sharpness,
            scale=scale,
            # Only the authors' sums divide by α; elsewhere two of them could raise a bound without any information.
            two_scales=bound == "cs" and pairs == "sum",
        )
        if pairs not in PAIRS:
            raise unknown("form of I_CS", pairs, PAIRS)
        if within_classes and not isinstance(task.target, Classes):
            raise InputError("within-classes-needs-classes")
        self.within_classes = within_classes
        self.inner_steps = steps(inner_steps)
        self.related = Related(related_by) if related_by else task.related
        self.bound = partial(BOUNDS[bound], pairs=pairs) if bound == "cs" else BOUNDS[bound]
        self.register_settings(debias_weight=debias_weight)

    def shared_information(self, e: Encoded) -> Tensor:
        """I(h_y, h_b) across the pairs of Ω, estimated by M (Eq. 2)."""
        scores = self.M(self.D_y(e.h), self.D_b(e.h))
        related = self.related(e.b)
        if self.within_classes:
            related = of_one_class(related, e.y)
        value: Tensor = self.bound(scores, related, scale=self.M.scale())
        return value

    def schedule(self) -> tuple[Stage, ...]:
        """The supplement's Algorithm 1."""
        c, K = self.course, self.inner_steps
        target, bias = self.target_update(), self.bias_update()
        estimator = Update("estimator", moves=("M",), loss=lambda e: -self.shared_information(e))
        debias = Update("debias", moves=("F",), loss=lambda e: self.debias_weight * self.shared_information(e))
        return (
            *self.pretraining(),
            Stage("estimator", (estimator,), c.estimator_epochs, c.rate),
            # M's optimizer lives on, as in the authors' code.
            self.debiasing(target, replace(bias, repeat=K), replace(estimator, repeat=K), debias),
        )

    def diagnose(self, stage: str, curves: Mapping[str, Sequence[float]]) -> list[str]:
        """Warn of a target at chance, an estimator that learns nothing, and scales that run away."""
        warnings = super().diagnose(stage, curves)
        if stage == "estimator" and len(curves["estimator"]) > 3:
            start, now = curves["estimator"][0], recent(curves["estimator"])
            if start - now < 0.001 * abs(start):
                warnings.append(message("estimator-learned-nothing"))
        for name, value in self.M.scales().items():
            start = getattr(self.M, name).start
            # With means, an M that finds nothing any more draws its one α to 0: the aim of debiasing.
            lowest = 0 * start if name == "scale_related" and self.M.scale_other is None else start / 10
            if not bool((value > lowest) & (value < start * 10)):
                warnings.append(message("scale-ran-away", name=name))
        return warnings
