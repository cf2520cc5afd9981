"""``python -m csad``."""

from csad.cli import main

main()
