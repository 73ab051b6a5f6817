"""Names the packages: every folder of the house with an `__init__.py`; `api` is `logreplay` itself.

The addresses of the project are those of the repository that builds it; so are the links of README.md, which the index
shows alone. The rest of the metadata is in pyproject.toml, which can find packages but not give them another name.
"""

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

HOUSE = ("api", "core", "parsers", "replay", "analysis", "cli", "sample_logs")
FOUND = find_packages(include=[pattern for folder in HOUSE for pattern in (folder, f"{folder}.*")])

REPOSITORY = (
    "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ) if "GITHUB_REPOSITORY" in os.environ else ""
)
"""Address of the repository whose workflow builds a release."""
PAGES = {"Source": "", "Documentation": "#documentation", "Changelog": "/blob/HEAD/CHANGELOG.md", "Issues": "/issues"}


def readme() -> str:
    """Return README.md with addresses in place of paths, where the repository is known."""
    text = Path("README.md").read_text("utf-8")
    if not REPOSITORY:
        return text
    at = os.environ.get("GITHUB_REF_NAME", "HEAD")  # the tag of a release
    return re.sub(
        r"(!?)(\[[^]]*\])\((?![a-z]+:|#)",
        lambda link: f"{link[1]}{link[2]}({REPOSITORY}/{'raw' if link[1] else 'blob'}/{at}/",
        text,
    )


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    project_urls={name: REPOSITORY + page for name, page in PAGES.items() if REPOSITORY},
    packages=[f"logreplay.{name}".removesuffix(".api").replace(".api.", ".") for name in FOUND],
)
