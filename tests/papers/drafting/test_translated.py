"""A draft model with another vocabulary: the distribution is unchanged, the bytes are right, and a model that knows is
taken."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from sampling_cases import BITS, WORDS, Case
from speculative_cases import branching, context_of, law, same

import constrain
from constrain import reference
from constrain.languages.vocab.longest import longest_match
from constrain.models.hf import HFModel
from constrain.sampling import TorchDraw, lcd
from constrain.sampling.core.sampler import drive
from constrain.speculative import DraftBudget, Fixed, Speculation, Translated
from toy_model import TableModel

PIECES = {"skewed": [b"00", b"1", b"0", b"10", None], "ambiguous": [b"f", b"t", b"ru", b"e", b"als", b"r", b"u", None]}


def drafter(language: str, seed: int = 3) -> Translated:
    pieces = PIECES[language]
    return Translated(TableModel(len(pieces), seed, 3.0), pieces, longest_match(pieces), start=[0])


@pytest.mark.parametrize("language, vocabulary", [("skewed", BITS), ("ambiguous", WORDS)])
@pytest.mark.parametrize("verifier", ["match", "token", "traversal"])
def test_the_law_is_that_of_lcd(language: str, vocabulary: Any, verifier: str) -> None:
    case = Case(language, 1)
    expected = law(case, lcd, trees=False, token_bytes=vocabulary.tokens)
    method = Speculation([drafter(language)], verifier=verifier, controller=Fixed(4, 3))
    found = law(case, method, token_bytes=vocabulary.tokens)
    assert found.keys() == expected.keys()
    for tokens, (probability, sample) in found.items():
        assert probability == pytest.approx(expected[tokens][0], abs=1e-12)
        same(sample, expected[tokens][1])


def test_rows_of_a_batch() -> None:
    case = Case("ambiguous", 2)
    job = case.job(TorchDraw(3), rows=3, prompts=[[0], [1, 2], [0, 2]], token_bytes=WORDS.tokens)
    plain = drive(lcd, replace(job, draw=TorchDraw(3)))
    found = drive(Speculation([drafter("ambiguous")]), replace(branching(job), draw=TorchDraw(3)))
    for sample, other in zip(found, plain, strict=True):
        same(sample, other)
        assert sample.drafts["model"].fault is None


def test_bytes_are_cut_into_the_targets_tokens() -> None:
    """The draft model would write xy, then z: x is refused, so its second choice comes, and all is cut anew."""
    vocabulary = constrain.Vocabulary([b"a", b"b", b"ab", b"c", b"bc", None], [5])
    compiled = constrain.compile(constrain.regex("abcab"), vocabulary)
    pieces = [b"x", b"abc", b"a", b"b", None]
    model = TableModel(5)
    model.fixed[(0, 2)] = torch.tensor([3.0, 2.0, 1.0, 0.0, -9.0]).double().numpy()  # after "a": x, abc, a, b
    model.fixed[(0, 2, 3)] = torch.tensor([9.0, 1.0, 2.0, 0.0, 5.0]).double().numpy()  # x, the end
    matcher = compiled.matcher()
    assert matcher.advance(0)
    setting = replace(context_of(None).setting, size=6, eos_ids=[5], token_bytes=vocabulary.tokens)
    context = replace(context_of(None, prompt=[0]), setting=setting, matcher=matcher)
    (tree,) = Translated(model, pieces, longest_match(pieces), start=[0]).propose([context], [DraftBudget(9, 9)])
    assert [vocabulary.tokens[token] for token in tree.tokens] == [b"b"]
    first = model.log_probs((0, 2))[3]
    assert tree.log_probs.tolist() == pytest.approx([first])
    model.fixed[(0, 2, 3)] = torch.tensor([9.0, 1.0, 2.0, 0.0, -5.0]).double().numpy()  # x, a, abc refused, b refused
    model.fixed[(0, 2, 3)][2] = -9.0
    other = [b"x", b"ca", b"a", b"b", None]
    (tree,) = Translated(model, other, longest_match(other), start=[0]).propose(
        [replace(context, memo={})], [DraftBudget(9, 2)]
    )
    assert [vocabulary.tokens[token] for token in tree.tokens] == [b"bc", b"a"]
    second = model.log_probs((0, 2, 3))[1]
    assert tree.log_probs.tolist() == pytest.approx([first + second, 0.0])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_real_model(temperature: float) -> None:
    """The draft of the reference pair, its ids renamed: the same text, and some of what it writes is taken."""
    ref = reference.load()
    handle, draft = HFModel(ref.model, ref.tokenizer), HFModel(ref.draft, ref.tokenizer)
    tokens = draft.vocabulary.tokens
    own = Translated(draft, tokens, lambda text: ref.tokenizer(text.decode("utf-8", "replace"))["input_ids"])
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
    given = {"schema": schema, "temperature": temperature, "seed": 3, "max_tokens": 40}
    plain = constrain.generate(handle, '{"name": "Ann"}\n', **given)
    found = constrain.generate(handle, '{"name": "Ann"}\n', draft=own, **given)
    assert found.tokens == plain.tokens
    count = found.stats.drafts["model"]
    assert (count.fault, count.accepted > 0) == (None, True)
    assert found.stats.forwards < plain.stats.forwards
    assert math.isclose(found.logprob, plain.logprob, abs_tol=1e-2)


def test_what_is_no_text_is_not_read() -> None:
    context = context_of(None, [0, 3], prompt=[4, 1])  # LETTERS: 4 is the end, 3 is ab
    own = Translated(TableModel(3), [b"a", b"b", None], longest_match([b"a", b"b", None]))
    assert own._text(context) == [1, 0, 0, 1]
    assert own._text(replace(context, tokens=[*context.tokens, 2])) == [1, 0, 0, 1]  # no token for c
