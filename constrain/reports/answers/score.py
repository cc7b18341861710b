"""`constrain.score`: log-probabilities of options, all from one forward pass.

    scores = constrain.score(model, prompt, ["red", "green", "blue"])
    scores.best.option, scores.shares                       # "red", [0.7, 0.2, 0.1]

"canonical" (the default) scores: the tokens that the tokenizer cuts the option into, by itself, and then the end of the
text. "all": the option as a text, that is the sum over every token sequence that spells it. A list of token ids is
scored as it stands. So "all" is the distribution of `generate(choices=...)` under `method="exact"`, and "canonical"
that of the same call on `constrain.papers.canonical`.

Distribution: shares are p(option) / Σ p(option), where the options are different texts.
Cost: one forward pass for the
prompt and all options (token_tree.py). "all" reads every beginning of every token sequence: an option of n bytes may
have 2ⁿ⁻¹ of these, so it is for short options; `LIMIT` bounds it.
Limit: an option is cut apart from the prompt. Where
a tokenizer would merge the last token of the prompt with the option, p is that of the cut between them, as everywhere
else (docs/sampling.md, "Tokens").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, overload

from constrain.errors import ConstrainError, LimitError
from constrain.generation.handles import handle_of
from constrain.generation.request.arguments import check_settings, check_switch, check_tokenizer
from constrain.generation.request.prompts import parse_prompts, token_ids, tokenize
from constrain.generation.request.signature import ModelLike, PromptLike, PromptsLike
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.reports.answers.token_tree import ROOT, TokenTree, TreeScores, read_tree
from constrain.sampling.core.sampler import log_add

LIMIT = 20_000  # beginnings of token sequences of all options, with tokenisations="all"
Tokenisations = Literal["canonical", "all"]
_FORMS = "pass texts, or lists of token ids, or an Enum whose values are texts"


@dataclass(frozen=True)
class Score:
    """The probability of one option.

    Attributes:
        option: As it was given: a text, token ids, a member of an Enum.
        text: Its text.
        tokens: Its token ids without an end; of all tokenisations the likeliest.
        logprob: log p of the option after the prompt, with the end of the text unless `end=False`.
        tokenisations: How many token sequences that counts.

    Example:
        >>> import constrain
        >>> score = constrain.score(constrain.reference.load(), "A colour: ", ["red", "green"])[0]
        >>> score.option, score.logprob < 0, score.tokenisations
        ('red', True, 1)
    """

    option: Any
    text: str
    tokens: tuple[int, ...]
    logprob: float
    tokenisations: int = 1

    @property
    def per_token(self) -> float:
        """logprob over the number of tokens, the end counted as one."""
        return self.logprob / (len(self.tokens) + 1)

    @property
    def per_byte(self) -> float:
        """logprob over the number of bytes of the text (at least 1)."""
        return self.logprob / max(1, len(self.text.encode()))


class Scores(list[Score]):
    """The scores of all options, in their order.

    Attributes:
        forwards: Forwards of the model that this prompt took part in.
        nodes: Tokens that were read behind the prompt.

    Example:
        >>> import constrain
        >>> scores = constrain.score(constrain.reference.load(), "A colour: ", ["red", "green"])
        >>> scores.forwards, round(sum(scores.shares), 9), scores.best in scores
        (1, 1.0, True)
    """

    def __init__(self, scores: Iterable[Score] = (), forwards: int = 0, nodes: int = 0) -> None:
        super().__init__(scores)
        self.forwards, self.nodes = forwards, nodes

    @property
    def best(self) -> Score:
        """The likeliest option; of equals the first."""
        return max(self, key=lambda score: score.logprob)

    @property
    def ranked(self) -> list[Score]:
        """From the likeliest to the unlikeliest; equals in their order."""
        return sorted(self, key=lambda score: -score.logprob)

    @property
    def shares(self) -> list[float]:
        """p(option) / Σ p(option): what the model says if it says one of them. All 0 where none has any mass."""
        total = log_add([score.logprob for score in self])
        return [0.0 if total == -math.inf else math.exp(score.logprob - total) for score in self]


@dataclass
class _Option:
    """given: as the user wrote it. ways: nodes of the tree where a token sequence of it ends. ended: an end of the text
    is among its tokens."""

    given: Any
    text: str
    ways: list[int] = field(default_factory=list)
    ended: bool = False


@overload
def score(
    model: ModelLike,
    prompt: PromptLike,
    choices: Sequence[Any] | type[Enum],
    *,
    tokenizer: object = None,
    tokenisations: Tokenisations = "canonical",
    end: bool = True,
    temperature: float = 1.0,
) -> Scores: ...


@overload
def score(
    model: ModelLike,
    prompt: PromptsLike,
    choices: Sequence[Any] | type[Enum],
    *,
    tokenizer: object = None,
    tokenisations: Tokenisations = "canonical",
    end: bool = True,
    temperature: float = 1.0,
) -> list[Scores]: ...


def score(
    model: ModelLike,
    prompt: PromptLike | PromptsLike,
    choices: Sequence[Any] | type[Enum],
    *,
    tokenizer: object = None,
    tokenisations: Tokenisations = "canonical",
    end: bool = True,
    temperature: float = 1.0,
) -> Scores | list[Scores]:
    """Score options by their log-probability after a prompt, all from one forward.

    Args:
        model: What `generate` takes.
        prompt: What `generate` takes: a text, chat messages, token ids, or a list of these.
        choices: The options: texts, lists of token ids, or an Enum whose values are texts. They need not differ.
        tokenizer: Of transformers; None: found by the model's name.
        tokenisations: "canonical": a text counts as the tokens that the tokenizer cuts it into; "all": as every token
            sequence that spells it, the sum of their probabilities. Token ids count as they stand.
        end: Count the end of the text too, whichever token ends it, so that "in" and "inch" are two answers. If not,
            the score is that of texts that begin so.
        temperature: Divides the logits.

    Returns:
        The scores, in the order of the options; for a list of prompts a list of them.

    Raises:
        ConstrainError: An option is no text and no token ids, the tokenizer does not spell it as the vocabulary does,
            or the model has too few positions.
        LimitError: The options have too many tokenisations.

    Example:
        >>> import constrain
        >>> scores = constrain.score(constrain.reference.load(), '{"color": "', ["red", "green", "x7q"], end=False)
        >>> scores.forwards, scores.ranked[-1].option
        (1, 'x7q')
    """
    settings = check_settings(1, temperature, None, None)
    if settings.temperature == 0:
        raise ConstrainError("temperature 0 has no probabilities", fix="leave temperature out")
    if not isinstance(tokenisations, str) or tokenisations not in ("canonical", "all"):
        raise ConstrainError(f'tokenisations must be "canonical" or "all", not {tokenisations!r:.60}')
    check_switch("end", end)
    options = options_of(choices)
    check_tokenizer(tokenizer)
    prompts = parse_prompts(prompt)
    handle = handle_of(model, tokenizer)
    tree = TokenTree()
    for place, option in enumerate(options):
        _add(tree, option, place, handle, tokenisations)
    read = read_tree(handle, token_ids(prompts, handle), tree, sorted(handle.vocabulary.eos_ids), settings.temperature)
    found = [_scores(tree, options, each, end) for each in read]
    return found[0] if prompts.single else found


def options_of(choices: Any) -> list[_Option]:
    """The options as they were given, with their texts where they are texts. Raises ConstrainError."""
    if isinstance(choices, type) and issubclass(choices, Enum):
        return [_Option(member, _text(member.value, place)) for place, member in enumerate(choices)]
    if isinstance(choices, (str, bytes)) or not isinstance(choices, Iterable):
        raise ConstrainError(f"choices must be a list of options, not {type(choices).__name__}", fix=_FORMS)
    options = []
    for place, choice in enumerate(choices):
        is_ids = isinstance(choice, (list, tuple)) and all(type(token) is int for token in choice)
        options.append(_Option(choice, "" if is_ids else _text(choice, place)))
    if not options:
        raise ConstrainError("choices needs at least one option", fix=_FORMS)
    return options


def cut(handle: Any, text: str, place: int) -> list[int]:
    """The tokenizer's own tokens of an option. Raises ConstrainError."""
    ids = tokenize(handle.tokenizer, text, special=False)
    spelled = handle.vocabulary.to_bytes(ids)
    if spelled != text.encode():
        raise ConstrainError(
            f"the tokenizer adds to texts: it cuts {text!r:.60} into {spelled!r:.80}",
            place=f"option {place}",
            fix='pass token ids, or tokenisations="all", which needs no tokenizer',
        )
    return ids


def _text(value: Any, place: int) -> str:
    if not isinstance(value, str):
        raise ConstrainError(
            f"an option is no text and no token ids, but {type(value).__name__}: {value!r:.60}",
            place=f"option {place}",
            fix=_FORMS,
        )
    if has_lone_surrogate(value):
        raise ConstrainError(f"an option has a lone surrogate: {value!r:.60}", place=f"option {place}")
    return value


def _add(tree: TokenTree, option: _Option, place: int, handle: Any, tokenisations: Tokenisations) -> None:
    """Put the token sequences of an option into the tree."""
    vocabulary: Vocabulary = handle.vocabulary
    if isinstance(option.given, (list, tuple)):
        tokens = list(option.given)
        wrong = next((token for token in tokens if not 0 <= token < handle.width), None)
        if wrong is not None:
            fix = f"ids of this model go from 0 to {handle.width - 1}"
            raise ConstrainError(f"an option has token id {wrong}", place=f"option {place}", fix=fix)
        option.ended = bool(tokens) and tokens[-1] in vocabulary.eos_ids
        option.text = vocabulary.to_bytes(tokens).decode("utf-8", "replace")
        option.ways = [tree.add(tokens)]
    elif tokenisations == "canonical":
        option.ways = [tree.add(cut(handle, option.text, place))]
    else:
        option.ways = _all_ways(tree, option.text.encode(), vocabulary)
        if not option.ways:
            raise ConstrainError(f"no tokens of the vocabulary spell {option.text!r:.60}", place=f"option {place}")


def _all_ways(tree: TokenTree, text: bytes, vocabulary: Vocabulary) -> list[int]:
    """The nodes of every token sequence that spells a text. Raises LimitError."""
    pieces: dict[bytes, list[int]] = {text[i:j]: [] for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    for token, piece in enumerate(vocabulary.tokens):
        if piece and token not in vocabulary.eos_ids and piece in pieces:
            pieces[piece].append(token)
    spelt = [False] * len(text) + [True]  # the rest from here can be spelt
    for i in range(len(text) - 1, -1, -1):
        spelt[i] = any(spelt[j] and pieces[text[i:j]] for j in range(i + 1, len(text) + 1))
    ways, stack = [], [(ROOT, 0)]
    while stack:
        node, start = stack.pop()
        if start == len(text):
            ways.append(node)
            continue
        for stop in range(start + 1, len(text) + 1):
            if spelt[stop]:
                stack += [(tree.child(node, token), stop) for token in pieces[text[start:stop]]]
        if len(tree) > LIMIT:
            raise LimitError(
                f"the options have more than {LIMIT} beginnings of token sequences",
                place=f"option {text.decode()!r:.60}",
                fix='use tokenisations="canonical", or shorter options',
            )
    return ways


def _scores(tree: TokenTree, options: Sequence[_Option], read: TreeScores, end: bool) -> Scores:
    found = []
    for option in options:
        logs = [
            read.total(tree, node) + (float(read.log_ends[node + 1]) if end and not option.ended else 0.0)
            for node in option.ways
        ]
        best = option.ways[max(range(len(logs)), key=logs.__getitem__)]
        tokens = tuple(tree.tokens[node] for node in tree.path(best))
        tokens = tokens[:-1] if option.ended else tokens
        found.append(Score(option.given, option.text, tokens, min(0.0, log_add(logs)), len(logs)))
    return Scores(found, read.forwards, len(tree))
