"""An output, token by token, with what the model would rather have written: from one forward over the finished text.

The idea: a generation records the probability of the tokens that it took, not those of others. One forward over prompt
and output gives them all, and the constraint's matcher says which of them it allowed. So tracing costs a generation
nothing, and any text can be traced, also one that was written elsewhere.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import Handle, handle_of
from constrain.generation.request.arguments import CONSTRAINTS, check_tokenizer, compile_for, the_constraint
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.result import Generation
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.vocab.bits import has_bit
from constrain.masks.derived.wanted_cuts import with_canonical
from constrain.reports.answers.score import cut
from constrain.reports.confidence import PartConfidence, confidence_of, value_span
from constrain.reports.display.html import page, tokens_html
from constrain.reports.display.terminal import print_tokens
from constrain.reports.display.tokens import Alternative, ShownToken, readable


class Trace(list[ShownToken]):
    """The tokens of an output with the likeliest alternatives of each. In a notebook they are shown in colours.

    Attributes:
        said: What is known of the output as a whole, in short sentences.
        pieces: The bytes of each token; none of special tokens.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> trace = constrain.trace(model, "A colour: ", "red", choices=["red", "green"])
        >>> [token.text for token in trace][-1], trace[0].alternatives[0].allowed is not None
        ('<|eos|>', True)
    """

    def __init__(
        self, tokens: Sequence[ShownToken] = (), said: Sequence[str] = (), pieces: Sequence[bytes] = ()
    ) -> None:
        super().__init__(tokens)
        self.said = list(said)
        self.pieces = list(pieces)

    def confidence(self, pointer: str) -> PartConfidence:
        """Tell how sure the model was of a value in the text, with its margin.

        Args:
            pointer: A JSON pointer (RFC 6901); "": the whole text.

        Raises:
            ConstrainError: The text is no JSON, has no such value, or was traced without a constraint.

        Example:
            >>> import constrain
            >>> model, schema = constrain.reference.load(), {"enum": [{"a": 1}, {"a": 2}]}
            >>> trace = constrain.trace(model, "A: ", '{"a": 1}', schema=schema, top=20)
            >>> trace.confidence("/a").text
            '1'
        """
        text = b"".join(self.pieces).decode("utf-8", "surrogateescape")
        return confidence_of(text, value_span(text, pointer), self.pieces, self)

    def show(self, console: Any = None) -> None:
        """Print the tokens in colours. console: of rich. Raises MissingExtraError if rich is not installed."""
        print_tokens(self, self.said, console)

    def save(self, path: str | Path) -> None:
        """Write an HTML page that stands alone.

        Args:
            path: The file; it is replaced.

        Example:
            >>> import constrain, tempfile, pathlib
            >>> trace = constrain.trace(constrain.reference.load(), "A colour: ", "red")
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "trace.html"
            >>> trace.save(file)
            >>> "<html" in file.read_text(encoding="utf-8")
            True
        """
        Path(path).write_text(page("trace", self._repr_html_()), encoding="utf-8")

    def _repr_html_(self) -> str:
        return tokens_html(self, self.said)


def trace(
    model: Any,
    prompt: Any,
    output: Generation[Any] | str | Sequence[int],
    *,
    top: int = 5,
    tokenizer: Any = None,
    temperature: float = 1.0,
    **constraint: Any,
) -> Trace:
    """List the tokens that a model would have written at each position of an output, and which a constraint allows.

    Args:
        model: As of `generate`.
        prompt: As of `generate`: one prompt.
        output: What `generate` returned, a text (an end of the text is added), or token ids.
        top: How many of the likeliest tokens each place has.
        tokenizer: Of transformers; None: found by the model's name.
        temperature: Divides the logits.
        constraint: At most one of schema, regex, grammar, choices, type, constraint, as for `generate`. Without one,
            it is not known what was allowed.

    Returns:
        One entry for each token: its probability, the mass of what was allowed, whether it was forced, and
        alternatives, the likeliest first.

    Raises:
        ConstrainError: An argument is wrong, the constraint refuses the output, or the model has too few positions.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> output = constrain.generate(model, "A colour: ", choices=["red", "green"], seed=1)
        >>> trace = constrain.trace(model, "A colour: ", output, choices=["red", "green"], top=3)
        >>> len(trace) == len(output.tokens), len(trace[0].alternatives)
        (True, 3)
    """
    unknown = sorted(constraint.keys() - set(CONSTRAINTS))
    if unknown:
        raise ConstrainError(f"trace has no argument {unknown[0]!r}", fix=f"name one of: {', '.join(CONSTRAINTS)}")
    if isinstance(top, bool) or not isinstance(top, int) or top < 0:
        raise ConstrainError(f"top is a number of tokens, not {top!r:.60}", fix="top=5")
    if not isinstance(temperature, int | float) or not 0 < temperature <= sys.float_info.max:
        raise ConstrainError(f"temperature must be above 0, not {temperature!r:.60}", fix="leave it out")
    language = the_constraint({name: constraint.get(name) for name in CONSTRAINTS})
    prompts = parse_prompts(prompt)
    if not prompts.single:
        raise ConstrainError("trace takes one prompt", fix="call it once for each")
    check_tokenizer(tokenizer)
    handle = handle_of(model, tokenizer)
    [begin] = token_ids(prompts, handle)
    tokens = _tokens(output, handle)
    log_probs = _log_probs(handle, begin, tokens, float(temperature))
    allowed = None if language is None else _masks(_narrowed(compile_for(language, handle), handle, tokens), tokens)
    whole = sum(float(row[token]) for row, token in zip(log_probs, tokens, strict=True))
    said = [f"{len(tokens)} tokens", f"log p {whole:.2f}"]
    pieces = [handle.vocabulary.to_bytes([token]) for token in tokens]
    return Trace(list(_shown(handle, tokens, log_probs, allowed, top)), said, pieces)


def _tokens(output: Any, handle: Handle) -> list[int]:
    """The token ids of an output."""
    if isinstance(output, Generation):
        return list(output.tokens)
    if isinstance(output, str) and not has_lone_surrogate(output):
        return [*cut(handle, output, 0), *sorted(handle.vocabulary.eos_ids)[:1]]
    tokens: list[Any] = list(output) if isinstance(output, Sequence) else [None]
    if not all(isinstance(token, int) and 0 <= token < handle.vocabulary.size for token in tokens):
        raise ConstrainError(
            f"an output is a Generation, a text or token ids, not {output!r:.60}", fix="pass what generate returned"
        )
    return tokens


def _log_probs(handle: Handle, begin: Sequence[int], tokens: Sequence[int], temperature: float) -> torch.Tensor:
    """float64[len(tokens), V]: log-probabilities at the place of each token."""
    if not tokens:
        return torch.zeros(0, handle.vocabulary.size, dtype=torch.float64)
    if handle.context is not None and len(begin) + len(tokens) - 1 > handle.context:
        raise ConstrainError(
            f"prompt and output have {len(begin) + len(tokens)} tokens, and the model has {handle.context} positions",
            fix="shorten the prompt",
        )
    _, [logits] = handle.start([[*begin, *tokens[:-1]]], [len(tokens)])
    return torch.log_softmax(logits.to(torch.float64) / temperature, dim=-1).cpu()


def _narrowed(compiled: Any, handle: Handle, tokens: Sequence[int]) -> Any:
    """The constraint over canonical tokens, as `generate` has it, where the output is canonical."""
    canonical, _ = with_canonical(compiled, handle.tokenizer, None)
    ended = bool(tokens) and tokens[-1] in handle.vocabulary.eos_ids
    stray = canonical is None or [place for place in canonical.strays(tokens) if ended or place < len(tokens)]
    return compiled if stray else canonical


def _masks(compiled: Any, tokens: Sequence[int]) -> list[Any]:
    """The mask at the place of each token. Raises ConstrainError if one is not allowed."""
    matcher, rows = compiled.matcher(), []
    for place, token in enumerate(tokens):
        rows.append(matcher.mask())
        if not matcher.advance(token):
            raise ConstrainError(
                f"the constraint does not allow the output: not token {token} after {matcher.text[-40:]!r}",
                place=f"token {place}",
                fix="pass the constraint that the output was made with",
            )
    return rows


def _shown(handle: Handle, tokens: Sequence[int], log_probs: torch.Tensor, masks: list[Any] | None, top: int) -> Any:
    vocabulary = handle.vocabulary
    texts = readable([vocabulary.to_bytes([token], names=True) for token in tokens])
    for place, (text, token) in enumerate(zip(texts, tokens, strict=True)):
        row = log_probs[place, : vocabulary.size]
        mask = None if masks is None else masks[place]
        best = torch.topk(row, min(top, len(row)))
        others = tuple(
            Alternative(
                vocabulary.to_bytes([other], names=True).decode("utf-8", "replace"),
                math.exp(value),
                None if mask is None else has_bit(mask, other),
                other,
            )
            for value, other in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        )
        allowed, forced = (None, False) if mask is None else _allowed(row, mask)
        yield ShownToken(text, token, math.exp(float(row[token])), allowed, forced, others)


def _allowed(row: torch.Tensor, mask: Any) -> tuple[float, bool]:
    """(the model's mass on what a mask allows, whether that is one token)."""
    bits = torch.from_numpy(np.unpackbits(mask.view(np.uint8), bitorder="little")[: len(row)].astype(np.bool_))
    return float(row[bits].exp().sum()), int(bits.sum()) == 1
