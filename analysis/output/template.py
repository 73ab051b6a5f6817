"""Fills the templates of the pages: everything that is filled in is escaped."""

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import jinja2


def rendered(name: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> str:
    """Return a template of this folder, filled in; it may call the filters. Half of a surrogate pair becomes ``?``."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= filters
    text = environment.get_template(name).render(**values)
    return text.encode("utf-8", "replace").decode()  # a file name may hold bytes that are not text


def resource(name: str) -> str:
    """Return a file of this folder as text."""
    return files("logreplay.analysis.output").joinpath(name).read_text(encoding="utf-8")
