"""The kinds of servers, a row for each, and the fields of a request that tell it a constraint.

The idea: all speak OpenAI's chat completions, and differ in what else they read. A server says by the owner of its
models (`GET /models`) which kind it is; one that says nothing known is taken for the protocol alone. A kind that cannot
be told a language of texts but reads schemas is told a string in an object, `{"answer": "..."}`, which is unpacked.

Sources: OpenAI, "Structured model outputs"; vLLM, "Structured outputs"; SGLang, "Structured outputs" and "Sampling
parameters"; llama.cpp, the page of its server; Ollama, `openai/openai.go` (the fields of ChatCompletionRequest).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Choices, Regex
from constrain.languages.grammar_text.text import GrammarText
from constrain.languages.schema import JsonSchema, violations
from constrain.languages.schema.read.types import without_types
from constrain.sampling.core.registry import Registry

ANSWER = "answer"  # the name of a schema, and of the only member of an object that holds another value
_ELSEWHERE = re.compile(r'"\$ref": "#(?!/(\$defs|definitions)/)')  # a reference that breaks when the root moves


@dataclass(frozen=True)
class Server:
    """A kind of server.

    Attributes:
        name: Its name.
        owner: The owner of its models, as it says.
        texts: The place in a request of each kind of language of texts ("regex", "choices", "lark", "gbnf", "ebnf").
        schemas: It takes `response_format`.
        any_root: A schema may be that of any value, not of objects only.
        strict: It reads a subset of schemas exactly, under `strict`.
        top_k: It takes `top_k`.
        off: The fields that leave the distribution of the model as it is, where the server's own default does not.
        stays: What of its own defaults no request can turn off.
        most: The field for the greatest number of tokens.
        chooses: It reads `tool_choice`.
    """

    name: str
    owner: str = ""
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    schemas: bool = True
    any_root: bool = True
    strict: bool = False
    top_k: bool = True
    off: Mapping[str, Any] = field(default_factory=dict)
    stays: str = ""
    most: str = "max_tokens"
    chooses: bool = True


_VLLM = {
    "regex": "regex", "choices": "choice", "lark": "grammar", "gbnf": "grammar", "ebnf": "grammar",
}  # fmt: skip
_OPEN = {"top_p": 1.0, "min_p": 0.0}
_UNSAID = "top_k, top_p and the like are the server's where nothing is said"
_ROWS = (
    Server("openai", any_root=False, strict=True, top_k=False, most="max_completion_tokens"),
    Server(
        "vllm", "vllm", {kind: ("structured_outputs", name) for kind, name in _VLLM.items()},
        off={**_OPEN, "top_k": -1, "repetition_penalty": 1.0},
    ),
    Server(
        "sglang", "sglang", {"regex": ("regex",), "gbnf": ("ebnf",), "ebnf": ("ebnf",)},
        off={**_OPEN, "top_k": -1, "repetition_penalty": 1.0},
    ),
    Server("llama.cpp", "llamacpp", {"gbnf": ("grammar",)}, off={**_OPEN, "top_k": 0}),
    Server(
        "ollama", "library", top_k=False, off={"top_p": 1.0}, chooses=False,
        stays="top_k and min_p are those of the model's Modelfile (top_k is 40 by default)",
    ),
    Server("compatible", top_k=False, any_root=False, stays=_UNSAID),
    Server("unconstrained", schemas=False, top_k=False, stays=_UNSAID),
)  # fmt: skip
SERVERS: Registry[Server] = Registry("server", {each.name: each for each in _ROWS})


def server_of(owner: str, url: str) -> Server:
    """The kind of a server by the owner of its models; where that says nothing, by its address."""
    named = {each.owner: each for each in _ROWS if each.owner}
    return named.get(owner) or SERVERS["openai" if "api.openai.com" in url else "compatible"]


class Sent(NamedTuple):
    """A constraint as a server is told it.

    fields: of the request. said: the name of the field; "": nothing is told. packed: the text comes as the member of an
    object: as JSON, or as a string; None: it comes as it is. loose: the server may go by parts of it.
    """

    fields: dict[str, Any]
    said: str = ""
    packed: Literal["json", "text"] | None = None
    loose: bool = False

    def unpacked(self, text: str) -> str:
        """The text that an object holds. Raises ValueError: it holds none."""
        if self.packed is None:
            return text
        found = json.loads(text)
        if not isinstance(found, dict) or ANSWER not in found:
            raise ValueError(f"there is no member {ANSWER!r}")
        value = found[ANSWER]
        return value if self.packed == "text" and isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def sent_of(constraint: Constraint | None, server: Server) -> Sent:
    """A constraint as a server is told it. Raises ConstrainError: the server has no field for it."""
    if constraint is None or not server.schemas:
        return Sent({})
    if isinstance(constraint, JsonSchema):
        return _as_schema(without_types(constraint.schema), server, "json")
    kind, value = _text_of(constraint)
    place = server.texts.get(kind)
    if place is not None:
        fields: Any = value
        for name in reversed(place):
            fields = {name: fields}
        return Sent(fields, ".".join(place))
    if kind == "choices":
        return _as_schema({"type": "string", "enum": value}, server, "text")
    if kind == "regex":
        return _as_schema({"type": "string", "pattern": f"^(?:{value})$"}, server, "text")
    raise ConstrainError(
        f"a server of the kind {server.name!r} cannot be told {constraint!r:.60}",
        place="constraint",
        fix='load the model in this process; or constrain.remote(..., server="unconstrained"), which only checks and '
        "asks again, and say in the prompt what is wanted",
    )


def _text_of(constraint: Constraint) -> tuple[str, Any]:
    """The kind of a language of texts, and how it is told; ("", None) where no server has a field for it."""
    if isinstance(constraint, Choices):
        return "choices", list(constraint.options)
    if isinstance(constraint, Regex):
        return "regex", constraint.pattern
    if isinstance(constraint, GrammarText) and not (constraint.layout or constraint.grammars or constraint.base):
        whole = constraint.start == ("start" if constraint.format == "lark" else "root")
        return constraint.format if whole else "", constraint.text
    return "", None


def _as_schema(schema: Any, server: Server, kind: Literal["json", "text"]) -> Sent:
    """A schema as `response_format`; in an object, where the text is no JSON, or the server takes objects only."""
    packed = None
    if kind == "text" or not (server.any_root or (isinstance(schema, dict) and schema.get("type") == "object")):
        packed, schema = kind, _packed(schema)
    loose = server.strict and bool(violations(schema))
    named = {"name": ANSWER, "schema": schema, **({"strict": not loose} if server.strict else {})}
    form = {"type": "json_schema", "json_schema": named}
    return Sent({"response_format": form}, "response_format", packed, loose)


def _packed(schema: Any) -> dict[str, Any]:
    """The schema of an object whose only member is of a schema. Raises ConstrainError: it refers to its own root."""
    if _ELSEWHERE.search(json.dumps(schema)):
        raise ConstrainError(
            "the server takes schemas of objects only, and this one is of another value and refers to itself",
            place="schema",
            fix="put the value into an object: one property, and a definition in $defs",
        )
    inner = dict(schema) if isinstance(schema, dict) else schema
    moved = {name: inner.pop(name) for name in ("$defs", "definitions") if isinstance(inner, dict) and name in inner}
    members = {"properties": {ANSWER: inner}, "required": [ANSWER], "additionalProperties": False}
    return {"type": "object", **members, **{name: each for name, each in moved.items() if each}}
