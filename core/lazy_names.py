"""Lets a package offer names that are imported when they are first used, so that one does not load the others."""

TYPE_CHECKING = False  # for type checkers; the package is loaded before `typing` and the like
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, homes: "Mapping[str, str]") -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return the functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        homes: the module of each public name, by its full name; a public name may be that of a module itself.
    """

    def get(name: str) -> "Any":
        from importlib import import_module

        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        return module if home == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        from sys import modules

        return [*vars(modules[package]), *homes]

    return get, names
