"""Look-ahead of canonical tokens: after which tokens a constraint still has a canonical completion.

The idea: a token is *good* if the text may end after it, or a byte may follow that joins no token before it, since from
there on any text has a cut. It is *refused* if every byte that may follow begins only tokens that do not stay beside
it. Where neither is known, the same is asked of the few tokens that may come next; what is left is unsure, and Python
looks on (papers/cuts/canonical.py).

Which bytes join is told by the state of the pieces and by a row of two bitmaps for each token (AFTER_TOKEN), made when
it is asked for: a kernel that misses one says so, and is called again.

Does not pay, as the cuts that it serves (docs/how-good.md).
Records: records.py. Cost: some 0.1 µs a token, most of it for the step of the configuration.
Reference: tests/papers/cuts/test_canonical_lookahead.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.cuts.neighbours import stay_apart
from constrain.kernels.cuts.steps import may_end, step_cut
from constrain.kernels.cuts.tables import BORDERS, GOOD, MISSES, REFUSED, TOKEN, UNSURE
from constrain.kernels.lexer.derivatives import step
from constrain.kernels.lexer.states import tags
from constrain.kernels.masks.common.slices import text_part
from constrain.kernels.masks.dynamic.differences import looping_reference
from constrain.kernels.masks.fill import mask
from constrain.kernels.parser.advance import STATE, advance
from constrain.kernels.parser.configurations import accepts, peek_configuration, step_configuration
from constrain.kernels.records.arena import HEADER, NO_TAGS, NONE
from constrain.kernels.records.expressions import continues
from constrain.kernels.records.masks import MASK, TOKENS, own_end, own_start, source, tokens_end
from constrain.kernels.records.stack import room, set_top, top
from constrain.kernels.records.vocabulary import (
    node_byte,
    node_depth,
    node_end,
    node_token,
    node_word,
    token_byte,
    token_end,
    trie_of,
    word_byte,
    word_depth,
)
from constrain.papers.kernels.records import AFTER_TOKEN, AHEAD, CUT_AHEAD, FOLLOWED, LIVE, N_LIVE, N_ROWS

JOINED = 2  # CUT_AHEAD.STRICT of a token that is written only if a border follows
JOINS, LOOSE, MAY_JOIN = 0, 1, 2  # of a byte after a token; or MISSES
LEAVES = 0  # `text_after`
MOST = 2048  # tokens of a mask that are all asked
BLANK = 32
LONG_WALK = 8192  # nodes of the trie that are walked for a token


@kernel("void(row, row, arena, arena, arena, arena)", entry=True)
def follow_bytes(conflicts, alone, first, totals, counts, out):
    """Write the AFTER_TOKEN row of a token. conflicts: the tokens that do not stay beside it within a piece.

    first: by token, its first byte. totals: by byte, how many tokens that are alone begin so. counts: int32[257], zero
    """
    for w in range(conflicts.size):
        bits = conflicts[w] & alone[w]
        for i in range(32):
            if bits == 0:
                break
            if bits & np.uint32(1):
                counts[first[32 * w + i]] += 1
            bits >>= np.uint32(1)
    for b in range(256):
        bit = np.int32(1) << np.int32(b & 31)
        if counts[b] != 0:
            out[AFTER_TOKEN.JOINING + (b >> 5)] |= bit
        if counts[b] == totals[b]:
            out[AFTER_TOKEN.CLOSED + (b >> 5)] |= bit


@kernel("i(arena, arena, arena, arena, i, i, i, i)")
def step_place(P, F, T, Q, before, after, token, joins):
    """Write the place Q[after] that a token leads to from Q[before], as `step_cut` does, and STRICT of it."""
    strict = (
        np.int64(Q[before + CUT_AHEAD.OWED]) | joins | (BORDERS.OPEN(P, np.int64(Q[before + CUT_AHEAD.PIECES])) & ~1)
    )
    kind = step_cut(P, F, T, Q, before, after, token, joins)
    Q[after + CUT_AHEAD.STRICT] = 1 if strict != 0 else 0
    if T[token * TOKEN.WORDS + TOKEN.ALONE] == 0 and Q[after + CUT_AHEAD.LAST] >= 0:
        Q[after + CUT_AHEAD.STRICT] = JOINED
    return kind


@kernel("i(arena, arena, arena, i, i, i)")
def byte_after(P, F, Q, at, row, b):
    """Tell a byte after the place Q[at]: it is LOOSE, it JOINS with all that begins so, or it MAY_JOIN; or MISSES.

    row: the AFTER_TOKEN row of the token before.
    """
    p = np.int64(Q[at + CUT_AHEAD.PIECES])
    ends = (np.int64(Q[at + CUT_AHEAD.ENDS]) | 1) << 1
    owed = np.int64(Q[at + CUT_AHEAD.OWED]) << 1
    following = BORDERS.NEXT(P, p * 256 + b)
    if following < 0:
        Q[AHEAD.EXPAND] = p
        return MISSES
    borders = BORDERS.ENDED(P, p * 256 + b)
    opened = BORDERS.OPEN(P, following)
    if following == 0 or borders & ~(ends | 1) != 0 or owed & ~(borders | opened) != 0:
        return JOINS
    is_settled = owed & ~borders == 0 and opened & ~(ends | 1) == 0
    if Q[at + CUT_AHEAD.LAST] < 0 or (borders >> 1) & 1:
        return LOOSE if is_settled else MAY_JOIN
    if is_settled and not (F[row + AFTER_TOKEN.JOINING + (b >> 5)] >> (b & 31)) & 1:
        return LOOSE
    if not (opened >> 1) & 1 and (F[row + AFTER_TOKEN.CLOSED + (b >> 5)] >> (b & 31)) & 1:
        return JOINS
    return MAY_JOIN


@kernel("i(arena, arena, arena, arena, i)")
def live_bytes(A, H, S, Q, d):
    """The index in Q of the LIVE row of a configuration d, or of a lexer state, -d."""
    row = AHEAD.LIVE + LIVE.WORDS * (d & (N_LIVE - 1))
    if Q[row + LIVE.OF] == d:
        return row
    for w in range(8):
        Q[row + LIVE.BITS + w] = 0
    for b in range(256):
        if d > 0:
            following = np.int64(peek_configuration(A, d, b))
            if following == 0:
                following = step_configuration(A, H, S, d, b)
        else:
            following = step(A, H, S, -d, b)
        if following != NONE:
            Q[row + LIVE.BITS + (b >> 5)] |= np.int32(1) << np.int32(b & 31)
    Q[row + LIVE.OF] = d
    return row


@kernel("i(arena, arena, arena, i)")
def is_at_an_end(A, H, S, d):
    """True if the text may end in a configuration d, or the lexeme in a lexer state, -d: who knows what follows it."""
    return tags(A, H, S, -d) != NO_TAGS if d < 0 else accepts(A, H, S, d) != 0


@kernel("i(arena, arena, i)")
def apart_from(F, Q, at):
    """The index in F of the bitmap of bytes that follow the last byte before the place Q[at] in no token."""
    table = np.int64(F[FOLLOWED.STRICT] if Q[at + CUT_AHEAD.STRICT] else F[FOLLOWED.APART])
    return table + 8 * FOLLOWED.CLASS(F, np.int64(Q[at + CUT_AHEAD.LAST]))


@kernel("i(arena, arena, arena, arena, arena, i)")
def any_apart(A, H, S, F, Q, at):
    """True if a byte may follow the place Q[at] that no token has after the last byte of the token before."""
    token = np.int64(Q[at + CUT_AHEAD.LAST])
    if token < 0:
        return False
    apart = apart_from(F, Q, at)
    d = np.int64(Q[at + CUT_AHEAD.TEXT])
    if Q[AHEAD.LIVE + LIVE.WORDS * (d & (N_LIVE - 1)) + LIVE.OF] != d and F[apart + (BLANK >> 5)] & 1:
        # PERF: a blank may follow in most texts, and is asked before all bytes are.
        following = step_configuration(A, H, S, d, BLANK) if d > 0 else step(A, H, S, -d, BLANK)
        if following != NONE:
            return True
    row = live_bytes(A, H, S, Q, d)
    both = np.int64(0)
    for w in range(8):
        both |= np.int64(F[apart + w] & Q[row + LIVE.BITS + w])
    return both != 0


@kernel("i(arena, arena, arena, arena, arena, arena, i)")
def verdict(A, H, S, P, F, Q, at):
    """Tell by the bytes that may follow if a canonical completion is left after the place Q[at]: GOOD, REFUSED, UNSURE
    or MISSES."""
    if any_apart(A, H, S, F, Q, at):
        return GOOD
    token, d = np.int64(Q[at + CUT_AHEAD.LAST]), np.int64(Q[at + CUT_AHEAD.TEXT])
    if token >= 0 and FOLLOWED.UNKNOWN(F, token) != 0:
        return UNSURE
    row = FOLLOWED.ROW(F, token) if token >= 0 else np.int64(0)
    if token >= 0 and row == 0:
        if Q[AHEAD.MISSING] < N_ROWS:
            Q[AHEAD.ROWS + Q[AHEAD.MISSING]] = token
            Q[AHEAD.MISSING] += 1
        return MISSES
    answer = REFUSED
    live = live_bytes(A, H, S, Q, d)
    for b in range(256):
        if (Q[live + LIVE.BITS + (b >> 5)] >> (b & 31)) & 1:
            kind = byte_after(P, F, Q, at, row, b)
            if kind == LOOSE:
                return GOOD
            if kind == MISSES:
                return MISSES
            if kind == MAY_JOIN:
                answer = UNSURE
    if d > 0 and accepts(A, H, S, d) and may_end(P, Q, at):
        return UNSURE if Q[AHEAD.GUARDED] else GOOD
    return UNSURE if d < 0 and is_at_an_end(A, H, S, d) else answer


@kernel("i(arena, arena, arena, i, i)")
def text_after(A, H, S, d, token):
    """The configuration after d and a token, or -1 times the lexer state if d is one; NONE if it may not follow.

    LEAVES where that depends on what follows a lexeme.
    """
    if d > 0:
        return advance(A, H, S, d, token) & STATE
    e = -d
    for at in range(HEADER.TOKEN_AT(A, token), token_end(A, token)):
        if at > HEADER.TOKEN_AT(A, token) and tags(A, H, S, e) != NO_TAGS:
            return np.int64(LEAVES)
        e = step(A, H, S, e, token_byte(A, at))
        if e == NONE:
            return e
    return -e if continues(A, e) else np.int64(LEAVES)


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena, i)")
def verdict_of_next(A, H, S, P, F, T, M, slots, Q, token):
    """The verdict after the place Q[AHEAD.AFTER] if this token comes next."""
    last = np.int64(Q[AHEAD.AFTER + CUT_AHEAD.LAST])
    if FOLLOWED.UNKNOWN(F, token) != 0:
        return UNSURE
    joins = 1 if last >= 0 and not stay_apart(T, M, slots, last, token) else 0
    kind = step_place(P, F, T, Q, AHEAD.AFTER, AHEAD.LATER, token, joins)
    if kind != GOOD:
        return kind
    d = text_after(A, H, S, np.int64(Q[AHEAD.AFTER + CUT_AHEAD.TEXT]), token)
    if d == NONE or d == LEAVES:
        return REFUSED if d == NONE else UNSURE
    Q[AHEAD.LATER + CUT_AHEAD.TEXT] = d
    return verdict(A, H, S, P, F, Q, AHEAD.LATER)


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena, i)")
def verdict_of_walk(A, H, S, P, F, T, M, slots, Q, longest):
    """The verdict after the place Q[AHEAD.AFTER], by the tokens of at most so many bytes that may come next; UNSURE
    where the walk is long."""
    trie, nodes, states = trie_of(A), np.int64(A[HEADER.N_NODES]), top(S)
    answer = UNSURE if is_at_an_end(A, H, S, np.int64(Q[AHEAD.AFTER + CUT_AHEAD.TEXT])) else REFUSED
    room(S, np.int64(A[HEADER.DEPTH]) + 2)
    set_top(S, states + np.int64(A[HEADER.DEPTH]) + 2)
    S[states] = Q[AHEAD.AFTER + CUT_AHEAD.TEXT]
    i = visited = np.int64(0)
    while i < nodes and answer != GOOD and answer != MISSES:
        depth = node_depth(A, trie, i)
        d, b = np.int64(S[states + depth - 1]), node_byte(A, trie, i)
        d = step_configuration(A, H, S, d, b) if d > 0 else -step(A, H, S, -d, b)
        visited += 1
        if d == NONE or d == -NONE:
            i = node_end(A, trie, i)
            continue
        S[states + depth] = d
        if node_token(A, trie, i) >= 0:
            kind = verdict_of_next(A, H, S, P, F, T, M, slots, Q, node_token(A, trie, i))
            answer = kind if kind != REFUSED else answer
        if visited > LONG_WALK and answer == REFUSED:
            answer = np.int64(UNSURE)
        if visited > LONG_WALK:
            break
        i = i + 1 if depth < longest else node_end(A, trie, i)
    set_top(S, states)
    return answer


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena)")
def verdict_of_all_next(A, H, S, P, F, T, M, slots, Q):
    """The verdict after the place Q[AHEAD.AFTER], by the tokens that may come next; the short ones if they are many."""
    d = np.int64(Q[AHEAD.AFTER + CUT_AHEAD.TEXT])
    region = mask(A, H, S, d)
    count = own_end(A, region) - own_start(A, region)
    for k in range(MASK.N_SOURCES(A, region)):
        count += MOST + 1 if source(A, region, k) > 0 else TOKENS.COUNT(A, -source(A, region, k))
    if count > MOST:
        kind = verdict_of_walk(A, H, S, P, F, T, M, slots, Q, 2)
        return kind if kind != REFUSED else np.int64(UNSURE)
    answer = UNSURE if is_at_an_end(A, H, S, d) else REFUSED
    for k in range(-1, MASK.N_SOURCES(A, region)):
        tokens = own_start(A, region) if k < 0 else TOKENS.LIST(A, -source(A, region, k))
        end = own_end(A, region) if k < 0 else tokens_end(A, -source(A, region, k))
        for i in range(tokens, end):
            token = np.int64(A[i])
            if HEADER.TOKEN_AT(A, token) == token_end(A, token):
                continue  # an EOS
            kind = verdict_of_next(A, H, S, P, F, T, M, slots, Q, token)
            if kind == GOOD or kind == MISSES:
                return kind
            if kind == UNSURE:
                answer = UNSURE
    return answer


@kernel("void(arena)")
def begin(Q):
    """Forget what was missing, and which bytes follow the configurations of another call."""
    Q[AHEAD.EXPAND] = Q[AHEAD.MISSING] = 0
    for row in range(AHEAD.LIVE, AHEAD.TOKENS, LIVE.WORDS):
        Q[row + LIVE.OF] = 0


@kernel("i(arena, arena, arena, arena, arena, arena, arena, arena, arena)", entry=True)
def look_ahead(A, H, S, P, F, T, M, slots, Q):
    """Answer a question (AHEAD) about tokens that may follow the configuration TEXT of BEFORE.

    If that is a lexer state, negative, the answer is about texts that stay within its lexeme.
    Returns how many tokens are MISSES: tables have to be made first, of the state EXPAND, and of MISSING tokens.
    """
    begin(Q)
    bottom = top(S)
    unknown = 0
    for i in range(AHEAD.TOKENS, AHEAD.TOKENS + Q[AHEAD.COUNT]):
        token = np.int64(Q[i])
        kind = step_place(P, F, T, Q, AHEAD.BEFORE, AHEAD.AFTER, token, 0)
        if kind == GOOD:
            d = text_after(A, H, S, np.int64(Q[AHEAD.BEFORE + CUT_AHEAD.TEXT]), token)
            Q[AHEAD.AFTER + CUT_AHEAD.TEXT] = d
            kind = REFUSED if d == NONE else UNSURE
            if d != NONE and d != LEAVES:
                kind = verdict(A, H, S, P, F, Q, AHEAD.AFTER)
            if kind == UNSURE and d > NONE:
                kind = verdict_of_all_next(A, H, S, P, F, T, M, slots, Q)
            elif kind == UNSURE and d < 0 and verdict_of_walk(A, H, S, P, F, T, M, slots, Q, 2) == GOOD:
                kind = np.int64(GOOD)
            elif kind == UNSURE and d < 0:
                kind = verdict_of_walk(A, H, S, P, F, T, M, slots, Q, np.int64(A[HEADER.DEPTH]))
        set_top(S, bottom)
        Q[i + Q[AHEAD.COUNT]] = kind
        unknown += kind == MISSES
    return unknown


@kernel("i(arena, arena, arena, i)", entry=True)
def reference_of(A, H, S, lexer):
    """A lexer state that most tokens lead to the same states as from this one, or 0."""
    text = text_part(A, H, S, lexer)
    reference = text if text != 0 else looping_reference(A, H, S, lexer)
    return reference if reference != lexer else np.int64(0)


@kernel("i(arena, arena, arena, i, i, arena)", entry=True)
def tokens_that_differ(A, H, S, e, f, out):
    """Write the tokens that lead from two lexer states to different ones. Returns how many; -1 if they do not fit."""
    trie = trie_of(A)
    levels = np.int64(A[HEADER.DEPTH]) + 2
    left = top(S)
    right = left + levels
    room(S, 2 * levels)
    set_top(S, right + levels)
    S[left], S[right] = e, f
    count = 0
    i = np.int64(0)
    while i < A[HEADER.N_NODES]:
        depth = node_depth(A, trie, i)
        b = node_byte(A, trie, i)
        x, y = np.int64(S[left + depth - 1]), np.int64(S[right + depth - 1])
        x = step(A, H, S, x, b) if x != NONE else x
        y = step(A, H, S, y, b) if y != NONE else y
        if x == y:
            i = node_end(A, trie, i)
            continue
        S[left + depth], S[right + depth] = x, y
        token = node_token(A, trie, i)
        while token >= 0:
            if count == out.size:
                set_top(S, left)
                return -1
            out[count] = token
            count += 1
            token = HEADER.NEXT_SAME(A, token)
        i += 1
    set_top(S, left)
    return count


@kernel("i(arena, arena, arena, arena, row)", entry=True)
def let_blanks_follow(P, F, T, Q, out):
    """Set the bits of those tokens of a question after which a blank joins none. Returns GOOD, or MISSES: EXPAND."""
    begin(Q)
    for i in range(AHEAD.TOKENS, AHEAD.TOKENS + Q[AHEAD.COUNT]):
        token = np.int64(Q[i])
        kind = step_place(P, F, T, Q, AHEAD.BEFORE, AHEAD.AFTER, token, 0)
        if kind == GOOD and Q[AHEAD.AFTER + CUT_AHEAD.LAST] < 0:
            kind = byte_after(P, F, Q, AHEAD.AFTER, 0, BLANK)
            kind = GOOD if kind == LOOSE else kind
        elif kind == GOOD and Q[AHEAD.AFTER + CUT_AHEAD.STRICT] != JOINED:
            kind = GOOD if F[apart_from(F, Q, AHEAD.AFTER) + (BLANK >> 5)] & 1 else REFUSED
        if kind == MISSES:
            return MISSES
        if kind == GOOD and Q[AHEAD.AFTER + CUT_AHEAD.STRICT] != JOINED:
            out[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
    return GOOD


@kernel("void(arena, arena, arena, i, row, row)", entry=True)
def tokens_before_blanks(A, H, S, e, some, out):
    """Set the bits of those of some tokens that go on with a lexeme in the state e so that a blank may follow."""
    trie = trie_of(A)
    states = top(S)
    room(S, np.int64(A[HEADER.DEPTH]) + 2)
    set_top(S, states + np.int64(A[HEADER.DEPTH]) + 2)
    S[states] = e
    i = np.int64(0)
    while i < A[HEADER.N_NODES]:
        word = node_word(A, trie, i)
        above = states + word_depth(word) - 1
        f = step(A, H, S, np.int64(S[above]), word_byte(word))
        if f == NONE:
            i = node_end(A, trie, i)
            continue
        S[above + 1] = f
        token = node_token(A, trie, i)
        if token >= 0 and step(A, H, S, f, BLANK) != NONE:
            while token >= 0:
                bit = np.uint32(1) << np.uint32(token & 31)
                out[token >> 5] |= some[token >> 5] & bit
                token = HEADER.NEXT_SAME(A, token)
        i += 1
    set_top(S, states)
