"""A plug-in of pytest: notes what XGrammar's own tests ask of the installed XGrammar, and what it answers.

Only tests that pass count, so an answer is what the test expects. `$PEERS_ROWS` names the file, one row a line.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import xgrammar
from xgrammar import grammar as grammars
from xgrammar import testing

noted: list[str] = []  # of the test that runs
printed: dict[str, Any] = {}  # sources of grammars that the tests print
Source = dict[str, Any]


def note(source: Source | None, said: list[str | int] | None, answer: str) -> None:
    """Note a row; a source that was not made from one text is not read."""
    noted.append(json.dumps([json.dumps(source) if source else None, said, answer]))


def source_of(kind: str, text: str, **options: Any) -> Source:
    return {"kind": kind, "text": text, "options": {name: each for name, each in options.items() if each is not None}}


def ebnf(text: str, root_rule_name: str = "root") -> Source:
    return printed.get(text) or source_of("ebnf", text, start=root_rule_name)


def lark(text: str, tokenizer_info: Any = None, named_grammars: Any = None) -> Source | None:
    given = dict(named_grammars or {})
    named = {name: getattr(each, "asked", None) for name, each in given.items() if not isinstance(each, str)}
    for name, each in given.items():  # a text may name the other grammars
        if isinstance(each, str):
            named[name] = lark(each, None, {other: given[other] for other in given if f"@{other}" in each})
    return None if None in named.values() else source_of("lark", text, named=named or None)


def schema(given: Any, *, json_format: str = "json", any_order: bool = False, **others: Any) -> Source | None:
    """A schema in an XML style; those in JSON are asked with options of whitespace that have no equal here."""
    if json_format == "json":
        return None
    return source_of("json_schema", grammars._convert_schema_to_str(given), style=json_format, any_order=any_order)


def structural_tag(*given: Any, **named: Any) -> Source:
    return source_of("structural_tag", grammars._get_structural_tag_str_from_args(given, named))


def compiled_grammar(given: Any, root_rule_name: str = "root") -> Source | None:
    return ebnf(given, root_rule_name) if isinstance(given, str) else getattr(given, "asked", None)


def follow(owner: Any, name: str, describe: Callable[..., Source | None], *, method: bool = False) -> None:
    """Make a function note its faults, and its results remember their source."""
    made_by = getattr(owner, name)

    @functools.wraps(made_by)
    def followed(*given: Any, **named: Any) -> Any:
        try:
            source = describe(*given[method:], **named)
        except (AttributeError, TypeError, ValueError):  # a test of wrong arguments
            source = None
        try:
            made = made_by(*given, **named)
        except (RuntimeError, ValueError):
            note(source, None, "fault")
            raise
        if isinstance(made, str):
            printed[made] = source
        else:
            made.asked = source
        return made

    static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(followed) if static else followed)


follow(xgrammar.Grammar, "from_ebnf", ebnf)
follow(xgrammar.Grammar, "from_lark", lark)
follow(xgrammar.Grammar, "from_regex", functools.partial(source_of, "regex"))
follow(xgrammar.Grammar, "from_structural_tag", structural_tag)
follow(xgrammar.GrammarCompiler, "compile_grammar", compiled_grammar, method=True)
follow(xgrammar.GrammarCompiler, "compile_lark", lark, method=True)
follow(xgrammar.GrammarCompiler, "compile_regex", functools.partial(source_of, "regex"), method=True)
follow(xgrammar.GrammarCompiler, "compile_structural_tag", structural_tag, method=True)
follow(testing, "_json_schema_to_ebnf", schema)
follow(testing, "_regex_to_ebnf", lambda text, with_rule_name=True: source_of("regex", text))


class Followed(xgrammar.GrammarMatcher):
    """A matcher that notes its answers."""

    def __init__(self, compiled: Any, **options: Any) -> None:
        super().__init__(compiled, **options)
        self.ends_alone = options.get("terminate_without_stop_token", False)
        self.said: list[str | int] = []
        self.asked = getattr(compiled, "asked", None)
        info = compiled.tokenizer_info
        if self.asked and 0 < info.vocab_size <= 2000:
            tokens = [token.decode("latin-1") for token in info.decoded_vocab]
            self.asked = {**self.asked, "vocabulary": tokens, "stop": list(info.stop_token_ids)}

    def step(self, part: str | int, accepted: bool) -> bool:
        if part in self.stop_token_ids:
            note(self.asked, self.said, "accepted" if accepted else "refused")
        else:
            note(self.asked, [*self.said, part], "begins" if accepted else "refused")
        if accepted:
            self.said = [*self.said, part]
        return accepted

    def accept_token(self, token_id: int, **options: Any) -> bool:
        return self.step(token_id, super().accept_token(token_id, **options))

    def accept_string(self, text: str | bytes, **options: Any) -> bool:
        data = text.encode() if isinstance(text, str) else text
        return self.step(data.decode("latin-1"), super().accept_string(text, **options))

    def end(self, ended: bool) -> bool:
        note(self.asked, self.said, "accepted" if ended else "refused")
        return ended

    def is_terminated(self) -> bool:
        ended = super().is_terminated()
        return self.end(ended) if self.ends_alone else ended

    def is_completed(self) -> bool:
        return self.end(super().is_completed())

    def rollback(self, num_tokens: int = 1) -> None:
        super().rollback(num_tokens)
        self.said = self.said[: len(self.said) - num_tokens]

    def reset(self) -> None:
        super().reset()
        self.said = []

    def fork(self) -> Any:
        made = super().fork()
        made.__class__ = Followed
        made.ends_alone, made.said, made.asked = self.ends_alone, self.said, self.asked
        return made


for module in (xgrammar, testing):
    module.GrammarMatcher = Followed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """Write the rows of a test that passed."""
    report = (yield).get_result()
    if report.when == "call":
        if report.passed:
            with open(os.environ["PEERS_ROWS"], "a") as file:
                file.writelines(f"{json.dumps(item.path.name)}\t{each}\n" for each in noted)
        noted.clear()
