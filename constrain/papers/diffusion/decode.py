"""`denoise`: fill a text of masked tokens step by step, so that it is valid at the end.

    denoised = denoise(model, constraint, prompt=ids, length=64, steps=16)
    denoised.text, denoised.steps

The idea: before a token is set, the canvas (canvas.py) says whether some filling of all other positions has it.
Tokens that the model proposes for several positions are checked together; the largest part that is allowed is set. If
the position that comes first is refused its token, the exact mask of this position is made, and a token is drawn
anew among what may stand there. So each step sets at least one token, and never one that leads nowhere. Where exact
masks are out of reach (programs and real vocabularies, layouts), a canvas that knows one whole text (witnessed.py) says
yes only with a text in hand: then the next proposals are asked for in turn, and at last its own token is set.

What is sampled: at each step a token follows the model's distribution, restricted to what may stand there. With one
token a step (`weigh=True`) the product of the restricted masses is the importance weight of the output: outputs with
weights follow the distribution of the unconstrained model with the same policy, given that its text is a member and
nothing was set behind an EOS (note 0022). With several tokens a step there is no such weight: it is an approximation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError, GrammarError, LimitError
from constrain.gaps.projection import gap_language
from constrain.gaps.solution import GapLanguage
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint, refuse_monitors, refuse_tokens
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.members import is_member
from constrain.papers.diffusion.canvas import Canvas
from constrain.papers.diffusion.dingo import likeliest_member
from constrain.papers.diffusion.drafts import DraftReader
from constrain.papers.diffusion.models import MaskedDiffusion
from constrain.papers.diffusion.policies import POLICIES, Policy
from constrain.papers.diffusion.token_classes import TokenClasses
from constrain.papers.diffusion.witnessed import WitnessedCanvas

Draw = Callable[[NDArray[np.float64]], int]
PROPOSALS = 8  # more of them, where one is refused and no mask is known


@dataclass
class Denoised:
    """An output of `denoise`.

    Attributes:
        text: The text.
        tokens: The token at each position of the canvas, EOS included.
        fault: What the check of the finished text says; None if it passes. Maximal munch and the deferred checks of a
            schema are decided there.
        steps: Steps, each with the logits of its text.
        calls: Calls of the model: as many as steps, and fewer with drafts.
        refused: Proposed tokens that no filling has.
        masks: Exact masks that were made.
        exact: Whether a token was refused only if no filling has it; else some may have been refused that one has.
        forced: Positions that `scaffold=True` set.
        log_weight: The logarithm of the importance weight, with `weigh=True`; else None.
        order: The positions in the order in which they were set; the ones of a step in a list.
        constraint_seconds: CPU time of the constraint, in seconds.
        model_seconds: Time of the model, in seconds.
    """

    text: str
    tokens: list[int]
    fault: str | None = None
    steps: int = 0
    calls: int = 0
    refused: int = 0
    masks: int = 0
    exact: bool = True
    forced: int = 0
    log_weight: float | None = None
    order: list[list[int]] = field(default_factory=list)
    constraint_seconds: float = 0.0
    model_seconds: float = 0.0


def denoise(
    model: MaskedDiffusion,
    constraint: Constraint | None,
    *,
    prompt: Sequence[int] = (),
    length: int | None = None,
    tokens: Sequence[int | None] | None = None,
    steps: int | None = None,
    policy: str | Policy = "confidence",
    temperature: float = 0.0,
    block: int | None = None,
    viterbi: bool = False,
    weigh: bool = False,
    scaffold: bool = False,
    drafts: int = 0,
    exact: bool | None = None,
    seed: int | None = None,
    draw: Draw | None = None,
) -> Denoised:
    """Let a masked-diffusion model write a text that is valid under a constraint.

    Args:
        model: The model.
        constraint: The constraint on the text; None: none.
        prompt: Token ids before the text. Default: none.
        length: The number of tokens of the text, EOS included. Default: that of `tokens`.
        tokens: The token at each position, None where it is open. Default: all are open.
        steps: In how many steps all positions are set, where the constraint permits. Default: one for each position.
        policy: Which positions are set first: a name of `policies.POLICIES`, or a policy. Default "confidence".
        temperature: 0 takes the likeliest token; T > 0 draws from the distribution to the power of 1/T. Default 0.
        block: Fill blocks of so many positions from left to right (semi-autoregressive). Default: all at once.
        viterbi: Propose the tokens of the most probable member (DINGO). For regular languages, with temperature 0.
        weigh: Compute the importance weight; one token a step, and temperature above 0.
        scaffold: Before each step, set what the constraint leaves no choice in. So the model sees the skeleton of a
            schema from its first forward pass on. Not with `weigh`.
        drafts: How many texts of later steps the model reads beside the present one, in one call (FreeDave); it then
            has `logits_many`. The output is the same, with fewer calls. Default: none.
        exact: True: refuse a token only if no filling has it. False: set a token only once a whole text with it is
            known, which also works for programs, real vocabularies and layouts; a token may be refused though some
            filling has it. Default: exact where that is possible.
        seed: Of the random numbers.
        draw: Draws a number from probabilities, float64[n]; for tests. Default: a generator with `seed`.

    Returns:
        The text, with what it took.

    Raises:
        ConstrainError: An argument is wrong, the model has no mask token, or the text has a special one.
        UnsatisfiableError: No member fits the canvas; the message says how long the shortest is, or which token
            contradicts. Before any forward.
        LimitError: The grammar or the canvas is too large, or no filling was found.
        GrammarError: The grammar has a layout of lines and columns, and `exact`, `weigh` or `scaffold` is asked for.

    Example:
        >>> import numpy as np
        >>> import constrain
        >>> from constrain.papers.diffusion import denoise
        >>> class Indifferent:
        ...     vocabulary = constrain.Vocabulary([b"a", b"b", b"-", None, None], eos_ids=[3])
        ...     mask_id = 4
        ...     def logits(self, tokens):
        ...         return np.zeros((len(tokens), 5), np.float32)
        >>> denoise(Indifferent(), constrain.regex("a-b|b-a"), tokens=[None, None, 0], seed=1).text
        'b-a'
    """
    if constraint is not None and not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"denoise() takes a constraint, not {type(constraint).__name__}", fix="constrain.json_schema(...), for one"
        )
    run = _Run(model, constraint, prompt, _canvas_of(model, length, tokens), policy)
    run.open_canvas(True if weigh or scaffold else exact)
    run.configure(steps, temperature, block, viterbi, weigh, scaffold, seed, draw)
    run.read_ahead(drafts)
    return run.complete()


def _canvas_of(model: MaskedDiffusion, length: Any, tokens: Any) -> list[int | None]:
    """The tokens of a canvas. Raises ConstrainError."""
    mask_id = getattr(model, "mask_id", None)
    if mask_id is None:
        raise ConstrainError("the model has no mask token", fix="use a masked-diffusion model, or generate()")
    if tokens is None:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise ConstrainError(f"length is a number of tokens from 1, not {length!r:.60}", fix="length=64")
        return [None] * length
    if length not in (None, len(tokens)):
        raise ConstrainError(f"length is {length}, but there are {len(tokens)} tokens", fix="leave length out")
    for position, token in enumerate(tokens):
        if token == mask_id:
            raise ConstrainError(f"position {position} has the mask token", fix="write None for an open position")
    if not len(tokens):
        raise ConstrainError("a text has at least one position", fix="tokens=[None] * 64")
    return list(tokens)


@lru_cache(maxsize=16)
def _tables(grammar: Grammar, vocabulary: Vocabulary) -> tuple[GapLanguage, TokenClasses]:
    language = gap_language(grammar)
    return language, TokenClasses(language, vocabulary)


class _Run:
    """One output while it is made."""

    def __init__(
        self,
        model: MaskedDiffusion,
        constraint: Constraint | None,
        prompt: Sequence[int],
        tokens: list[int | None],
        policy: str | Policy,
    ) -> None:
        if isinstance(policy, str) and policy not in POLICIES:
            raise ConstrainError(f"there is no policy {policy!r}", fix=f"one of {', '.join(POLICIES)}")
        self.model, self.constraint, self.prompt, self.tokens = model, constraint, list(prompt), tokens
        self.policy: Policy = POLICIES[policy]() if isinstance(policy, str) else policy
        self.policy.begin()
        self.vocabulary = model.vocabulary
        self.eos = frozenset(self.vocabulary.eos_ids)
        self.never = np.array([text is None for text in self.vocabulary.tokens])
        self.never[list(self.eos)] = False
        self.never[model.mask_id] = True
        self.canvas: Canvas | WitnessedCanvas | None = None
        self.out = Denoised("", [])
        if constraint is not None:
            refuse_tokens(constraint, "cannot be denoised")
            refuse_monitors(constraint, "cannot be denoised")
        self.refused: dict[int, NDArray[np.bool_]] = {}

    def open_canvas(self, exact: bool | None) -> None:
        """Make the canvas: an exact one, or one that knows a whole text."""
        if self.constraint is None:
            return
        begin = time.thread_time()
        if exact is not False:
            try:
                language, classes = _tables(self.constraint.as_dynamic(), self.vocabulary)
                self.canvas = Canvas(language, self.vocabulary, self.tokens, classes)
            except (LimitError, GrammarError):
                if exact:
                    raise
        if self.canvas is None:
            self.canvas = WitnessedCanvas(self.constraint, self.vocabulary, self.tokens)
            self.out.exact = False
        self.tokens = self.canvas.tokens
        self.out.constraint_seconds += time.thread_time() - begin

    def configure(
        self,
        steps: int | None,
        temperature: float,
        block: int | None,
        viterbi: bool,
        weigh: bool,
        scaffold: bool,
        seed: int | None,
        draw: Draw | None,
    ) -> None:
        """Check and keep the settings. Raises ConstrainError."""
        for name, number in (("steps", steps), ("block", block)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise ConstrainError(f"{name} is a number from 1, not {number!r:.60}")
        if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature < math.inf:
            raise ConstrainError(f"temperature is a number from 0, not {temperature!r:.60}")
        node = None if self.constraint is None else self.constraint.node
        if viterbi and (node is None or temperature > 0):
            raise ConstrainError(
                "viterbi=True takes a regular language and temperature 0",
                fix="leave it out, or use constrain.regex(...)",
            )
        if weigh and (temperature == 0 or self.constraint is None or (steps is not None and steps < len(self.tokens))):
            raise ConstrainError(
                "weigh=True takes a constraint, a temperature above 0, and one step for each position",
                fix="leave steps out, and pass temperature=1.0",
            )
        if weigh and self.policy.fuses:
            raise ConstrainError(
                "weights are of the model's own distribution, and this policy draws from another",
                fix="leave weigh out, or take another policy",
            )
        if scaffold and (weigh or self.constraint is None):
            raise ConstrainError(
                "scaffold=True takes a constraint, and no weigh=True: the model has no say in what it sets",
                fix="leave one of them out",
            )
        self.scaffold, self.steps = scaffold, steps or len(self.tokens)
        self.temperature, self.block, self.weigh = float(temperature), block or len(self.tokens), weigh
        self.node = node if viterbi else None
        self.rng = np.random.default_rng(seed)
        self.draw = draw or (lambda p: int(self.rng.choice(len(p), p=p)))
        self.out.log_weight = 0.0 if weigh else None

    def read_ahead(self, drafts: int) -> None:
        """Read so many texts of later steps beside the present one. Raises ConstrainError."""
        if isinstance(drafts, bool) or not isinstance(drafts, int) or drafts < 0:
            raise ConstrainError(f"drafts is a number from 0, not {drafts!r:.60}")
        self.reader = DraftReader(self.model, self.prompt, drafts, self.eos)

    def _likely(self, positions: NDArray[np.int64], rows: NDArray[np.float64], count: int) -> Iterator[tuple[int, int]]:
        """For so many of the positions that are still open, the likeliest token that may stand there."""
        open_now = [each for each in zip(positions.tolist(), rows, strict=True) if self.tokens[each[0]] is None]
        for position, logits in open_now[:count]:
            refused = self.never | ~self.canvas.mask(position) if isinstance(self.canvas, Canvas) else self.never
            yield position, int(np.argmax(np.where(refused, -np.inf, logits)))

    def complete(self) -> Denoised:
        """Set all positions."""
        while any(token is None for token in self.tokens):
            if self.scaffold:
                self._set_forced()
            if any(token is None for token in self.tokens):
                self._step()
        out = self.out
        out.tokens = [token for token in self.tokens if token is not None]
        end = next((i for i, token in enumerate(out.tokens) if token in self.eos), len(out.tokens))
        content = self.vocabulary.to_bytes(out.tokens[:end])
        out.text = content.decode("utf-8", "replace")
        if self.constraint is not None:
            out.fault = self._fault(out.text)
        return out

    def _fault(self, text: str) -> str | None:
        assert self.constraint is not None
        if self.constraint.node is None and self.constraint.to_grammar().lexer == "greedy":
            if not is_member(self.constraint, text):
                return "the longest terminals do not make a member"
        return self.constraint.residual_fault(text)

    def _step(self) -> None:
        """One forward pass, and the tokens that it sets."""
        out, begin = self.out, time.perf_counter()
        masked = [self.model.mask_id if token is None else token for token in self.tokens]
        logits = self.reader.logits(masked)
        out.calls = self.reader.calls
        out.model_seconds += time.perf_counter() - begin
        out.steps += 1
        begin = time.thread_time()
        open_now = [position for position, token in enumerate(self.tokens) if token is None]
        first = open_now[0] - open_now[0] % self.block
        positions = np.array([position for position in open_now if position < first + self.block])
        rows = logits[positions].astype(np.float64)
        rows[:, self.never] = -np.inf
        chances = _softmax(rows, self.temperature or 1.0)
        scores = self.policy.scores(chances, positions, self.rng)
        order = np.argsort(-scores, kind="stable")
        due = -(-len(open_now) // max(1, self.steps - out.steps + 1))
        count = 1 if self.weigh else min(self.policy.count(scores[order], due), len(order))
        ranked = order[:count]
        if self.policy.fuses:
            fused = self.policy.fused(chances, positions)
            rows = np.log(fused, out=np.full_like(fused, -np.inf), where=fused > 0) * (self.temperature or 1.0)
        if self.node is not None:
            every = logits.astype(np.float64)
            every[:, self.never] = -np.inf
            every[positions] = rows
            self._set_likeliest(every, positions[ranked].tolist())
        else:
            self._set([(int(positions[i]), rows[i]) for i in ranked])
        if self.reader.drafts:
            self.reader.expect(list(self._likely(positions[order], rows[order], count * self.reader.drafts)), count)
        out.constraint_seconds += time.thread_time() - begin

    def _set(self, ranked: list[tuple[int, NDArray[np.float64]]]) -> None:
        """Draw a token for each position, and set as many as are allowed together; the first one in any case."""
        canvas = self.canvas
        if canvas is None:
            self._place({position: self._token(logits, self.never) for position, logits in ranked})
            return
        position, logits = ranked[0]
        if self.weigh:
            self._weigh(logits, self._mask(position))
        token = self._token(logits, self.refused.get(position, self.never))
        if not canvas.allows({position: token}):
            self.out.refused += 1
            token = self._another(position, logits, token)
        placed = {position: token}
        others = [(place, self._token(each, self.refused.get(place, self.never))) for place, each in ranked[1:]]
        if others:
            placed = canvas.largest([(position, token), *others])
            self.out.refused += len(others) + 1 - len(placed)
        self._place(placed)

    def _another(self, position: int, logits: NDArray[np.float64], token: int) -> int:
        """A token that is allowed, in place of one that is not."""
        canvas = self.canvas
        if not isinstance(canvas, WitnessedCanvas):
            return self._token(logits, ~self._mask(position))
        refused = self.never.copy()
        for _ in range(PROPOSALS):
            refused[token] = True
            token = self._token(logits, refused)
            if canvas.allows({position: token}):
                return token
            self.out.refused += 1
        return canvas.filling[position]

    def _set_forced(self) -> None:
        """Set the positions where one token may stand; any filling of the others has them all."""
        assert isinstance(self.canvas, Canvas)
        begin = time.thread_time()
        forced: dict[int, int] = {}
        for position in self.canvas.open:
            allowed = np.flatnonzero(self.canvas.mask(position) & ~self.never)
            if len(allowed) == 1:
                forced[position] = int(allowed[0])
        if forced:
            self.out.forced += len(forced)
            self._place(forced)
        self.out.constraint_seconds += time.thread_time() - begin

    def _mask(self, position: int) -> NDArray[np.bool_]:
        """The exact mask of a position; what it refuses stays refused."""
        assert isinstance(self.canvas, Canvas)
        self.out.masks += 1
        allowed = self.canvas.mask(position) & ~self.never
        self.refused[position] = ~allowed
        return allowed

    def _weigh(self, logits: NDArray[np.float64], allowed: NDArray[np.bool_]) -> None:
        """Multiply the weight by the mass of the tokens that are allowed."""
        assert self.out.log_weight is not None
        mass = float(_softmax(logits, self.temperature)[allowed].sum())
        self.out.log_weight += math.log(mass) if mass > 0 else -math.inf

    def _token(self, logits: NDArray[np.float64], refused: NDArray[np.bool_]) -> int:
        """The likeliest token that is not refused, or one drawn; any of them if the model excludes all."""
        left = np.where(refused, -np.inf, logits)
        if not (left > -np.inf).any():
            left = np.where(refused, -np.inf, 0.0)
        if self.temperature == 0:
            return int(np.argmax(left))
        return self.draw(_softmax(left, self.temperature))

    def _set_likeliest(self, logits: NDArray[np.float64], positions: list[int]) -> None:
        """Set the tokens of the most probable member."""
        rows = np.log(np.maximum(_softmax(logits, 1.0), 1e-300))
        rows[:, self.never] = -np.inf
        for position, token in enumerate(self.tokens):
            if token is not None:
                rows[position] = -np.inf
                rows[position, token] = 0.0
        assert self.node is not None
        found = likeliest_member(self.node, self.vocabulary, rows)
        self._place({position: found[position] for position in positions})

    def _place(self, placed: dict[int, int]) -> None:
        """Set tokens; behind an EOS there is nothing else."""
        self.out.order.append(list(placed))
        placed = {position: token for position, token in placed.items() if self.tokens[position] is None}
        if self.canvas is not None:
            self.canvas.set(placed)
            return
        for position, token in placed.items():
            self.tokens[position] = token
        end = next((i for i, token in enumerate(self.tokens) if token in self.eos), len(self.tokens))
        for position in range(end, len(self.tokens)):
            if self.tokens[position] is None:
                self.tokens[position] = self.tokens[end]


def _softmax(logits: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """float64[n, V]: the distribution of each row."""
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
