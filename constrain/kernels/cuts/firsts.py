"""The tokens with which a text that must follow may go on.

The idea: all ways are tried to cut the text into tokens that may stand behind one another. Tokens that begin with one
text are a range of all tokens in the order of their bytes, so a place of the search is such a range, which a step down
their trie narrows. A cut of a text is unique up to what is still open, so the search visits a place hardly twice.

Records: tables.py. Cost: some 0.1 µs a token that is tried. Reference: tests/languages/cuts/test_forced_texts.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.merging import merge_symbols
from constrain.kernels.cuts.neighbours import stay_apart
from constrain.kernels.cuts.steps import NO_TOKEN, may_end, step_cut
from constrain.kernels.cuts.tables import (
    BEGINS,
    BORDERS,
    CUT,
    FIRSTS,
    GOOD,
    LEAF,
    LEVEL,
    MISSES,
    REFUSED,
    STEP,
    TOKEN,
    TOKEN_TEXTS,
    TOKEN_TRIE,
    UNSURE,
)

TRIED = 8  # tokens that are tried one by one


@kernel("i(arena, i)")
def size_of(F, token):
    """Number of bytes of a token."""
    return TOKEN_TEXTS.STARTS(F, token + 1) - TOKEN_TEXTS.STARTS(F, token)


@kernel("i(arena, i, i)")
def child_of(N, node, b):
    """The child of a node of the trie by a byte, or 0."""
    low, end = TOKEN_TRIE.CHILDREN(N, node), TOKEN_TRIE.CHILDREN(N, node + 1)
    high = end
    while low < high:
        middle = (low + high) // 2
        if TOKEN_TRIE.BYTE(N, middle) < b:
            low = middle + 1
        else:
            high = middle
    return low if low < end and TOKEN_TRIE.BYTE(N, low) == b else np.int64(0)


@kernel("i(arena, i)")
def texts_end(N, node):
    """The index behind the tokens that are the text of a node; it is LOW of what begins with it and goes on."""
    first = TOKEN_TRIE.CHILDREN(N, node)
    return TOKEN_TRIE.LOW(N, first) if first < TOKEN_TRIE.CHILDREN(N, node + 1) else TOKEN_TRIE.HIGH(N, node)


@kernel("i(arena, arena, i, i)")
def enter(N, Q, level, at):
    """Make a LEVEL ready whose place is written, before the byte `at`. Returns it.

    The tokens that the rest of the text begins with are put on a stack, the longest on top.
    """
    node, length, low, high = np.int64(0), np.int64(0), np.int64(0), TOKEN_TRIE.HIGH(N, 0)
    Q[level + LEVEL.AT], Q[level + LEVEL.TOKENS] = at, Q[FIRSTS.TOP]
    while low < high and at + length < Q[FIRSTS.LENGTH]:
        node = child_of(N, node, np.int64(Q[FIRSTS.TEXT + at + length]))
        if node == 0:
            low = high
            break
        length += 1
        low, high = TOKEN_TRIE.LOW(N, node), TOKEN_TRIE.HIGH(N, node)
        while low < texts_end(N, node):
            Q[Q[FIRSTS.TOP]] = TOKEN_TRIE.TOKENS(N, low)
            Q[FIRSTS.TOP] += 1
            low += 1
    Q[level + LEVEL.LONGER], Q[level + LEVEL.HIGH] = low, low if Q[FIRSTS.IS_END] else high
    return level


@kernel("i(arena, arena, arena, arena, arena, row, arena, i, i, i)")
def step_token(P, F, T, M, slots, written, Q, level, token, is_last):
    """Write the place behind a token to the next LEVEL. Returns a verdict, UNSURE of tokens that the tables do not say
    enough of. written: the tokens that a tokenizer writes. is_last: 1 if no place behind the token is asked for."""
    unknown = TOKEN_TEXTS.UNKNOWN(F, token)
    if unknown != 0 and unknown != BEGINS:
        return UNSURE
    if (written[token >> 5] >> np.uint32(token & 31)) & np.uint32(1) == 0:
        return REFUSED
    last = np.int64(Q[level + LEVEL.CUT + CUT.LAST])
    joins = 1 if last >= 0 and not stay_apart(T, M, slots, last, token) else 0
    kind = step_cut(P, F, T, Q, level + LEVEL.CUT, level + LEVEL.WORDS + LEVEL.CUT, token, joins)
    return UNSURE if kind == GOOD and unknown != 0 and is_last == 0 else kind


@kernel("i(arena, arena, i)")
def read_rest(P, Q, level):
    """Tell if a token may begin with the rest of the text and go on: GOOD, or REFUSED, where a piece ends within it, or
    one that must end before it does not; or MISSES."""
    p, owed = np.int64(Q[level + LEVEL.CUT + CUT.PIECES]), np.int64(Q[level + LEVEL.CUT + CUT.OWED])
    ends = np.int64(Q[level + LEVEL.CUT + CUT.ENDS]) | 1
    for at in range(Q[level + LEVEL.AT], Q[FIRSTS.LENGTH]):
        entry = p * 256 + Q[FIRSTS.TEXT + at]
        p = BORDERS.NEXT(P, entry)
        if p < 0:
            Q[FIRSTS.EXPAND] = entry >> 8
            return MISSES
        borders, opened = BORDERS.ENDED(P, entry), BORDERS.OPEN(P, p)
        ends, owed = ends << 1, owed << 1
        if p == 0 or borders & ~ends != 0 or owed & ~(borders | opened) != 0:
            return REFUSED
        ends, owed = ends & opened, owed & opened
    return GOOD


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena, i, row)")
def step_longer(P, F, T, M, slots, written, N, Q, level, mask):
    """Try the next of the tokens that begin with the rest of the text and are longer, until one is GOOD.

    mask: the tokens that are tried; all, where it is empty. Returns GOOD or MISSES; after the last NO_TOKEN, or UNSURE
    if one was so, which counts in Q[FIRSTS.UNSURE].
    """
    kind = read_rest(P, Q, level) if Q[level + LEVEL.HIGH] - Q[level + LEVEL.LONGER] > TRIED else GOOD
    if kind != GOOD:
        return np.int64(NO_TOKEN) if kind == REFUSED else kind
    unsure = Q[FIRSTS.UNSURE]
    while Q[level + LEVEL.LONGER] < Q[level + LEVEL.HIGH]:
        Q[level + LEVEL.LONGER] += 1
        token = TOKEN_TRIE.TOKENS(N, Q[level + LEVEL.LONGER] - 1)
        if mask.size > 0 and (mask[token >> 5] >> np.uint32(token & 31)) & np.uint32(1) == 0:
            continue
        kind = step_token(P, F, T, M, slots, written, Q, level, token, 1)
        if kind == UNSURE:  # another one may settle the question
            Q[FIRSTS.UNSURE] += 1
        elif kind != REFUSED:
            return kind
    return np.int64(NO_TOKEN if Q[FIRSTS.UNSURE] == unsure else UNSURE)


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena, arena, row)")
def find_longer(P, F, T, M, slots, written, N, Q, found, mask):
    """Write the tokens that begin with the text and are longer behind those within it, until they are enough. mask: as
    for `step_longer`. Returns GOOD, UNSURE or MISSES."""
    first, kind, unsure = np.int64(FIRSTS.LEVELS) + np.int64(Q[FIRSTS.LENGTH]), np.int64(GOOD), Q[FIRSTS.UNSURE]
    while kind == GOOD and Q[FIRSTS.BEYOND] < Q[FIRSTS.MOST]:
        kind = np.int64(step_longer(P, F, T, M, slots, written, N, Q, first, mask))
        if kind == GOOD:
            found[Q[FIRSTS.WITHIN] + Q[FIRSTS.BEYOND]] = TOKEN_TRIE.TOKENS(N, Q[first + LEVEL.LONGER] - 1)
            Q[FIRSTS.BEYOND] += 1
    return np.int64(GOOD if Q[FIRSTS.UNSURE] == unsure else UNSURE) if kind == NO_TOKEN else kind


@kernel("i(arena, arena)")
def begin_text(N, Q):
    """Make the first LEVEL of a text ready. Returns it."""
    Q[FIRSTS.WITHIN], Q[FIRSTS.BEYOND] = 0, 0
    Q[FIRSTS.TOP] = FIRSTS.LEVELS + Q[FIRSTS.LENGTH] + (Q[FIRSTS.LENGTH] + 2) * LEVEL.WORDS
    return enter(N, Q, np.int64(FIRSTS.LEVELS) + np.int64(Q[FIRSTS.LENGTH]), 0)


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena, arena, row)", entry=True)
def longer_tokens(P, F, T, M, slots, written, N, Q, found, mask):
    """Write the tokens of a mask that begin with the text and are longer to `found`.

    Returns GOOD, UNSURE or MISSES, as `first_tokens` does. Q[FIRSTS.BEYOND] counts them.
    """
    begin_text(N, Q)
    return find_longer(P, F, T, M, slots, written, N, Q, found, mask)


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena, arena)", entry=True)
def first_tokens(P, F, T, M, slots, written, N, Q, found):
    """Write the tokens that may come next to `found`: those within the text (FIRSTS), then longer ones.

    Returns GOOD; UNSURE, where the tables do not say enough of a token; or MISSES: FIRSTS.EXPAND. Q[FIRSTS.WITHIN] and
    Q[FIRSTS.BEYOND] count them.
    """
    first = begin_text(N, Q)
    level, chosen, left = first, np.int64(NO_TOKEN), np.int64(Q[FIRSTS.TOP])
    while level != first or left > Q[first + LEVEL.TOKENS]:
        if level == first:
            left -= 1
            Q[FIRSTS.TOP] = left
            chosen = np.int64(Q[left])
            at = size_of(F, chosen)
            is_last = 1 if at == Q[FIRSTS.LENGTH] and Q[FIRSTS.IS_END] == 0 else 0
            kind = step_token(P, F, T, M, slots, written, Q, level, chosen, is_last)
        elif Q[FIRSTS.TOP] > Q[level + LEVEL.TOKENS]:
            Q[FIRSTS.TOP] -= 1
            token = np.int64(Q[Q[FIRSTS.TOP]])
            at = np.int64(Q[level + LEVEL.AT]) + size_of(F, token)
            is_last = 1 if at == Q[FIRSTS.LENGTH] and Q[FIRSTS.IS_END] == 0 else 0
            kind = step_token(P, F, T, M, slots, written, Q, level, token, is_last)
        else:
            kind, at = step_longer(P, F, T, M, slots, written, N, Q, level, written[:0]), np.int64(Q[FIRSTS.LENGTH])
        if kind == NO_TOKEN:
            level -= LEVEL.WORDS
        elif kind > GOOD:
            return kind
        elif kind == GOOD and at < Q[FIRSTS.LENGTH]:
            level = enter(N, Q, level + LEVEL.WORDS, at)
        elif kind == GOOD and (Q[FIRSTS.IS_END] == 0 or may_end(P, Q, level + LEVEL.WORDS + LEVEL.CUT)):
            found[Q[FIRSTS.WITHIN]] = chosen
            Q[FIRSTS.WITHIN] += 1
            level = first
    return find_longer(P, F, T, M, slots, written, N, Q, found, written[:0])


@kernel("i(arena, arena, arena, arena, arena, arena, i)")
def merge_piece(T, M, slots, N, Q, W, size):
    """Write the tokens that a tokenizer writes for the first bytes of the text, a piece, to W, of 2 size words.

    Returns how many; 0 where it may not be those of merging alone, or where the symbols are not the bytes.
    """
    node = np.int64(0)
    for k in range(size):
        b = np.int64(Q[FIRSTS.TEXT + k])
        symbol = child_of(N, np.int64(0), b)
        if b >= 0x80 or symbol == 0 or texts_end(N, symbol) - TOKEN_TRIE.LOW(N, symbol) != 1:
            return np.int64(0)
        W[k] = TOKEN_TRIE.TOKENS(N, TOKEN_TRIE.LOW(N, symbol))
        if T[W[k] * TOKEN.WORDS + TOKEN.LEFT] != LEAF:
            return np.int64(0)
        node = child_of(N, node, b) if k == 0 or node != 0 else np.int64(0)
    wholes = texts_end(N, node) - TOKEN_TRIE.LOW(N, node) if node != 0 else np.int64(0)
    if wholes == 0:
        return np.int64(merge_symbols(M, slots, W, size))
    W[0] = TOKEN_TRIE.TOKENS(N, TOKEN_TRIE.LOW(N, node))
    return np.int64(1 if wholes == 1 and T[W[0] * TOKEN.WORDS + TOKEN.ALONE] != 0 else 0)


@kernel("i(arena, arena, arena, arena, arena, arena, i, arena)")
def cut_piece(P, T, M, slots, N, Q, level, W):
    """Write the tokens of the first piece of the text to W, where the text settles both of its borders. Returns how
    many; 0 where that is not sure.

    PERF: then no other way has to be tried: no token goes on over a border, and merging cuts a piece in one way.
    """
    p = np.int64(Q[level + LEVEL.CUT + CUT.PIECES])
    settled, size = np.int64(1 if Q[level + LEVEL.CUT + CUT.LAST] < 0 else 0), 1
    if BORDERS.OPEN(P, p) & ~1 != 0:
        return np.int64(0)
    for read in range(1, min(np.int64(Q[FIRSTS.LENGTH]), 30) + 1):
        entry = p * 256 + Q[FIRSTS.TEXT + read - 1]
        p = BORDERS.NEXT(P, entry)
        if p <= 0:
            return np.int64(0)
        settled, opened = settled << 1 | BORDERS.ENDED(P, entry), BORDERS.OPEN(P, p)
        if (opened >> read) & 1 != 0:
            continue
        if (settled >> read) & 1 == 0:
            return np.int64(0)
        while size <= read and (opened >> (read - size)) & 1 == 0:
            if (settled >> (read - size)) & 1 != 0:
                return merge_piece(T, M, slots, N, Q, W, size)
            size += 1
    return np.int64(0)


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena, arena)", entry=True)
def token_run(P, F, T, M, slots, written, N, Q, run):
    """Write the tokens of a text that must follow to `run`, as far as borders of pieces settle them: a STEP each.

    run: a STEP for each byte of the text and one more, of which the first has the place before it; the text. Q has the
    most bytes to look at for a token, and where to stop. Returns how many tokens were found.
    """
    most, text = np.int64(Q[FIRSTS.LENGTH]), run[run.size - Q[FIRSTS.SIZE] :]
    at, step, count = np.int64(0), np.int64(0), np.int64(1)
    while count > 0 and at < text.size and at <= max(np.int64(0), np.int64(Q[FIRSTS.STOP])):
        length = min(most, text.size - at)
        Q[FIRSTS.LENGTH] = length
        first = FIRSTS.LEVELS + length
        for k in range(length):
            Q[FIRSTS.TEXT + k] = text[at + k]
        for w in range(CUT.WORDS):
            Q[first + LEVEL.CUT + w] = run[step + STEP.CUT + w]
        W = Q[first + 2 * LEVEL.WORDS :]
        pieces = cut_piece(P, T, M, slots, N, Q, first, W)
        count = np.int64(0)
        while count < pieces and at <= max(np.int64(0), np.int64(Q[FIRSTS.STOP])):
            token = np.int64(W[count])
            if step_token(P, F, T, M, slots, written, Q, first, token, 0) != GOOD:
                break
            run[step + STEP.TOKEN] = token
            step += STEP.WORDS
            for w in range(CUT.WORDS):
                run[step + STEP.CUT + w] = Q[first + LEVEL.CUT + w] = Q[first + LEVEL.WORDS + LEVEL.CUT + w]
            at += size_of(F, token)
            count += 1
    return step // STEP.WORDS


@kernel("i(arena, arena, arena, arena, arena, row, arena, arena)", entry=True)
def read_cuts(P, F, T, M, slots, written, Q, tokens):
    """Read tokens from the place of the LEVEL behind the FIRSTS in Q, and write the place behind them there. Returns
    how many were read: up to the first that is not GOOD."""
    level = np.int64(FIRSTS.LEVELS)
    for i in range(tokens.size):
        if step_token(P, F, T, M, slots, written, Q, level, np.int64(tokens[i]), 0) != GOOD:
            return i
        for w in range(CUT.WORDS):
            Q[level + LEVEL.CUT + w] = Q[level + LEVEL.WORDS + LEVEL.CUT + w]
    return tokens.size
