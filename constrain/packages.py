"""Other names of packages: `constrain.hf` is `constrain.models.hf`, also in an import statement.

A wing of the library holds several packages; users name the package and not the wing, and a package that moved is found
under its old name. All names give one module object, so a class has one identity whichever name it was imported by:
stubs would load what lies below a package once for each name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

PACKAGES = {
    "adapters": "engines.adapters",
    "answers": "reports.answers",
    "calls": "chat.calls",
    "collection": "languages.collection",
    "composed": "papers.composed",
    "diffusion": "papers.diffusion",
    "hf": "models.hf",
    "processors": "sampling.processors",
    "reference": "models.reference",
    "schema": "languages.schema",
    "serve": "engines",
    "streaming": "chat.streaming",
    "tags": "chat.tags",
}
MOVED = {
    "generation.adapters": "engines.adapters",
    "generation.answers": "reports.answers",
    "generation.confidence": "reports.confidence",
    "generation.display": "reports.display",
    "generation.vote": "reports.vote",
    "hf.processor": "engines.processor",
    "models.serve": "engines",
}
PREFIX = "constrain."


def full_name(name: str) -> str | None:
    """The name of the file's module for another name of it; None for a name that has no other."""
    parts = name.split(".")
    for count in (3, 2):  # of words: the prefix, and those of a row
        row = ".".join(parts[1:count])
        home = PACKAGES.get(row) or MOVED.get(row)
        if home is not None and len(parts) >= count:
            return ".".join([parts[0], home, *parts[count:]])
    return None


class OtherNames:
    """Finds and loads `constrain.hf.model` as `constrain.models.hf.model`, for each row of the two tables."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of another name whose module exists; None for every other name."""
        origin = full_name(name) if name.startswith(PREFIX) else None
        if origin is None or _spec_of(origin) is None:
            return None
        spec_type: type[ModuleSpec] = type(__spec__)  # without a dozen modules of importlib
        return spec_type(name, self, origin=origin)  # type: ignore[arg-type]  # a loader, but by no base class

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the full name, imported. Its own spec is put back in `exec_module`."""
        assert spec.origin is not None
        module = import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs twice: the module was executed under its full name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def get_code(self, name: str) -> CodeType | None:
        """The code of a module by another name, for `python -m`."""
        origin = full_name(name)
        loader: Any = None if origin is None else getattr(_spec_of(origin), "loader", None)
        return None if loader is None else loader.get_code(origin)


def _spec_of(origin: str) -> ModuleSpec | None:
    """The spec of a file of the package. Raises ImportError: a package around it is not there."""
    paths = getattr(import_module(origin.rpartition(".")[0]), "__path__", None)
    finders = [] if paths is None else [each for each in sys.meta_path if not isinstance(each, OtherNames)]
    return next((spec for finder in finders if (spec := finder.find_spec(origin, paths))), None)


def install() -> None:
    """Make the names known to import statements, before the finder of files, which would load a module twice."""
    if not any(isinstance(finder, OtherNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, OtherNames())
