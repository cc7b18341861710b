"""Small tokenizers of all kinds that are read: their own cuts of texts, beside what is said of them.

A case draws the stages that cut a text into pieces, the texts that pairs are merged by, and added tokens, as text and
special; then texts of the same letters.
"""

from __future__ import annotations

import itertools
import json
from os.path import commonprefix
from typing import Any

from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer

import constrain
from added_oracle import spelling
from constrain.languages.cuts import canonical_tokens
from constrain.masks.derived.forced import ForcedCuts
from fuzz import Target
from made_tokenizers import CHAIN, LLAMA3

LETTERS = "as1'! \n<>é"
STAGES = [
    LLAMA3, *CHAIN, r"\p{N}", r"\p{N}{1,2}", "[as]+", r"\s+(?!\S)|\s+", " ?[as]+|'[as]", r"[^\r\n\p{L}\p{N}]?\p{L}+",
]  # fmt: skip
WORDS = st.lists(st.sampled_from([*LETTERS, "11"]), min_size=1, max_size=5).map("".join)
CASES = st.fixed_dictionaries(
    {
        "stages": st.one_of(st.lists(st.sampled_from(STAGES), max_size=3), st.just([*CHAIN])),
        "trained": st.lists(WORDS, min_size=1, max_size=12),
        "merges": st.integers(0, 40),
        "missing": st.lists(st.sampled_from([0, 7, 0xC3, 0xA9, 0xF4, 0x41]), max_size=2),
        "added": st.lists(WORDS.filter(lambda word: len(word) > 1), max_size=4, unique=True),
        "special": st.lists(WORDS.filter(lambda word: len(word) > 2), max_size=2, unique=True),
        "texts": st.lists(st.lists(WORDS, max_size=4).map("".join), min_size=1, max_size=4),
    }
)


def tokenizer_of(case: Any) -> Tokenizer:
    """The tokenizer of a case, whose `<end>` ends a text."""
    tokenizer = Tokenizer(models.BPE())
    stages = [pre_tokenizers.Split(Regex(stage), "isolated") for stage in case["stages"]]
    own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*stages, own])
    tokenizer.decoder = decoders.ByteLevel()
    names = {value: name for name, value in constrain.languages.vocab.huggingface.byte_characters().items()}
    alphabet = [names[byte] for byte in range(256) if byte not in case["missing"]]
    trainer = BpeTrainer(
        vocab_size=len(alphabet) + case["merges"], initial_alphabet=alphabet, limit_alphabet=len(alphabet),
        show_progress=False, min_frequency=1,
    )  # fmt: skip
    tokenizer.train_from_iterator(case["trained"] * 2, trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in case["added"]])
    tokenizer.add_special_tokens([*case["special"], "<end>"])
    return tokenizer


def check(case: Any) -> None:
    """Own cuts are canonical and pass the default's masks, where forced text has one cut; other cuts are counted."""
    tokenizer = tokenizer_of(case)
    ends = [tokenizer.get_vocab()["<end>"]]
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=ends)
    canonical = canonical_tokens(tokenizer, vocabulary)
    assert not isinstance(canonical, str), canonical
    whole = [*case["texts"], *(text + case["texts"][0] for text in [*case["added"], *case["special"]])]
    own = {text: tokenizer.encode(text, add_special_tokens=False).ids for text in whole if text}
    for text, tokens in own.items():
        if vocabulary.to_bytes(tokens) == text.encode():
            assert canonical.strays(tokens) == [], text
        by_byte = {token: i for i, token in reversed([*enumerate(vocabulary.tokens)]) if token and len(token) == 1}
        spelled = [by_byte.get(bytes([byte]), -1) for byte in text.encode()]
        if -1 not in spelled:
            assert bool(canonical.strays(spelled)) == (spelled != tokens), text
    _first(tokenizer, canonical, [case["texts"][0], *case["trained"][:4]], case["trained"] + case["added"])
    written = [text for text, tokens in own.items() if vocabulary.to_bytes(tokens) == text.encode()]
    for language in [[text] for text in written] + [written] * bool(written):
        _walk(tokenizer, vocabulary, canonical, language)
    single = {token for token in vocabulary.tokens if token and len(token) == 1}
    beginnings = sorted({text[:end] + "a" for text in case["added"] for end in range(len(text))})
    beginnings = [text for text in beginnings if {bytes([byte]) for byte in text.encode()} <= single][:4]
    for others in (written, [*written, *beginnings]):
        if others:
            _beside(tokenizer, vocabulary, canonical, others)


def _beside(tokenizer: Tokenizer, vocabulary: Any, canonical: Any, texts: list[str]) -> None:
    """Tokens that take part of an added text are refused where text is open, no others are, and each text can be
    written."""
    compiled, language = constrain.compile(constrain.choices(texts), vocabulary), [text.encode() for text in texts]
    matcher, plain, found = ForcedCuts.of(compiled, canonical).matcher(), compiled.matcher(), set[bytes]()
    waiting: list[tuple[Any, Any, list[tuple[int, bytes]]]] = [(plain, matcher, [])]
    seen = {b""}
    while waiting:
        plain, matcher, read = waiting.pop()
        before = b"".join(text for _, text in read)
        allowed = [token for token in range(vocabulary.size) if matcher.allows(token)]
        every = [(token, vocabulary.tokens[token] or b"") for token in range(vocabulary.size) if plain.allows(token)]
        if len(commonprefix([text[len(before) :] for text in language if text.startswith(before)])) < 2:  # noqa: RUF071
            kept = [token for token, text in every if not spelling(tokenizer, language, read, (token, text))]
            assert allowed == (kept or [token for token, _ in every]), (read, allowed, kept)
        for token in allowed:
            text = vocabulary.tokens[token] or b""
            found |= {before} if token in vocabulary.eos_ids else set()
            if token not in vocabulary.eos_ids and before + text not in seen:
                beside, fork = plain.fork(), matcher.fork()
                assert beside.advance(token) and fork.advance(token)
                waiting.append((beside, fork, [*read, (token, text)]))
                seen.add(before + text)
    assert found == {*language}, (language, found)


def _walk(tokenizer: Tokenizer, vocabulary: Any, canonical: Any, language: list[str]) -> None:
    """Each own cut of a language passes, and where its text is forced no other token may come next."""
    compiled = constrain.compile(constrain.choices(language), vocabulary)
    for text in language:
        matcher = ForcedCuts.of(compiled, canonical).matcher()
        for token in tokenizer.encode(text, add_special_tokens=False).ids:
            before = matcher.text.decode("utf-8", "ignore")
            rests = [each[len(before) :] for each in language if each.startswith(before)]
            assert matcher.allows(token), (json.dumps(text), before, token)
            if len(language) == 1 and len(commonprefix(rests).encode()) > 1:  # noqa: RUF071
                allowed = [each for each in range(vocabulary.size) if matcher.allows(each)]
                assert allowed == [token], (json.dumps(text), before, allowed, token)
            assert matcher.advance(token)


def _first(tokenizer: Tokenizer, canonical: Any, texts: list[str], words: list[str]) -> None:
    """Nothing is said to begin a text that begins it in no cut, however the text goes on."""
    rests = ["", *LETTERS, *map("".join, itertools.product("as1 ", repeat=2))]
    rests += [text[at:] for text in words for at in range(1, len(text))]
    for text in filter(None, texts):
        own = {tokenizer.encode(text + rest, add_special_tokens=False).ids[0] for rest in rests}
        found = {*canonical.firsts.of(canonical.start, text.encode()).within}
        assert found <= own, (text, found, own)


TARGETS = [Target("cuts", CASES, check, 60)]
