"""The most probable member of a regular language, where each position has a distribution of its own.

Not measured beside policies: tests hold it to the list of all texts of the language.

    likeliest_member(node, vocabulary, log_probabilities)

The idea (Suresh et al., "DINGO: Constrained Inference for Diffusion LLMs", arXiv 2505.23061): Viterbi over pairs of a
position and a state of the automaton of tokens. Tokens whose bytes are lexed alike lead from a state to the same
state, so of each class word only the likeliest token counts.

Cost: positions x states x class words, in numpy.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from constrain.errors import UnsatisfiableError
from constrain.gaps.lexer import LexerTable
from constrain.languages.automata.syntax import Node
from constrain.languages.vocab.vocabulary import Vocabulary


class _TokenAutomaton:
    """The automaton of a language over tokens. after: int64[states, words]; the last state is dead."""

    def __init__(self, node: Node, vocabulary: Vocabulary) -> None:
        lexer = LexerTable([node])
        texts = [(token, text) for token, text in enumerate(vocabulary.tokens) if text]
        words: dict[tuple[int, ...], list[int]] = {}
        for token, text in texts:
            words.setdefault(lexer.class_word(text), []).append(token)
        moves = lexer.moves.reshape(-1, lexer.n_classes).astype(np.int64)
        dead = len(moves)
        moves = np.concatenate([np.where(moves < 0, dead, moves), np.full((1, lexer.n_classes), dead)])
        columns = []
        for word in words:
            states = np.arange(dead + 1)
            for c in word:
                states = moves[states, c]
            columns.append(states)
        after = np.stack(columns, axis=1) if columns else np.zeros((dead + 1, 0), np.int64)
        self.accepting = np.concatenate([lexer.kinds == 1, [False]])
        self.nullable = bool(self.accepting[1]) if dead > 1 else False  # state 1 is the start behind the FRESH one
        self.members = [np.array(tokens) for tokens in words.values()]
        self.after, self.start, self.dead = after, 0, dead


@lru_cache(maxsize=16)
def _automaton(node: Node, vocabulary: Vocabulary) -> _TokenAutomaton:
    return _TokenAutomaton(node, vocabulary)


def likeliest_member(node: Node, vocabulary: Vocabulary, scores: NDArray[np.float64]) -> list[int]:
    """The tokens of a member with the greatest sum of scores.

    Args:
        node: The language.
        vocabulary: The tokens. If it has an EOS, a text may end early; all later positions are EOS then.
        scores: float64[n, V], the logarithm of each token's probability at each position; -inf: not possible.

    Returns:
        n tokens.

    Raises:
        UnsatisfiableError: No member fits.

    Source:
        Suresh et al., arXiv 2505.23061.

    Example:
        >>> import numpy as np
        >>> from constrain import Vocabulary
        >>> from constrain.languages.constraints.regular import regex
        >>> from constrain.papers.diffusion import likeliest_member
        >>> likes_b = np.log([[0.2, 0.7, 0.1], [0.1, 0.8, 0.1]])
        >>> likeliest_member(regex("a*b?").node, Vocabulary([b"a", b"b", None], [2]), likes_b)
        [0, 1]
    """
    automaton = _automaton(node, vocabulary)
    n, states = len(scores), automaton.dead + 1
    eos = vocabulary.eos_ids[0] if vocabulary.eos_ids else None
    best = np.full(states, -np.inf)
    best[automaton.start] = 0.0
    tails = np.zeros(n + 1)  # the score of EOS from a position on
    if eos is not None:
        tails[:n] = np.cumsum(scores[::-1, eos])[::-1]
    came: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    chosen, ended = -np.inf, (-1, -1)
    likeliest = np.zeros((n, len(automaton.members)), np.int64)
    for position in range(n + 1):
        for state in np.flatnonzero(best > -np.inf).tolist():
            is_end = automaton.accepting[state] or (state == automaton.start and automaton.nullable)
            if is_end and (eos is not None or position == n) and best[state] + tails[position] > chosen:
                chosen, ended = float(best[state] + tails[position]), (position, state)
        if position == n:
            break
        for word, tokens in enumerate(automaton.members):
            likeliest[position, word] = tokens[np.argmax(scores[position, tokens])]
        gains = scores[position, likeliest[position]]
        totals = best[:, None] + gains[None, :]
        flat, targets = totals.ravel(), automaton.after.ravel()
        order = np.argsort(flat, kind="stable")
        following, source = np.full(states, -np.inf), np.full(states, -1)
        following[targets[order]] = flat[order]  # the last write wins, and it is the greatest
        source[targets[order]] = order
        following[automaton.dead] = -np.inf
        came.append((source // max(1, len(automaton.members)), source % max(1, len(automaton.members))))
        best = following
    if ended[0] < 0:
        raise UnsatisfiableError(
            f"no text of the language fits {n} tokens with these scores",
            fix="use more or fewer tokens, or allow an EOS",
        )
    position, state = ended
    tokens_found = [] if eos is None else [eos] * (n - position)
    while position > 0:
        position -= 1
        word = int(came[position][1][state])
        state = int(came[position][0][state])
        tokens_found.append(int(likeliest[position, word]))
    eos_count = n - ended[0]
    return tokens_found[eos_count:][::-1] + tokens_found[:eos_count]
