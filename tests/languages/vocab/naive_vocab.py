"""Plain twins of the vocabulary room, written from the definitions: a trie of dicts, slices character by character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Node:
    children: dict[int, Node] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)


def trie(tokens: Iterable[tuple[int, bytes]]) -> Node:
    root = Node()
    for token_id, text in sorted(tokens):
        if text:
            node = root
            for byte in text:
                node = node.children.setdefault(byte, Node())
            node.ids.append(token_id)
    return root


def flat(root: Node) -> list[tuple[int, int, int, list[int]]]:
    """(byte, depth, end, token ids) of each node, depth first, siblings in byte order."""
    rows: list[tuple[int, int, int, list[int]]] = []

    def visit(node: Node, depth: int) -> None:
        for byte, child in sorted(node.children.items()):
            here = len(rows)
            rows.append((byte, depth, -1, child.ids))
            visit(child, depth + 1)
            rows[here] = (byte, depth, len(rows), child.ids)

    visit(root, 1)
    return rows


def slice_lengths(
    tokens: Sequence[bytes | None], ranges: Iterable[tuple[int, int]], spaced: bool = False
) -> dict[int, int]:
    """Token id -> number of characters, of the tokens that are made of complete characters of the class only; spaced:
    after a space, or without."""
    lengths = {}
    for token_id, token in enumerate(tokens):
        try:
            text = (token or b"").decode("utf-8", "strict")
        except UnicodeDecodeError:
            continue
        rest = text.removeprefix(" ") if spaced else text
        if text and all(any(low <= ord(character) <= high for low, high in ranges) for character in rest):
            lengths[token_id] = len(text)
    return lengths
