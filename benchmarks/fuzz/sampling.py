"""Options of `generate` beside each other: an error, or outputs; each that ends as "stop" is a member by other readers.

Patterns are read by `re`, grammars by lark, schemas by jsonschema and jsonschema-rs (their known faults apart), choices
by the list. What ends at a text of `stop=` is no member, and does not hold that text. With `complete=True` no output is
cut at the limit. A stream gives its result's text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import lark
from hypothesis import strategies as st
from schema_oracles import Python, Rust, explanation
from schema_strategies import DRAFTS, SchemaMaker, Seeded

import constrain
import schema_corpus
from constrain.sampling import METHODS, Argmax
from fuzz import Target
from fuzz.inputs import complete

PATTERNS = [
    "[xy]+z|q", "(red|green|blue)!?", r"[0-9]{2,4}-[0-9]+", "a(b{2,5}|c*)d", r"(\w+ )*\w+\.", "[^a-z]{3}", "é+z?",
]  # fmt: skip
GRAMMARS = ['start: "(" start? ")" start? | /[0-9]+/', 'start: (W | "if" W)+\nW: /[a-z]{1,4}/\n%ignore " "']
CHOICES = [["red", "green"], ["a", "ab", "abc", "b"], ["é", "日本", "x y"]]
LATEST = DRAFTS["draft2020-12"]
SMALL = [e.schema for e in schema_corpus.ours() if isinstance(e.schema, dict) and len(json.dumps(e.schema)) < 300]
SCHEMAS = [{"$schema": LATEST.uri, **schema} for schema in SMALL]
PROCESSORS: dict[str, Callable[[], Any]] = {
    "repetition": lambda: constrain.processors.Repetition(1.3),
    "min_p": lambda: constrain.processors.MinP(0.2),
    "typical": lambda: constrain.processors.Typical(0.7),
    "scores": lambda: lambda ids, scores: scores * 0.5,
}


def schema_of(number: int) -> dict[str, Any]:
    """A small schema: of the world's, or of all keywords."""
    if number % 2:
        return dict(SCHEMAS[number // 2 % len(SCHEMAS)])
    return dict(json.loads(json.dumps(SchemaMaker(Seeded(f"sampling {number}"), LATEST, 4).document())))


def member(kind: str, language: Any, text: str) -> bool:
    """Is a text a member, by a reader that is not ours."""
    if kind == "choices":
        return text in language
    if kind == "regex":
        return re.fullmatch(language, text) is not None
    if kind == "grammar":
        try:
            lark.Lark(language, parser="earley").parse(text)
        except lark.exceptions.LarkError:
            return False
        return True
    pairs: list[Any] = []
    json.loads(text, object_pairs_hook=lambda found: pairs.append(len(found) == len(dict(found))) or dict(found))
    judged = Python(language)(text) is not False and Rust(language)(text)
    return all(pairs) and (judged or explanation(language, text, True) is not None)


def outputs(case: Any, options: dict[str, Any]) -> list[Any]:
    """The outputs of a call, all of its population; none where it is refused."""
    model = constrain.reference.load()
    try:
        if not options["stream"]:
            found = constrain.generate(model, "A: ", **options)
            return [found] if options["n"] == 1 else list(found)
        stream = constrain.generate(model, "A: ", **options)
        text = "".join(stream)
        assert text == stream.result.text, (text, stream.result.text)
        return [stream.result]
    except constrain.ConstrainError as fault:
        complete(fault)
        return []


def check(case: Any) -> None:
    """No output is a text that another reader refuses."""
    options = {**case["options"], case["kind"]: case["language"]}
    if name := options.pop("processor"):
        options["processors"] = [PROCESSORS[name]()]
    if options["method"] == "argmax":
        options["method"] = Argmax(limit=500)  # the default may take half a minute
    for output in outputs(case, options):
        stopped = getattr(output.stats, "stop", None)
        if output.finish_reason == "stop" and stopped:
            assert stopped not in output.text
        elif output.finish_reason == "stop":
            assert member(case["kind"], case["language"], output.text), output.text
        assert not (options["complete"] and output.finish_reason == "length"), output.text
        assert len(output.tokens) <= options["max_tokens"]
        assert output.logprob <= 1e-9 and not math.isnan(output.log_weight)


LANGUAGES = st.one_of(
    st.sampled_from(PATTERNS).map(lambda text: ("regex", text)),
    st.sampled_from(GRAMMARS).map(lambda text: ("grammar", text)),
    st.sampled_from(CHOICES).map(lambda texts: ("choices", texts)),
    st.integers(0, 2**40).map(lambda number: ("schema", schema_of(number))),
)
OPTIONS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(sorted(METHODS)),
        "n": st.sampled_from([1, 1, 2, 5]),
        "temperature": st.sampled_from([0.0, 0.5, 1.0, 1.5]),
        "top_k": st.sampled_from([None, None, 1, 3]),
        "top_p": st.sampled_from([None, None, 0.3, 0.9]),
        "max_tokens": st.sampled_from([3, 15, 60]),
        "complete": st.booleans(),
        "canonical": st.sampled_from([None, None, True, False]),
        "draft": st.sampled_from([None, False, "auto"]),
        "stream": st.sampled_from([False, False, False, True]),
        "stop": st.sampled_from([None, None, None, "b", ["}", "en"]]),
        "processor": st.sampled_from([None, None, None, *PROCESSORS]),
        "seed": st.integers(0, 99),
    }
)
CASES = st.tuples(LANGUAGES, OPTIONS).map(lambda pair: {"kind": pair[0][0], "language": pair[0][1], "options": pair[1]})

TARGETS = [Target("sampling", CASES, check, 60)]
