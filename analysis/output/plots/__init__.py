"""The pictures, one module for each kind. Without matplotlib, importing one raises an error that names the extra."""

from importlib.util import find_spec

from logreplay.core.errors import LogreplayError
from logreplay.core.installation import needs_extra

if find_spec("matplotlib") is None:
    raise LogreplayError(f"drawing {needs_extra('plots')}")
