"""`ConstraintProcessor`: a constraint inside the generation loops of transformers.

The idea: the processor is *addressed by prefix*. Each call shows the rows of token ids so far; a row's state is found
from the longest prefix that it shares with a row of the call before, by rolling a matcher back and advancing it.
Nothing is assumed about how rows follow each other, so it holds under

* sampling and greedy search: a row grows by a token;
* beam search: rows are permuted, dropped and repeated (a repeated row forks the matcher);
* prompt lookup and assistant models: drafts are shown token by token, by the drafter and again by the verifier, then
  cut back to what was accepted, and the scores passed in may be the caller's to keep (never written to).

At the end of a text it offers the ids at which the loop stops, which need not be the tokenizer's (endings.py).

A row that has left the language — a draft that is about to be rejected, padding after the end — is passed on as it is.
Cost: a call advances and rolls back only what changed; comparing prefixes is linear, at the speed of comparing lists.

Prompts are learnt from the first call of a generation. Another `model.generate` is another generation: it makes a
configuration of its own, which is found on the stack, so a prompt that continues the last output is a prompt.

Limit: what a row may hide in loops that are not of transformers. There a row is one token longer than some row seen
before (or no longer). A row that is longer by several tokens *and* illegal is hence another text, not a draft: with
prompt lengths learnt that is an error; if it is legal, it counts as the output so far. Call `reset()` between two
generations of such a loop, or give `prompt_lengths` to have any row judged as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import LogitsProcessor

from constrain.engines.endings import Endings, call_of_caller, endings_of, ids_in, stops_of_caller
from constrain.errors import ConstrainError
from constrain.languages.constraints.base import refuse_tempered
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.derived.wanted_cuts import narrowed
from constrain.sampling.bitmask.apply import apply_bitmask_
from constrain.sampling.bitmask.buffer import MaskBuffer
from constrain.sampling.core.job import Compiled


class ConstraintProcessor(LogitsProcessor):
    """Masks the scores of every row to what a constraint allows.

    One processor serves one `model.generate` call at a time. Between two generations of a loop that is not of
    transformers, call `reset()` when prompt lengths are learnt and the next prompt continues the last output.

    Args:
        compiled: A compiled constraint for all rows, or one for each prompt. With B rows for N prompts, row i belongs
            to prompt i // (B // N), as transformers lays out beams and returned sequences.
        prompt_lengths: The length of the prompts in tokens, padding included: one number, or one for each prompt. By
            default learnt from the first call, and learnt anew when rows do not start with the known prompts.
        eos_token_id: The ids at which the loop stops; by default those of the `model.generate` that calls, and in other
            loops those of the constraint's vocabulary.
        canonical: Where only tokens count that the tokenizer itself would write. None: where the text is forced, if the
            vocabulary was read from a tokenizer that is understood; True: everywhere, or it is an error; False:
            nowhere.

    Attributes:
        cuts (str): "forced", "canonical", or "all" and why.

    Raises:
        ConstrainError: `compiled` holds no compiled constraints, or some for vocabularies of different sizes; canonical
            tokens are wanted and not possible.

    Example:
        >>> import constrain
        >>> model, tokenizer = (ref := constrain.reference.load()).model, ref.tokenizer
        >>> vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
        >>> processor = ConstraintProcessor(constrain.compile(constrain.regex("[0-9]{3}"), vocabulary))
        >>> ids = tokenizer("A number: ", return_tensors="pt").input_ids
        >>> output = model.generate(ids, logits_processor=[processor], do_sample=False, max_new_tokens=9)
        >>> len(tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True))
        3
    """

    def __init__(
        self,
        compiled: Any,
        prompt_lengths: int | Sequence[int] | None = None,
        *,
        eos_token_id: int | Sequence[int] | None = None,
        canonical: bool | None = None,
    ) -> None:
        given: list[Any] = list(compiled) if isinstance(compiled, (list, tuple)) else [compiled]
        if not given or not all(isinstance(each, Compiled) for each in given):
            raise ConstrainError(
                "ConstraintProcessor takes a compiled constraint, or a list with one for each prompt",
                fix="compile the constraint first: constrain.compile(constraint, vocabulary)",
            )
        for each in given:
            refuse_tempered(each, "generate of transformers")
        sizes = {each.vocabulary.size for each in given}
        if len(sizes) > 1:
            raise ConstrainError(f"the constraints are compiled for vocabularies of different sizes: {sorted(sizes)}")
        self.size: int = sizes.pop()
        self.compiled, self.cuts = narrowed(given, canonical)
        self._stops = None if eos_token_id is None else ids_in(eos_token_id)
        self._endings: tuple[frozenset[int] | None, Endings] | None = None
        self._given = None if prompt_lengths is None else np.atleast_1d(np.asarray(prompt_lengths)).tolist()
        self.reset()

    def reset(self) -> None:
        """Forget all rows, and prompts that were learnt."""
        self._prompts: torch.Tensor | None = None  # int64[B, P], learnt
        self._cursors: list[_Cursor] = []  # row i of the last call
        self._masks: MaskBuffer | None = None
        self._call: object | None = None  # the `model.generate` that the rows are of

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, float[B, W], with -inf for what is not allowed after rows input_ids, int64[B, T]; a new tensor.

        raises: ConstrainError when no token is allowed, a row cannot belong to the generation seen so far, or the loop
          that calls stops nowhere where a text may end
        """
        endings = self._known_endings(stops_of_caller() if self._stops is None else self._stops)
        if scores.shape[-1] < self.size:
            raise ConstrainError(
                f"the model gives {scores.shape[-1]} logits for a vocabulary of {self.size} tokens",
                fix="compile the constraint for a Vocabulary of the model's own tokenizer",
            )
        if self._given is None:
            call = call_of_caller()
            if call is not self._call:
                self.reset()
                self._call = call
            self._learn(input_ids)
        rows = len(input_ids)
        known, self._cursors = self._cursors, []
        for row, tokens in enumerate(self._outputs(input_ids)):
            self._cursors.append(self._follow(row, rows, tokens, known, endings))
        masked = [row for row, cursor in enumerate(self._cursors) if cursor.is_open()]
        result = scores.clone()
        if masked:
            if self._masks is None or self._masks.rows < len(masked) or self._masks.device != scores.device:
                self._masks = MaskBuffer(rows, self.size, scores.device)
            bitmask = self._masks.fresh(len(masked))
            for place, row in enumerate(masked):
                self._cursors[row].matcher.fill_mask(bitmask[place])
                self._cursors[row].endings.write(bitmask[place])
                if not bitmask[place].any():
                    raise ConstrainError(
                        "the constraint allows no token, not even the end of the text",
                        place=f"row {row}, token {len(self._cursors[row].ids)} of the output",
                        fix="this is a dead end: relax the constraint, or generate again",
                    )
            apply_bitmask_(result, self._masks.send(), self.size, rows=masked)
        return result

    def _known_endings(self, stops: frozenset[int] | None) -> Endings:
        """The meaning of the loop's ids. Another loop may stop elsewhere: then rows are read anew."""
        if self._endings is None or self._endings[0] != stops:
            self._endings = stops, endings_of(self.compiled[0].vocabulary, stops)
            self._cursors = []
        return self._endings[1]

    def _learn(self, input_ids: torch.Tensor) -> None:
        """The first call shows the prompts; rows that do not start with them start another generation."""
        prompts = self._prompts
        if prompts is not None:
            length = prompts.shape[1]
            same = input_ids.shape[0] == prompts.shape[0] and input_ids.shape[1] >= length
            if same and torch.equal(input_ids[:, :length], prompts.to(input_ids.device)):
                return
            self._cursors = []
        self._prompts = input_ids.clone()

    def _outputs(self, input_ids: torch.Tensor) -> list[list[int]]:
        """The generated part of every row."""
        if self._prompts is not None:
            return input_ids[:, self._prompts.shape[1] :].tolist()
        given = self._given or [0]
        lengths = [given[self._group(row, len(input_ids), len(given))] for row in range(len(input_ids))]
        return [tokens[length:] for tokens, length in zip(input_ids.tolist(), lengths, strict=True)]

    def _group(self, row: int, rows: int, groups: int) -> int:
        """The prompt that a row belongs to, or the only one."""
        if rows % groups:
            raise ConstrainError(
                f"{rows} rows cannot be shared out among {groups} prompts",
                fix="give one constraint (and one prompt length), or one for each prompt of the batch",
            )
        return row // (rows // groups)

    def _follow(self, row: int, rows: int, tokens: list[int], known: list[_Cursor], endings: Endings) -> _Cursor:
        """A cursor at the end of a row, made from the known one that shares the longest prefix with it."""
        group = self._group(row, rows, len(self.compiled))
        best, shared = None, -1
        nearby = known[row : row + 1]
        for cursor in [*nearby, *known]:
            if cursor.group == group and (common := cursor.common(tokens)) > shared:
                best, shared = cursor, common
                if shared >= len(tokens) - 1:
                    break
        if best is None:
            best = self._begin(group, endings)
            shared = 0
        elif best in self._cursors:  # another row of this call has moved it
            best = best.fork()
        best.move(tokens)
        if best.refused and len(tokens) - shared > 1 and self._given is None:
            raise ConstrainError(
                f"row {row} goes on by {len(tokens) - shared} tokens that were never shown, and leaves the constraint",
                place=f"row {row}, token {len(best.ids)} of the output",
                fix="use a new ConstraintProcessor for each generate call, or call reset(), or give prompt_lengths",
            )
        return best

    def _begin(self, group: int, endings: Endings) -> _Cursor:
        """A cursor at the beginning of an output."""
        compiled = self.compiled[group]
        if endings.text and isinstance(compiled, CompiledCuts):  # that text may be in a text's own cut
            matcher = compiled.matcher(eos_ids=endings.stops)
            return _Cursor(matcher, group, self.size, Endings(tuple(endings.stops), endings.stops))
        return _Cursor(compiled.matcher(), group, self.size, endings)


class _Cursor:
    """A matcher that has read `ids`; `refused` are the row's tokens from the first that it would not take.

    group: the constraint it belongs to. size: tokens of its vocabulary; the padding ids of a model are beyond it.
    endings: the ids that end its text
    """

    def __init__(self, matcher: Any, group: int, size: int, endings: Endings) -> None:
        self.matcher = matcher
        self.group = group
        self.size = size
        self.endings = endings
        self.ids: list[int] = []
        self.refused: list[int] = []

    def common(self, tokens: list[int]) -> int:
        """Length of the longest common prefix of what was seen and a row."""
        return _common_prefix([*self.ids, *self.refused] if self.refused else self.ids, tokens)

    def fork(self) -> _Cursor:
        twin = _Cursor(self.matcher.fork(), self.group, self.size, self.endings)
        twin.ids, twin.refused = list(self.ids), list(self.refused)
        return twin

    def move(self, tokens: list[int]) -> None:
        """Read a row instead."""
        shared = _common_prefix(self.ids, tokens)
        if shared < len(self.ids):
            self.matcher.rollback(len(self.ids) - shared)
            del self.ids[shared:]
        for place in range(shared, len(tokens)):
            if not (0 <= tokens[place] < self.size and self.matcher.advance(self.endings.read(tokens[place]))):
                break
            self.ids.append(tokens[place])
        self.refused = tokens[len(self.ids) :]

    def is_open(self) -> bool:
        """The row is in the language so far and has not ended: its scores are to be masked."""
        ended = self.ids and (self.ids[-1] in self.endings.stops or self.ids[-1] in self.endings.own)
        return not self.refused and not ended


def _common_prefix(left: list[int], right: list[int]) -> int:
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:
        return limit
    low, high = 0, limit  # the answer is in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
