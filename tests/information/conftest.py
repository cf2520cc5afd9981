"""One thread per test process: these matrices are small, and two processes share two cores."""

import torch

torch.set_num_threads(1)
