"""Check the version of an engine, and that it has all names that a plug-in relies upon.

The idea: each name of an engine that a plug-in relies upon is listed, with its parameters. A version that is not tested
but has them all is used, with a warning; one that lacks a name is refused when an engine starts that asks for us.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from constrain.errors import ConstrainError

Parameters = tuple[str, ...]


@dataclass(frozen=True)
class Interface:
    """The names of an engine that are relied upon.

    Attributes:
        engine: The engine's name, for messages.
        tested: The versions that are tested.
        signatures: "module:function" → the parameters that it begins with.
        methods: "module:class" → its methods with their parameters; of an abstract class all abstract ones.
    """

    engine: str
    tested: tuple[str, ...]
    signatures: Mapping[str, Parameters]
    methods: Mapping[str, Mapping[str, Parameters]]

    def differences(self) -> list[str]:
        """The differences from the expected names; empty if there are none."""
        found = []
        for name, expected in self.signatures.items():
            given = _parameters(_find(name))
            if given is None or given[: len(expected)] != expected:
                found.append(f"{name} takes {_shown(given)}, not {_shown(expected)}")
        for name, methods in self.methods.items():
            kind = _find(name)
            abstract = frozenset(getattr(kind, "__abstractmethods__", ()))
            found += [f"{name}.{method} is new" for method in sorted(abstract - set(methods))]
            for method, expected in methods.items():
                given = _parameters(getattr(kind, method, None))
                if given != expected:
                    found.append(f"{name}.{method} takes {_shown(given)}, not {_shown(expected)}")
        return found

    def check(self, version: str, differing: list[str]) -> str | None:
        """A warning about a version that is not tested, or None.

        Args:
            version: As the engine states it.
            differing: As `differences` gives it.

        Raises:
            ConstrainError: Something that is relied upon is not there.
        """
        tested = ", ".join(self.tested)
        if differing:
            raise ConstrainError(
                f"the backend constrain does not fit {self.engine} {version}: {len(differing)} names differ",
                place="\n".join([f"{self.engine}'s interface", *differing]),
                fix=f"install a version of {self.engine} that is tested ({tested}), or a newer constrain-lm",
            )
        if public_version(version) in self.tested:
            return None
        return (
            f"constrain: {self.engine} {version} is not tested, only {tested} is; what constrain relies upon is there"
        )


def public_version(version: str) -> str:
    """The version without what names a build: "0.32.0+cpu" is 0.32.0."""
    return version.partition("+")[0]


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        value: Any = import_module(module)
    except ImportError:
        return None
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _parameters(function: Any) -> Parameters | None:
    return tuple(inspect.signature(function).parameters) if callable(function) else None


def _shown(parameters: Parameters | None) -> str:
    return "nothing: it is gone" if parameters is None else f"({', '.join(parameters)})"
