"""How the site is built: `python -m sphinx -W --keep-going -j 2 notebooks site`, without a network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # examples show their pictures
# Examples run in processes of their own, which find csf as this one does.
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

import csf

project = "csf"
author = "The csf developers"
copyright = author
version = release = csf.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "cards", "reference", "mathml"]
exclude_patterns = ["_*", "**/.ipynb_checkpoints"]
default_role = "py:obj"
html_math_renderer = "mathml"

# The notebooks show what is stored in them, which took longer; the examples of the gallery run while the site is built.
nb_execution_mode = "force"  # a cache would show what an older csf said
nb_execution_excludepatterns = ["*.ipynb"]
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type", "config.cache"]

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "csf"
html_static_path = ["_static"]
html_css_files = ["csf.css"]
html_favicon = "_static/favicon.svg"  # browsers ask for one
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": "csf"},
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_prev_next": True,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # unset, the theme warns on the console
html_sidebars = {"index": [], "results": [], "changes": []}
