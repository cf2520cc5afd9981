"""Cross-sample adversarial debiasing (Zhu et al., ICCV 2021) and its three ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from csad.data.pairs import Related, of_one_class
from csad.data.samples import Classes, Task
from csad.errors import InputError, unknown
from csad.information import Estimator, Similarity
from csad.information.bounds.cs import PAIRS
from csad.methods.bias_branch import BiasBranched
from csad.methods.method import Course, Encoded, Stage, Update
from csad.methods.terms import recent, steps
from csad.nets.parts import Nets
from csad.registry import BOUNDS, METHODS


@METHODS.register("csad")
@METHODS.register("csad-content", "CSAD with content similarity alone (Eq. 3).", kind="content")
@METHODS.register("csad-struc", "CSAD with structural similarity alone (Eq. 8).", kind="structure")
@METHODS.register("ad-jsd", "CSAD with content similarity and I_JSD in place of I_CS.", kind="content", bound="jsd")
class Csad(BiasBranched):
    """Cross-sample adversarial debiasing: M measures how much h_y tells of h_b, and F unlearns it.

    ``pairs`` is the form of I_CS: "sum" as in the authors' code, "mean" as printed in Eq. 2. With ``within_classes``
    only samples of one class are compared: what h_y tells of h_b beyond what y itself tells of b.
    """

    starts = ("sharpness", "scale")  # M's scales begin there
    debias_weight: Tensor

    def __init__(
        self,
        task: Task,
        nets: Nets,
        course: Course,
        *,
        debias_weight: float = 1.0,  # λ
        inner_steps: int = 10,  # K, the paper's
        bound: str = "cs",
        pairs: str = "sum",
        related_by: str = "",  # Ω: the task's own rule, or one of csad.data.pairs, such as same_sample
        within_classes: bool = False,  # not the paper's
        kind: str = "joint",
        form: str = "authors",
        walk_on: float = 0.5,  # c, the paper's
        sharpness: float = 10.0,  # τ, the paper's
        scale: float = 1.0,  # α, the paper's
    ) -> None:
        super().__init__(task, nets, course)
        if min(sharpness, scale) <= 0:
            raise InputError(f"sharpness and scale must be above 0, not {sharpness} and {scale}.")
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
            raise InputError("within_classes wants a target of classes, and here it holds numbers: put it into bins.")
        self.within_classes = within_classes
        self.inner_steps = steps(inner_steps)
        self.related = Related(related_by) if related_by else task.related
        self.bound = partial(BOUNDS[bound], pairs=pairs) if bound == "cs" else BOUNDS[bound]
        self.hold(debias_weight=debias_weight)

    def shared_information(self, e: Encoded) -> Tensor:
        """I(h_y, h_b) across the pairs of Ω, as M sees it (Eq. 2)."""
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
            # M's optimiser lives on, as in the authors' code.
            self.debiasing(target, replace(bias, repeat=K), replace(estimator, repeat=K), debias),
        )

    def symptoms(self, stage: str, curves: Mapping[str, Sequence[float]]) -> list[str]:
        """A target at chance, an estimator that learns nothing, scales that run away."""
        found = super().symptoms(stage, curves)
        if stage == "estimator" and len(curves["estimator"]) > 3:
            start, now = curves["estimator"][0], recent(curves["estimator"])
            if start - now < 0.001 * abs(start):
                found.append(
                    "The estimator has learned nothing: raise train.estimator_epochs or train.rate, and check that the "
                    "bias branch can read the bias (its loss should fall)."
                )
        for name, value in self.M.scales().items():
            start = getattr(self.M, name).start
            # With means an M that finds nothing more draws its one α to 0: what debiasing is for.
            lowest = 0 * start if name == "scale_related" and self.M.scale_other is None else start / 10
            if not bool((value > lowest) & (value < start * 10)):
                found.append(
                    f"M's {name} has run tenfold from its start: lower train.rate or raise train.weight_decay."
                )
        return found
