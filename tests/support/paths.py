"""Where the project's own files lie."""

from pathlib import Path

import csad

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = DOCS / "guides"
BENCHMARKS = ROOT / "benchmarks"
SOURCE = Path(csad.__file__).parent
PAPER = ROOT.parent / "shared" / "paper" / "csad.tex"
