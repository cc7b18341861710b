"""The masks that a model needs to verify drafted tokens, in one call.

The idea: a reader goes over the tree of drafted tokens, and takes back what two paths do not share. The order of the
tokens does not matter, but depth first takes the fewest steps.
Cost: `fill_mask` for each token, `advance` for each token that is read; both are look-ups once they are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from constrain.errors import ConstrainError
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.narrowed import Narrowed
from constrain.masks.engine.rows import Rows, shared_array


def fill_draft_masks(
    matcher: Matcher | Narrowed, draft: Sequence[int], out: Rows, *, parents: Sequence[int] | None = None
) -> int:
    """Write the masks of a matcher and of its continuations by each token of a draft.

    Row 0 is the mask of the matcher, row 1 + i the mask after `draft[i]`, for which the tokens on its path from the
    root are read. After a token that is not allowed no token is: its row, and those of its descendants, are zero.

    Args:
        matcher: Stands where the draft begins. It is left unchanged.
        draft: n token ids.
        out: uint32[>= n + 1, >= ceil(V / 32)], C-contiguous and writable, as for `fill_masks`.
        parents: A tree: `parents[i] < i` is the position in `draft` of the token before `draft[i]`; -1: it follows
            what the matcher has read. Default: a chain, every token follows the one before it.

    Returns:
        How many tokens of the draft are allowed.

    Raises:
        ConstrainError: `out` is too small or has another dtype, an id is not in the vocabulary, or a parent does not
            stand before its child.
        LimitError: A mask does not fit into the automaton's memory.

    Example:
        >>> import constrain, numpy as np
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None], eos_ids=[2])
        >>> matcher = constrain.compile(constrain.regex("ab?"), vocabulary).matcher()
        >>> rows = np.zeros((4, vocabulary.words), np.uint32)
        >>> constrain.fill_draft_masks(matcher, [0, 1, 0], rows)
        2
        >>> [f"{row:03b}" for row in rows[:, 0]]
        ['001', '110', '100', '000']
    """
    if not isinstance(matcher, Matcher | Narrowed):
        raise ConstrainError(f"matcher is {matcher!r:.60}", place="matcher", fix="pass compiled.matcher()")
    out, draft = shared_array(out), list(draft)
    before = list(range(-1, len(draft) - 1)) if parents is None else list(parents)
    if len(before) != len(draft) or not all(-1 <= parent < i for i, parent in enumerate(before)):
        raise ConstrainError("parents[i] is the place in the draft of a token before draft[i], or -1")
    if not isinstance(out, np.ndarray) or out.ndim != 2 or len(out) <= len(draft):
        raise ConstrainError(f"a draft of {len(draft)} tokens needs a mask array with {len(draft) + 1} rows")
    reader = matcher.fork()
    read: list[int] = []  # the positions in the draft of what the reader has read
    reader.fill_mask(out[0])
    paths: list[list[int] | None] = [[]]  # to the root, and to each token; None: not allowed
    for i, parent in enumerate(before):
        path = paths[1 + parent]
        if path is not None:
            path = [*path, i]
            common = next((k for k, (one, two) in enumerate(zip(read, path, strict=False)) if one != two), len(read))
            reader.rollback(len(read) - common)
            taken = reader.advance_tokens([draft[position] for position in path[common:]])
            read = path[: common + taken]
        if path is None or len(read) < len(path):
            paths.append(None)
            out[1 + i] = 0
        else:
            paths.append(path)
            reader.fill_mask(out[1 + i])
    return sum(path is not None for path in paths) - 1
