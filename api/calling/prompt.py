"""Detects a person who sees what a call shows in a notebook."""

import sys


def in_kernel() -> bool:
    """Whether the person sits at a notebook, or at another front end of a kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
