"""How the documentation is built: MyST pages, furo, and tables of settings made from the settings themselves."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from importlib.metadata import version as installed_version

project = "flask-litro-agent"
project_copyright = "the flask-litro-agent authors. Apache-2.0"
version = release = installed_version(project)

extensions = ["myst_parser", "settings_table"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

smartquotes = False

html_theme = "furo"
html_title = f"{project} {release}"
html_show_sphinx = False
html_copy_source = False
