"""Rows, logits and single steps whose outcome can be worked out by hand."""

import math

import torch
from torch import nn

from csad.data.samples import Classes, Dataset, Samples, Task
from csad.runs.build import build, plan_run, read_dataset
from csad.training.batches import OwnBatches
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from csad.training.steps import encode

NAN = float("nan")
TWO = Classes(2)
PARTS, BIASED = ("F", "D_y", "P_y"), ("F_B", "D_B", "P_B")
CPU = torch.device("cpu")
EVEN, MOSTLY = math.log(2), math.log(4 / 3)  # the losses at odds of 1 : 1, and of 3 : 1 for the true class


def of_task(method, target, biases, x, y, b, seed=0, **settings):
    """A method, with fresh weights, for a task of one's own, prepared on these rows."""
    names = tuple(f"bias {k}" for k in range(len(biases)))
    dataset = Dataset(Task("own", tuple(x.shape[1:]), target, biases, names), {"train": Samples(x, y, b)})
    _, plan = plan_run(dataset, method, settings, "", read_dataset)
    made = build(dataset.task, method, plan, seed)
    made.prepare(dataset.train, dataset.view)
    return dataset, made


def reading_logits(method):
    """The method with h as its logits, of a biased net too."""
    for part in {"D_y", "P_y", "D_B", "P_B"} & {name for name, _ in method.named_children()}:
        setattr(method, part, nn.Identity())
    return method


def odds(y, right):
    """Logits (n, 2) with odds of ``right`` : 1 for each row's own class."""
    log = torch.tensor(right, dtype=torch.get_default_dtype()).log()
    return torch.stack([torch.where(y == 0, log, 0), torch.where(y == 1, log, 0)], 1)


def one_step(method, dataset, rows, rate):
    """The losses of one mini-batch through the last stage's lines, moved by plain steps of this rate."""
    batches, runs = OwnBatches(dataset, method.course, 0, CPU), Alone(method)
    times = []

    def source(gradient):
        times.append(gradient)
        return encode(runs, batches, rows, gradient)

    found = iterate(
        runs,
        method.schedule()[-1].updates,
        source,
        source,
        Optimizers(runs.weights, "sgd", 0.0),
        torch.tensor(rate).double(),
    )
    return found, times


def weights(method, *parts):
    return [w for part in parts for w in getattr(method, part).parameters()]


def orders(dataset, method, seed):
    """The row numbers of each mini-batch of each epoch, stage by stage."""
    batches = OwnBatches(dataset, method.course, seed, CPU)
    return [
        [rows for epoch in range(stage.epochs) for rows in batches.order(number, epoch)]
        for number, stage in enumerate(method.schedule())
    ]
