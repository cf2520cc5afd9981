"""``python -m csad``."""

import contextlib
import os
import sys

# Python puts the present folder first here: a csv.py or torch.py that lies there would take the place of the real one.
with contextlib.suppress(OSError):  # of a folder that is gone
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]

from csad.cli import main

main()
