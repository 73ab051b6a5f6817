"""Names the packages: every folder of the house with an `__init__.py`; `api` is `logreplay` itself.

The addresses of the project are those of the repository that builds it. The rest of the metadata is in pyproject.toml,
which can find packages but not give them another name.
"""

import os

from setuptools import find_packages, setup

HOUSE = ("api", "core", "parsers", "replay", "analysis", "cli", "sample_logs")
FOUND = find_packages(include=[pattern for folder in HOUSE for pattern in (folder, f"{folder}.*")])

REPOSITORY = (
    "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ) if "GITHUB_REPOSITORY" in os.environ else ""
)
"""Address of the repository whose workflow builds a release."""
PAGES = {"Source": "", "Documentation": "#documentation", "Changelog": "/blob/HEAD/CHANGELOG.md", "Issues": "/issues"}

setup(
    project_urls={name: REPOSITORY + page for name, page in PAGES.items() if REPOSITORY},
    packages=[f"logreplay.{name}".removesuffix(".api").replace(".api.", ".") for name in FOUND],
)
