"""`constrain.compile`: a constraint for a vocabulary, as far as its tokens can write it.

Masks are exact in bytes: a token is allowed if its bytes begin some member. Where every byte is a token, that member
can be written. Where some have none, it may be that no tokens spell the rest; so the constraint is cut down first to
the texts over the characters of tokens (writable.py), and, where a character is part of longer tokens only, masks ask
whether tokens complete the text (spelled.py). Then a token is allowed exactly if tokens can complete the text.

Limit: what neither finds is as in the engine, exact in bytes.

Cost: nothing for a vocabulary with all bytes; else see writable.py, once for each constraint, and spelled.py.
"""

from __future__ import annotations

from constrain.errors import ConstrainError
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import within_stack
from constrain.masks.completion.writable import Writable, written
from constrain.masks.engine import CompiledConstraint, compile_bytewise
from constrain.masks.engine.automaton import TokenAutomaton


def compile(  # noqa: A001
    constraint: Constraint, vocabulary: Vocabulary, *, automaton: TokenAutomaton | None = None, rehearse: bool = False
) -> CompiledConstraint:
    """Compile a constraint for a vocabulary.

    Args:
        constraint: The constraint: `json_schema(...)`, `regex(...)`, `grammar(...)`, `choices([...])`, ...
        vocabulary: The bytes of every token id. Where some bytes are no token, texts that the tokens cannot write are
            left out of the constraint.
        automaton: Holds the states. Default: one of the two that all constraints on the vocabulary share in turn, with
            256 MiB at most each. Pass `TokenAutomaton(vocabulary, budget=...)` for a budget of its own.
        rehearse: Make the masks that a likely text of a JSON Schema needs, some milliseconds: for a constraint that is
            compiled ahead of its requests. Masks are the same without it.

    Returns:
        The compiled constraint. Equal constraints share their states. Cost: usually under 1 ms.

    Raises:
        UnsatisfiableError: No text fulfils the constraint, or the tokens can write none.
        LimitError: A stated limit was reached.
        VocabularyError: The constraint mentions a token (`constrain.token`) that the vocabulary lacks, or that ends
            the text.
        ConstrainError: An argument has the wrong type, or the constraint itself is faulty (SchemaError, GrammarError,
            RegexError).

    Example:
        >>> import constrain
        >>> compiled = constrain.compile(constrain.regex("a|b"), constrain.Vocabulary.of_bytes())
        >>> matcher = compiled.matcher()
        >>> [chr(byte) for byte in range(256) if matcher.allows(byte)]
        ['a', 'b']
    """
    if not isinstance(rehearse, bool):
        raise ConstrainError(f"rehearse={rehearse!r:.60} is not True or False", place="rehearse", fix="rehearse=True")
    with within_stack("the constraint"):
        if isinstance(constraint, Constraint) and isinstance(vocabulary, Vocabulary):
            constraint = written(constraint, vocabulary)
        compiled = compile_bytewise(constraint, vocabulary, automaton=automaton)
        if Writable.of(vocabulary).by_token:
            from constrain.masks.completion.spelled import spelled

            compiled = spelled(compiled)
        if rehearse:
            from constrain.masks.completion.rehearsal import rehearse as read_ahead

            read_ahead(compiled)
        return compiled
