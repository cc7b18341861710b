"""Check the version of an engine, and that it has all names that a plug-in relies upon.

The idea: each name of an engine that a plug-in relies upon is listed, with its parameters. A version that is not tested
but has them all is used, with a warning; one that lacks a name is refused when an engine starts that asks for us.

Other plug-ins may have put functions of theirs around the engine's. One that says which function it wraps, as
`functools.wraps` does, is looked through. One that takes any arguments passes them on and is no difference. Of the
others the message names the plug-in, and not the version.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from constrain.errors import ConstrainError

Parameters = tuple[str, ...]


class Difference(NamedTuple):
    """A name that differs, as a message says it, and the module that replaced it; None: the engine's own."""

    text: str
    replaced_by: str | None = None


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

    def differences(self) -> list[Difference]:
        """The differences from the expected names; empty if there are none."""
        found = []
        for name, expected in self.signatures.items():
            function = found_in_engine(name)
            given, other = _parameters(function), _replaced_by(function, name)
            if other is not None and _takes_anything(function):
                continue
            if given is None or given[: len(expected)] != expected:
                replaced = "" if other is None else f"is replaced by {other}, "
                found.append(Difference(f"{name} {replaced}takes {_shown(given)}, not {_shown(expected)}", other))
        for name, methods in self.methods.items():
            kind = found_in_engine(name)
            abstract = frozenset(getattr(kind, "__abstractmethods__", ()))
            found += [Difference(f"{name}.{method} is new") for method in sorted(abstract - set(methods))]
            for method, expected in methods.items():
                given = _parameters(getattr(kind, method, None))
                if given != expected:
                    found.append(Difference(f"{name}.{method} takes {_shown(given)}, not {_shown(expected)}"))
        return found

    def check(self, version: str, differing: Sequence[Difference]) -> str | None:
        """A warning about a version that is not tested, or None.

        Args:
            version: As the engine states it.
            differing: As `differences` gives it.

        Raises:
            ConstrainError: Something that is relied upon is not there, or was replaced by another plug-in.
        """
        tested = ", ".join(self.tested)
        own = [each.text for each in differing if each.replaced_by is None]
        if own:
            raise ConstrainError(
                f"the backend constrain does not fit {self.engine} {version}: {len(own)} names differ",
                place="\n".join([f"{self.engine}'s interface", *own]),
                fix=f"install a version of {self.engine} that is tested ({tested}), or a newer constrain-lm",
            )
        if differing:
            others = ", ".join(sorted({str(each.replaced_by) for each in differing}))
            raise ConstrainError(
                f"the backend constrain cannot tell whether it fits {self.engine}: functions are replaced by {others}",
                place="\n".join([f"{self.engine}'s interface", *(each.text for each in differing)]),
                fix="start without that plug-in, or let its functions say what they wrap (functools.wraps)",
            )
        if public_version(version) in self.tested:
            return None
        return (
            f"constrain: {self.engine} {version} is not tested, only {tested} is; what constrain relies upon is there"
        )


def public_version(version: str) -> str:
    """The version without what names a build: "0.32.0+cpu" is 0.32.0."""
    return version.partition("+")[0]


def found_in_engine(name: str) -> Any:
    """The value of "module:path" of an engine; None: there is none. An engine that cannot be imported has none."""
    module, _, path = name.partition(":")
    try:
        value: Any = import_module(module)
    except Exception:  # of whatever the engine's modules do when they are imported
        return None
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _parameters(function: Any) -> Parameters | None:
    return tuple(inspect.signature(function).parameters) if callable(function) else None


def _replaced_by(function: Any, name: str) -> str | None:
    """The module of a function that is not of the engine whose name it has; None: it is the engine's, or gone."""
    scope = getattr(inspect.unwrap(function), "__globals__", None) if callable(function) else None
    module = str((scope or {}).get("__name__", name))
    return None if module.partition(".")[0] == name.partition(".")[0] else module


def _takes_anything(function: Any) -> bool:
    kinds = {each.kind for each in inspect.signature(function).parameters.values()}
    return {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds


def _shown(parameters: Parameters | None) -> str:
    return "nothing: it is gone" if parameters is None else f"({', '.join(parameters)})"
