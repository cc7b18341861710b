"""`GrammarRepetition` (RPG): tokens that would repeat the *structure* of what was written lose probability.

Paper: Dong et al. 2025, "Rethinking repetition problems of LLMs in code generation" (arXiv 2505.10402), section 4.

    r_t     where the grammar is after t tokens; equal places in a row count once (equations 2 to 4)
    Rep     a pattern of places that is followed by itself (equation 5)
    s'(v) = s(v) · λ^Count                          (equations 6 and 7; s a probability)

Count is the number of times that the places up to and including v end with a pattern that came just before it: after
`[1,2,3,4` a comma would be the third of "number, comma" in a row and loses λ² against the bracket that ends the list,
whatever the numbers are (the first item of a list is a place of its own, before anything was repeated). The paper
counts over all patterns of the text; a pattern that does not end at v changes all tokens alike and cancels, so only
patterns that end there are counted. A place is the set of Earley states in which the open lexemes began, which stands
for the pair of state and top of stack of the paper's automaton.

State: the places so far, carried with the text and computed from it. Distribution: shares times λ^Count, under the
mask.
Cost: a fork and an advance of a matcher, about 10 µs, for each of the `candidates` likeliest tokens; others lose
nothing. Limit: constraints of this library; after a flush of the automaton's tables the comparison begins anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.kernels.records import view
from constrain.masks.engine import Matcher
from constrain.masks.engine.narrowed import engine_of
from constrain.sampling.core.sampler import check_count
from constrain.sampling.processors.core.context import StepContext
from constrain.sampling.processors.core.processor import Processor, number

Place = tuple[int, ...]
LONGEST = 64  # places of a pattern


class GrammarRepetition(Processor):
    """RPG: penalises tokens that repeat the structure of the text, by the rules of its grammar.

    Args:
        decay: λ in (0, 1]; 1 changes nothing.
        candidates: the likeliest tokens, which are looked at.

    Raises:
        ConstrainError: an option is out of range.

    Source:
        Dong et al. 2025, arXiv 2505.10402, section 4; the decay of 0.9 is theirs (section 5.4).

    Example:
        >>> import constrain
        >>> from constrain.sampling.processors import GrammarRepetition
        >>> model = constrain.reference.load()
        >>> grammar = 'start: "[" N ("," N)* "]"' + chr(10) + "N: /[0-9]/"
        >>> g = constrain.generate(model, "x = ", grammar=grammar, processors=[GrammarRepetition(0.2)], seed=1)
        >>> g.finish_reason
        'stop'
    """

    name = "RPG"
    paper = "Dong et al. 2025, arXiv 2505.10402, section 4"
    law = "shares of tokens that go on with a pattern of the grammar for the n-th time are multiplied by λ^(n−1)"

    def __init__(self, decay: float = 0.9, *, candidates: int = 64) -> None:
        self.decay = number("decay", decay, 0, 1, open_below=True)
        self.candidates = check_count("candidates", candidates)

    def check(self, context: StepContext) -> None:
        """Raises ConstrainError: there is no grammar of this library."""
        if context.engine_matcher is None:
            raise ConstrainError(
                "RPG counts rules of a grammar, and this output has no constraint of this library",
                fix="pass a grammar or a schema, or use Repetition(...), which counts tokens",
            )

    def begin(self, context: StepContext) -> tuple[Place, ...]:
        """The state before the first token, which has no place in the grammar."""
        return ()

    def advance(self, state: Any, token: int, scores: torch.Tensor | None, context: StepContext) -> tuple[Place, ...]:
        """The places, with the one before the token."""
        return merged(state, place_of(context.engine_matcher))

    def __call__(self, scores: torch.Tensor, context: StepContext) -> torch.Tensor:
        here = merged(context.state, place_of(context.engine_matcher))
        log_decay = math.log(self.decay)
        changed = scores.clone()
        likeliest = scores.topk(min(self.candidates, int((scores > -torch.inf).sum()))).indices
        for token in likeliest.tolist():
            if token in context.eos_ids:
                continue
            after = context.matcher.fork()
            if after.advance(token):
                places = merged(here, place_of(engine_of(after)))
                changed[token] += log_decay * repeats(places)
        return changed


def place_of(matcher: Matcher | None) -> Place:
    """The state of a grammar: the Earley states in which the open lexemes began; a flag if they are fresh."""
    if matcher is None:
        return ()
    automaton = matcher.compiled.automaton
    return matcher.locked(
        lambda configuration: tuple(sorted(set(view.pairs(automaton.memory.A, configuration)[:, 0].tolist())))
    )


def merged(places: Sequence[Place], place: Place) -> tuple[Place, ...]:
    """The places with one more, unless it is the last (equation 4).

    Example:
        >>> merged(((1,), (2,)), (2,)), merged(((1,),), (2,))
        (((1,), (2,)), ((1,), (2,)))
    """
    return tuple(places) if places and places[-1] == place else (*places, place)


def repeats(places: Sequence[Any]) -> int:
    """The number of earlier copies of the pattern at the end: n − 1 where the places end with n copies of it.

    The pattern with the most copies counts.

    Example:
        >>> repeats("xababab"), repeats("abc"), repeats("aab")
        (2, 0, 0)
    """
    most = 0
    for length in range(1, min(LONGEST, len(places) // 2) + 1):
        pattern = places[len(places) - length :]
        copies = 0
        end = len(places) - length
        while end >= length and places[end - length : end] == pattern:
            copies += 1
            end -= length
        most = max(most, copies)
    return most
