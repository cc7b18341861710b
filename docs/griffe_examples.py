"""Extensions of griffe (mkdocs.yml): `Example:` of a docstring is read as its section `Examples:`, and the signature of
`generate` has its options."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the sections, so that doctests are drawn as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")


class Options(griffe.Extension):
    """Gives `generate` its keyword parameters, with the types and defaults that stand in the module of its options."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        if pkg.name != "constrain":
            return
        module, function = pkg["generation.request.signature"], pkg["generation.front.generate"]
        types: dict[str, Any] = {"n": "int", "stream": "bool"}
        for name in ("Decoding", "Sampling", "Constrained", "AnyOptions"):
            types.update((each.name, each.annotation) for each in module[name].attributes.values())
        defaults = module["DEFAULTS"].value
        kind = griffe.ParameterKind.keyword_only
        options = [
            griffe.Parameter(name, annotation=types[name], kind=kind, default=str(default))
            for name, default in zip([str(key).strip("\"'") for key in defaults.keys], defaults.values, strict=True)
        ]
        function.parameters = griffe.Parameters(*list(function.parameters)[:2], *options)
