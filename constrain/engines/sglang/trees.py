"""The masks of a tree of drafted tokens.

The idea: SGLang walks a tree in Python, and asks at each token: allowed? accept, fill, deeper, roll back. A matcher
answers for the whole tree in one call. So `install` puts a function before SGLang's, which answers where the grammar is
ours, and calls SGLang's where it is not. Trees with thoughts before an answer
are walked by SGLang, over our grammar.

Rows of tokens that are not allowed, and of ends, keep what they hold, as SGLang's walk leaves them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sglang.srt.speculative import spec_utils

from constrain.engines.sglang.grammar import SGLangGrammar, logger, words_of
from constrain.masks.engine.drafts import fill_draft_masks

MARK = "_hook_of_constrain"


def install() -> None:
    """Answer for trees in this process. A second call changes nothing."""
    original = spec_utils.traverse_tree
    if hasattr(original, MARK):
        return

    @functools.wraps(original)
    def traverse(
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        grammar: Any,
        allocate_token_bitmask: Any,
        *arguments: Any,
        **named: Any,
    ) -> None:
        tree = retrieve_next_token, retrieve_next_sibling, draft_tokens
        if isinstance(grammar, SGLangGrammar):
            fill_tree(*tree, grammar, allocate_token_bitmask)
            return
        inner = getattr(grammar, "grammar", None)
        if isinstance(inner, SGLangGrammar):
            with inner.drafting():
                original(*tree, grammar, allocate_token_bitmask, *arguments, **named)
            return
        original(*tree, grammar, allocate_token_bitmask, *arguments, **named)

    setattr(traverse, MARK, True)
    spec_utils.traverse_tree = traverse


def fill_tree(first_child: Any, next_sibling: Any, tokens: Any, grammar: SGLangGrammar, vocab_mask: Any) -> None:
    """Write the masks of a tree, one row a token.

    Args:
        first_child, next_sibling: int[n] tensors, -1 for none. Token 0 is the root, and was read before.
        tokens: Token ids, int[n].
        grammar: Stands after the root; left as it is.
        vocab_mask: int32[n, words] on the CPU.
    """
    request = grammar.request
    if request.fault or request.ended:
        return
    ids, children, siblings = tokens.tolist(), first_child.tolist(), next_sibling.tolist()
    places, draft, parents = [0], list[int](), list[int]()
    left = [(children[0], -1)]  # tokens, each with the place of its parent in the draft
    while left:
        node, parent = left.pop()
        if node < 0:
            continue
        left.append((siblings[node], parent))
        if 0 <= ids[node] < request.compiled.vocabulary.size:
            left.append((children[node], len(draft)))
            places.append(node)
            draft.append(ids[node])
            parents.append(parent)
    rows = np.zeros((len(places), request.compiled.vocabulary.words), np.uint32)
    try:
        fill_draft_masks(request.matcher, draft, rows, parents=parents)
    except Exception as error:  # the rows stay as they are; a token that is not allowed is found out when it is sampled
        logger.error("constrain: no masks for a draft: %s", error)
        return
    words = words_of(vocab_mask)
    for place, row in zip(places, rows, strict=True):
        if row[row.argmax()]:
            words[place, : len(row)] = row
