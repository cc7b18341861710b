"""The examples of other programs' documentation, in texts of our own: verdicts, ours and theirs."""

import json
import re
from typing import Any

import pytest

import constrain
from constrain.errors import ConstrainError
from tables import table

ROWS = table("public_examples")
EXAMPLES = [(kind, row) for kind in ("tag", "lark") for row in ROWS[kind]]
ASKED = [
    (kind, row) for kind, row in EXAMPLES if row.get("peer", True) and not row.get("tokens") and "refused" not in row
]


def name(example: Any) -> str:
    return example["shows"].replace(" ", "-") if isinstance(example, dict) else str(example)


def constraint_of(kind: str, row: dict[str, Any]) -> constrain.Constraint:
    if kind == "lark":
        return constrain.grammar(row["grammar"])
    return constrain.tags.structural_tag({"type": "structural_tag", "format": json.loads(row["format"])})


@pytest.mark.parametrize(("kind", "row"), EXAMPLES, ids=name)
def test_verdicts(kind: str, row: dict[str, Any]) -> None:
    if "refused" in row:
        with pytest.raises(ConstrainError, match=row["refused"]) as caught:
            constraint_of(kind, row)
        assert caught.value.place is not None and row["why"]
        return
    tokens = row.get("tokens", [])
    vocabulary = constrain.Vocabulary.of_bytes(*tokens)
    compiled = constrain.compile(constraint_of(kind, row), vocabulary)

    def read(text: str) -> tuple[bool, bool]:
        pieces = re.split(f"({'|'.join(map(re.escape, tokens))})", text) if tokens else [text]
        ids = [i for piece in pieces for i in ([vocabulary.names[piece]] if piece in tokens else piece.encode())]
        matcher = compiled.matcher()
        viable = matcher.advance_tokens(ids) == len(ids)
        return viable, viable and matcher.is_accepting()

    assert [text for text in row["accepts"] if not read(text)[1]] == []
    assert [text for text in row["rejects"] if read(text)[1]] == []


def ask_xgrammar(row: dict[str, Any], texts: list[str]) -> list[bool]:
    xgrammar = pytest.importorskip("xgrammar")
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    tag = {"type": "structural_tag", "format": json.loads(row["format"])}
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(json.dumps(tag))
    matchers = [xgrammar.GrammarMatcher(compiled) for _ in texts]
    return [all(map(m.accept_token, [*text.encode(), 256])) for m, text in zip(matchers, texts, strict=True)]


def ask_llguidance(row: dict[str, Any], texts: list[str]) -> list[bool]:
    llguidance = pytest.importorskip("llguidance")
    names = [bytes([byte]) for byte in range(256)] + [b"<eos>"]

    class Tokens:
        eos_token_id, bos_token_id, special_token_ids, tokens = 256, None, [256], names

        def __call__(self, text: Any) -> list[int]:
            return list(text.encode() if isinstance(text, str) else text)

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
    found = []
    for text in texts:
        matcher = llguidance.LLMatcher(tokenizer, row["grammar"])
        assert not matcher.get_error(), matcher.get_error()
        taken = matcher.try_consume_tokens(list(text.encode()))
        found.append(taken == len(text.encode()) and matcher.is_accepting())
    return found


@pytest.mark.parametrize(("kind", "row"), ASKED, ids=name)
def test_the_programs_themselves_agree_but_where_the_row_says(kind: str, row: dict[str, Any]) -> None:
    texts = [*row["accepts"], *row["rejects"]]
    ours = [text in row["accepts"] for text in texts]
    theirs = (ask_xgrammar if kind == "tag" else ask_llguidance)(row, texts)
    differs = [text for text, one, two in zip(texts, ours, theirs, strict=True) if one != two]
    assert differs == row.get("differs", []), row.get("why")
