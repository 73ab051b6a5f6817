"""A package imports the module of a name when the name is first used."""

import subprocess
import sys

import pytest

import logreplay
from logreplay import analysis, parsers
from logreplay.core.errors import LogreplayError
from logreplay.core.lazy_names import lazy_names


@pytest.mark.parametrize("package", [logreplay, analysis, parsers], ids=lambda package: package.__name__)
def test_a_package_lists_and_has_the_names_that_it_offers(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]  # a module has it
        assert name in dir(package)
        assert getattr(package, name) is not None


def test_a_name_is_a_member_of_its_module_or_the_module() -> None:
    get, _ = lazy_names("logreplay", {"LogreplayError": "logreplay.core.errors", "parsers": "logreplay.parsers"})
    assert get("LogreplayError") is LogreplayError
    assert get("parsers") is parsers


def test_an_unknown_name_is_named_with_the_package() -> None:
    with pytest.raises(AttributeError, match="module 'logreplay' has no attribute 'sweeep'"):
        _ = logreplay.sweeep  # type: ignore[attr-defined]


def test_one_name_does_not_load_the_modules_of_the_others() -> None:
    code = "import sys, logreplay; logreplay.LogreplayError; print({'polars', 'numpy', 'asyncio'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
