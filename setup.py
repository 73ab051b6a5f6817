"""Names the packages: every folder with an `__init__.py`, below `logreplay`.

The rest of the metadata is in pyproject.toml, which can find packages but not give them another name.
"""

from setuptools import find_packages, setup

HOUSE = ("core", "parsers", "replay", "analysis", "cli", "sample_logs")
FOUND = find_packages(include=[pattern for folder in HOUSE for pattern in (folder, f"{folder}.*")])

setup(packages=[f"logreplay.{name}" for name in FOUND])
