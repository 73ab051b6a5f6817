"""Detects a person who waits for the result of a call: at a prompt of Python or IPython, or in a notebook."""

import sys
from typing import Any


def at_prompt() -> bool:
    """Whether a person types the calls."""
    return hasattr(sys, "ps1") or _shell() is not None


def in_kernel() -> bool:
    """Whether the person sits at a notebook, or at another front end of a kernel."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()
