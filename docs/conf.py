"""How Sphinx makes the site of the pages beside this file: `make docs` writes it to docs/_site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from beside import shorten_arrays, tell_parameters

import csad

project = "csad"
author = "The csad authors"
version = release = csad.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_site"]

suppress_warnings = ["myst.header"]  # tables begin with a small heading, as `csad reproduce` writes them
myst_heading_anchors = 3  # so that a link may lead to a heading
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

highlight_language = "text"  # of blocks that do not say theirs: commands

html_theme = "furo"
html_title = f"csad {version}"
html_copy_source = html_show_sourcelink = html_show_copyright = html_show_sphinx = False
# Nothing is fetched from elsewhere: the pages are read from a disk as well as from a server.
pygments_style = "tango"
pygments_dark_style = "monokai"


def setup(app):
    app.connect("autodoc-process-docstring", tell_parameters)
    app.connect("autodoc-process-signature", shorten_arrays)
