"""Short names of public packages: `constrain.hf` is `constrain.models.hf`, also in an import statement.

A wing of the library holds several packages; users name the package and not the wing. Both names give one module
object, so a class has one identity whichever name it was imported by.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGES = {
    "adapters": "generation.adapters",
    "answers": "generation.answers",
    "calls": "chat.calls",
    "collection": "languages.collection",
    "composed": "papers.composed",
    "diffusion": "papers.diffusion",
    "hf": "models.hf",
    "processors": "sampling.processors",
    "reference": "models.reference",
    "schema": "languages.schema",
    "serve": "models.serve",
    "streaming": "chat.streaming",
    "tags": "chat.tags",
}
PREFIX = "constrain."


class ShortNames:
    """Finds and loads `constrain.hf.model` as `constrain.models.hf.model`, for each row of `PACKAGES`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a short name; None for every other name."""
        if not name.startswith(PREFIX):
            return None
        first, dot, rest = name[len(PREFIX) :].partition(".")
        if first not in PACKAGES:
            return None
        spec_type: type[ModuleSpec] = type(__spec__)  # without a dozen modules of importlib
        origin = f"{PREFIX}{PACKAGES[first]}{dot}{rest}"
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


def install() -> None:
    """Make short names known to import statements, before the finder of files, which would load a module twice."""
    if not any(isinstance(finder, ShortNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, ShortNames())
