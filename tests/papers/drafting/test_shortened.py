"""Drafts from a shortened prompt: the distribution stays, by enumeration; what is read, by hand."""

import pytest
from sampling_cases import LANGUAGES, Case
from speculative_cases import LETTERS, Fresh, check, context_of

import constrain
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel
from constrain.papers import Shortened
from constrain.speculative import DraftBudget
from toy_model import TableModel


@pytest.mark.parametrize("verifier", ["match", "token", "traversal"])
@pytest.mark.parametrize("language", ["skewed", "dyck", "twins", "optional tail", "dead end"])
def test_the_law_is_that_of_lcd(language: str, verifier: str) -> None:
    width = LANGUAGES[language].vocabulary.size
    check(Case(language, 1), Fresh(lambda: Shortened(TableModel(width, 4), most=1, piece=1, end=1), verifier))


def test_what_is_read_of_a_prompt() -> None:
    """Pieces with rare tokens of the end first, equal ones in their order; then the end."""
    drafter = Shortened(TableModel(LETTERS.size, 1), most=8, piece=2, end=2)
    assert drafter.shorten([1, 2, 3, 4, 5, 6, 7, 8]) == [1, 2, 3, 4, 5, 6, 7, 8]
    prompt = [1, 1, 9, 2, 1, 3, 8, 8, 2, 4, 9, 5, 7, 9]  # 9 is in two pieces of six, 7 in none
    assert drafter.shorten(prompt) == [1, 1, 9, 2, 9, 5, 7, 9]
    prompt = [6, 6, 7, 2, 9, 3, 8, 8, 9, 4, 9, 5, 7, 9]  # 7 is in one piece, 9 in three
    assert drafter.shorten(prompt) == [7, 2, 9, 3, 9, 4, 7, 9]
    assert Shortened(TableModel(5, 1), most=5, piece=2, end=2).shorten(prompt) == [7, 2, 7, 9]
    assert Shortened(TableModel(5, 1), most=2, piece=2, end=2).shorten(prompt) == [7, 9]


def test_the_draft_model_reads_the_short_prompt_and_the_output() -> None:
    """Every token of a draft is that of greedy decoding behind the text that it is told."""
    model = TableModel(LETTERS.size, 1)
    drafter = Shortened(model, most=4, piece=1, end=2)
    context = context_of(None, prompt=[0, 1, 2, 3, 4, 0, 1, 1])
    short = drafter.shorten(context.tokens)
    assert short == [0, 1, 1, 1]
    for _ in range(4):
        tree = drafter.propose([context], [DraftBudget(3, 3)])[0]
        text = [*short, *context.tokens[8:]]
        for token in tree.tokens.tolist()[:1]:
            assert token == int(model.logits(text).argmax())
        context.tokens.append(int(tree.tokens[0]))


def test_greedy_outputs_are_equal() -> None:
    reference = constrain.reference.load()
    draft = Shortened(HFModel(reference.draft, reference.tokenizer), most=48, piece=16, end=16)
    prompt = " ".join(f"The number of {word} is {i}." for i, word in enumerate(["suns", "cars", "keys", "dogs"] * 6))
    schema = {"type": "object", "properties": {"keys": {"type": "integer"}, "name": {"type": "string", "maxLength": 9}},
              "required": ["keys", "name"], "additionalProperties": False}  # fmt: skip
    plain, drafted = (
        constrain.generate(reference, prompt, schema=schema, temperature=0, max_tokens=60, draft=each)
        for each in (False, draft)
    )
    assert drafted.tokens == plain.tokens
    assert drafted.stats.drafts["shortened"].fault is None and drafted.stats.drafts["shortened"].accepted > 0


def test_faults() -> None:
    with pytest.raises(ConstrainError, match="the end alone has 64 tokens, more than 8"):
        Shortened(TableModel(5, 1), most=8)
    with pytest.raises(ConstrainError, match="piece must be"):
        Shortened(TableModel(5, 1), piece=0)
