"""Names the packages: every folder of the house with an `__init__.py`; `api` is `logreplay` itself.

The rest of the metadata is in pyproject.toml, which can find packages but not give them another name.
"""

from setuptools import find_packages, setup

HOUSE = ("api", "core", "parsers", "replay", "analysis", "cli", "sample_logs")
FOUND = find_packages(include=[pattern for folder in HOUSE for pattern in (folder, f"{folder}.*")])

setup(packages=[f"logreplay.{name}".removesuffix(".api").replace(".api.", ".") for name in FOUND])
