"""`extract` against all spans of small documents, scored by products of next-token probabilities."""

import math
import random
import re
from typing import Any

import pytest

import constrain
from constrain import reference
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.models.hf import HFModel
from constrain.papers import Spans, extract
from toy_model import TableModel

PIECES = [b"a", b"b", b" a", b" b", b" ", b"ab", b" ab", b"\xc3", b"\xa9", b"a b", None, b".", b"\n"]
END = 10
PROMPT = [0, 4]
WHOLE = {"sentence": r"\S.*?(?:\.(?=\s|$)|$)", "line": r"[^\n]+"}


class Cutter:
    """Greedy: the longest piece first."""

    bos_token_id = END

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids, left = [], text.encode()
        while left:
            ids.append(max((i for i, p in enumerate(PIECES) if p and left.startswith(p)), key=lambda i: len(PIECES[i])))
            left = left[len(PIECES[ids[-1]]) :]
        return {"input_ids": ids}


class Handle(TableModel):
    """A table of logits with blanks in its tokens."""

    tokenizer = Cutter()
    vocabulary = constrain.Vocabulary(PIECES, [END])


def cut(text: str) -> list[int]:
    return Cutter()(text)["input_ids"]


def log_p(model: TableModel, tokens: tuple[int, ...], ends: list[int]) -> float:
    """log p of tokens and an end, from the definition."""
    total, text = 0.0, list(PROMPT)
    for token in tokens:
        total += float(model.log_probs(text)[token])
        text.append(token)
    return total + math.log(sum(math.exp(model.log_probs(text)[end]) for end in ends))


def all_spans(document: str, most: int, boundaries: str, blank: bool) -> dict[tuple[int, ...], str]:
    """Every span's tokens -> its text, by slicing texts in every way."""
    forms = (" ", "") if blank else ("",)
    whole = (" " if blank else "") + document
    words = [match.span() for match in re.finditer(WHOLE.get(boundaries, r"\S+"), document)]
    if boundaries != "token":
        begins = {begin for begin, _ in words}
    else:
        begins, at = set(), 0
        for token in [*cut(whole), END]:
            try:
                left = len(document) - len(whole.encode()[at:].decode())
                left = max(0, left)
                while left < len(document) and document[left].isspace():
                    left += 1
                begins.add(left)
            except UnicodeDecodeError:
                pass
            at += len(PIECES[token] or b"")
    found = {}
    for begin in begins:
        for form in forms:
            tokens = cut(form + document[begin:])
            for count in range(1, len(tokens) + 1):
                piece = b"".join(PIECES[token] or b"" for token in tokens[:count])
                try:
                    text = piece.decode()[len(form) :]
                except UnicodeDecodeError:
                    continue
                ends_so = (
                    begin + len(text) in {end for _, end in words} if boundaries != "token" else text == text.rstrip()
                )
                if text and ends_so and count <= most:
                    found[tuple(tokens[:count])] = text
            if boundaries != "token":
                whole_ones = {found[key] for key in found if key[: len(key)] == tuple(tokens[: len(key)])}
                for _, end in words:
                    own = tuple(cut(form + document[begin:end]))
                    if end > begin and len(own) <= most and document[begin:end] not in whole_ones:
                        found[own] = document[begin:end]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_against_all_spans(seed: int) -> None:
    rng = random.Random(seed)
    document = " ".join("".join(rng.choices("abé.", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 7)))
    boundaries = ("token", "word", "sentence", "line", "word", "token")[seed % 6]
    blank, most = bool(seed // 2 % 2), rng.randint(2, 8)
    if boundaries == "line":
        document = document.replace(" ", "\n", 2)
    end = None if seed % 3 else "."
    model = Handle(len(PIECES), seed, (1.0, 3.0, 9.0)[seed % 3], ragged=bool(seed % 5))
    wanted = all_spans(document, most, boundaries, blank)
    if not wanted:
        with pytest.raises(UnsatisfiableError, match="no span of the document has"):
            extract(model, PROMPT, document, max_tokens=most, boundaries=boundaries, blank=blank)
        return
    best: dict[str, float] = {}
    for tokens, text in wanted.items():
        best[text] = max(best.get(text, -math.inf), log_p(model, tokens, [END] if end is None else [11]))
    n = rng.randint(1, 4)
    spans = extract(
        model, PROMPT, document, n=n, max_tokens=most, boundaries=boundaries, blank=blank, end=end, batch=2
    )  # fmt: skip
    assert isinstance(spans, Spans)
    expected = sorted(best.values(), reverse=True)[:n]
    assert [span.logprob for span in spans] == pytest.approx(expected, abs=1e-10)
    for span in [*spans, spans.greedy]:
        assert wanted[span.tokens] == span.text == document[span.begin : span.end]
        assert all(document[begin:end] == span.text for begin, end in span.places)
        assert span.logprob == pytest.approx(log_p(model, span.tokens, [END] if end is None else [11]), abs=1e-10)
    assert spans.greedy_is_best == (spans.greedy.logprob >= max(best.values()) - 1e-12)
    assert spans.greedy.tokens == by_steps(model, wanted, [END] if end is None else [11])


def by_steps(model: TableModel, spans: dict[tuple[int, ...], str], ends: list[int]) -> tuple[int, ...]:
    """Greedy decoding among the spans, a token at a time."""
    written: tuple[int, ...] = ()
    while True:
        logs = model.log_probs([*PROMPT, *written])
        after = {each[len(written)] for each in spans if each[: len(written)] == written and len(each) > len(written)}
        ending = math.log(sum(math.exp(logs[end]) for end in ends)) if written in spans else -math.inf
        best = max(after, key=lambda token: logs[token], default=None)
        if best is None or ending >= logs[best]:
            return written
        written += (best,)


def test_places_that_cannot_be_best_are_not_read() -> None:
    document = " ".join("ab" if i % 7 else "b" for i in range(60))
    model = Handle(len(PIECES), 3, 9.0)
    few, all_of_them = extract(model, PROMPT, document, batch=1), extract(model, PROMPT, document, n=10_000, batch=1)
    assert few.read < few.starts == all_of_them.read
    assert few.best.logprob == all_of_them.best.logprob
    assert len({span.text for span in all_of_them}) == len(all_of_them)


@pytest.fixture(scope="module")
def ref() -> HFModel:
    import torch

    return HFModel.of(reference.load(torch.float64))


def test_the_reference_model(ref: HFModel) -> None:
    """Beside scores of the same tokens, and beside the likeliest member of the constraint."""
    document = "The harbour of Genoa is older than that of Turin."
    prompt = document + "\nWhat is older? Answer:"
    spans = extract(ref, prompt, document, n=5, max_tokens=6, boundaries="word")
    scores = constrain.score(ref, prompt, [list(span.tokens) for span in spans])
    assert [span.logprob for span in spans] == pytest.approx([score.logprob for score in scores], abs=1e-9)
    proven = constrain.generate(ref, prompt, constraint=constrain.substring(document), method="argmax", max_tokens=7)
    assert proven.logprob >= spans.best.logprob - 1e-9  # among all ways to write a span


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"document": " \n"}, "there is nothing to quote"),
        ({"document": 3}, "the document is no text: 3"),
        ({"boundaries": "char"}, "boundaries must be one of 'token', 'word', 'line', 'sentence', not 'char'"),
        ({"blank": 1}, "blank must be True or False, not 1"),
        ({"end": "ab"}, "end must be one character of ASCII, not 'ab'"),
        ({"end": "x"}, "no token of the model begins with 'x'"),
        ({"temperature": 0}, "temperature 0 has no probabilities"),
        ({"n": 0}, "n must be"),
        ({"prompt": [[0], [1]]}, "extract takes one prompt"),
    ],
)
def test_faults(options: dict[str, Any], message: str) -> None:
    given = {"prompt": PROMPT, "document": "ab a", **options}
    with pytest.raises(ConstrainError, match=re.escape(message)):
        extract(Handle(len(PIECES)), given.pop("prompt"), given.pop("document"), **given)
