"""The site: `sphinx-build -W docs build/site` (`pip install -e ".[docs]"`) makes it, without a network.

Sphinx, furo and MyST: pages are the Markdown that is read in the repository too, the reference is made of docstrings,
and all three are kept. MkDocs 1 and Material for MkDocs get no more than repairs, which is why they are not taken.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from symgrad import __version__ as version  # noqa: E402

project, author, copyright, release = "symgrad", "The symgrad authors", "The symgrad authors", version
extensions = ["myst_parser", "sphinx.ext.autodoc", "extension"]
exclude_patterns = ["hunted.md"]  # stands in trust.md
nitpicky = False  # annotations name types of NumPy and SymPy, whose own pages are elsewhere

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https", "mailto", "repository"]

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "symgrad"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_extra_path = [str(p) for p in [HERE.parent / "build" / "extra"] if p.is_dir()]  # docs/make_gallery.py
if html_extra_path:
    tags.add("gallery")  # noqa: F821  # Sphinx gives it to this file
