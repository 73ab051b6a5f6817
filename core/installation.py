"""The installed distribution: its name, its version and the command that adds an extra to it."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from importlib.metadata import Distribution

DISTRIBUTION: Final = "logreplay-toolkit"
"""The name on the package index; `logreplay` there is another program."""
UNKNOWN: Final = "of an unknown version"


def version() -> str:
    """The installed version; `UNKNOWN` for code that was copied, not installed."""
    found = _distribution()
    return found.version if found else UNKNOWN


def _distribution() -> "Distribution | None":
    from importlib.metadata import PackageNotFoundError, distribution  # a sixth of the time of --help

    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None


def needs_extra(extra: str) -> str:
    """Say that something needs an extra, and the command that installs it: the end of a sentence of an error."""
    found = _distribution()
    origin = found.read_text("direct_url.json") if found else None
    return f"needs the extra `{extra}`: pip install {_requirement(extra, origin)}"


def _requirement(extra: str, origin: str | None) -> str:
    """What to give pip, quoted for a shell.

    Args:
        origin: the content of ``direct_url.json`` (PEP 610); None for an installation from a package index.
    """
    if origin is None:
        return f"'{DISTRIBUTION}[{extra}]'"
    told = json.loads(origin)
    url = urlsplit(told["url"])
    if "vcs_info" in told:
        return shlex.quote(f"{DISTRIBUTION}[{extra}] @ {told['vcs_info']['vcs']}+{told['url']}")
    if url.scheme != "file":
        return shlex.quote(f"{DISTRIBUTION}[{extra}] @ {told['url']}")
    path = unquote(url.path)
    if not Path(path).exists():
        return f"'PATH_OF_THE_CLONE[{extra}]'"
    editable = "-e " if told.get("dir_info", {}).get("editable") else ""
    return editable + shlex.quote(f"{path}[{extra}]")


class OwnProcess:
    """Whether this process does nothing else than the work of this package.

    Attributes:
        claimed: it is the command line's, or a child that this package started; a program that calls the library gets
            its process back as it was.
    """

    claimed = False


OWN_PROCESS = OwnProcess()
