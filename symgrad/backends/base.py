"""What every backend stands on: the templates, which place text and decide nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2


def _folder() -> Path:
    """The folder `templates`: inside the package when installed from a wheel, else beside it."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


@cache
def environment() -> jinja2.Environment:
    """The one Jinja2 environment; a name that is not defined is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # what is printed is source code, not HTML
    )


def template(name: str) -> jinja2.Template:
    """The template of that file name."""
    return environment().get_template(name)
