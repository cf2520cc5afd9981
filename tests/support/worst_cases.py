"""SenSR and SenSeI with directions that were drawn, and the worst cases they find."""

import torch

from csad.data.samples import Batch, Classes, Task
from csad.methods.method import Course, Encoded
from csad.methods.sensei import Sensei
from csad.methods.sensr import Sensr
from csad.nets.parts import Nets, Sizes

BOTH = ["sensr", "sensei"]
KINDS = {"sensr": Sensr, "sensei": Sensei}
ROWS = 6
SOME = {"subspace_steps": 7, "subspace_rate": 0.3, "full_steps": 5, "full_rate": 0.02, "distance_weight": 1.5}


def made(name, shape=(5,), target=None, seed=0, backbone="mlp", **settings):
    """A method whose directions were drawn, two of them, and two rows of 0."""
    target = target or Classes(3)
    task = Task("made-up", shape, target, (Classes(2),), ("group",))
    torch.manual_seed(seed)
    outputs = target.count if isinstance(target, Classes) else 1
    nets = Nets(Sizes(backbone, branch=7, branch_relu=True, head=()), shape, outputs, (2,))
    method = KINDS[name](task, nets, Course(), **(SOME | settings))
    basis, _ = torch.linalg.qr(torch.randn(method.width, 2))
    method.directions.copy_(torch.cat([basis.T, torch.zeros(2, method.width)]))
    return method


def batch_for(method, seed=1, rows=ROWS):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, *method.task.shape, generator=generator)
    if isinstance(method.task.target, Classes):
        y = torch.arange(rows) % method.task.target.count
    else:
        y = torch.randn(rows, generator=generator)
    return Batch(x, y, torch.zeros(rows, 1, dtype=torch.long), torch.arange(rows) + 10)


def encoded(method, batch):
    return Encoded(method.encode(batch), batch.y, batch.b, batch.rows)


def far_cases(method, batch):
    """The worst cases that encode meets with, and what it gives."""
    found = {}
    own = method.worst_case

    def far(*arguments):
        found["x_far"], found["distance"] = own(*arguments)
        return found["x_far"], found["distance"]

    method.worst_case = far
    h = method.encode(batch)
    del method.worst_case
    return found, h
