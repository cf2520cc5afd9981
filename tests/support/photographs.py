"""Made-up photographs, small enough to train on in a test."""

import torch

from csad.data.samples import Classes, Dataset, Samples, Task


def photos(rows=16, size=32, vary=None):
    """Pictures whose left half is bright in class 1, in shades that are the bias."""
    generator = torch.Generator().manual_seed(0)
    y, b = torch.arange(rows) % 2, torch.randint(0, 2, (rows, 1), generator=generator)
    x = torch.randint(0, 60, (rows, 3, size, size), generator=generator, dtype=torch.uint8)
    x[:, :, :, : size // 2] += (120 * y[:, None, None, None]).byte()
    x[:, 0] += 60 * b[:, :, None].byte()
    task = Task("photos", (3, size, size), Classes(2), (Classes(2),), ("shade",))
    return Dataset(task, {"train": Samples(x, y, b), "test": Samples(x, y, b)}, vary=vary)
