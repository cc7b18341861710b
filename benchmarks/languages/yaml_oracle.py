"""PyYAML as an oracle for flow collections that stand on their own.

None, since the grammar's README leaves it out: block style, anchors, tags, directives, document markers, keys that
are collections or marked by `?`, scalars of several lines, line breaks other than LF and CRLF, comments that touch
what is before them, and plain scalars `-`, `--…` and `..…`.
"""

from __future__ import annotations

import yaml

from languages.oracles import of_text

_ODD = frozenset("\r\x85\u2028\u2029\ufeff")
_OUT = (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken, yaml.DirectiveToken, yaml.DocumentStartToken)
_OUT = (*_OUT, yaml.DocumentEndToken, yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken, yaml.BlockEntryToken)


@of_text
def flow(shown: str) -> bool | None:
    """The verdict."""
    shown = shown.replace("\r\n", "\n")
    try:
        root = yaml.compose(shown, Loader=yaml.SafeLoader)
        tokens = list(yaml.scan(shown, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, OverflowError):
        return False
    except RecursionError:
        return None
    if root is None or any(map(_left_out, tokens)) or _glued_comment(shown, tokens):
        return None
    if _ODD & set(shown) or not isinstance(root, yaml.CollectionNode) or not root.flow_style:
        return None
    return None if _has_complex_key(root) else True


def _left_out(token: yaml.Token) -> bool:
    if isinstance(token, yaml.ScalarToken):
        marked = token.plain and (token.value == "-" or token.value.startswith(("--", "..")))
        return marked or token.start_mark.line != token.end_mark.line
    question_mark = isinstance(token, yaml.KeyToken) and token.start_mark.index != token.end_mark.index
    return isinstance(token, _OUT) or question_mark


def _glued_comment(text: str, tokens: list[yaml.Token]) -> bool:
    ends = [token.end_mark.index for token in tokens]
    return any(text[end : end + 1] == "#" for end in ends if end)


def _has_complex_key(node: yaml.Node) -> bool:
    if isinstance(node, yaml.MappingNode):
        return any(not isinstance(k, yaml.ScalarNode) or _has_complex_key(v) for k, v in node.value)
    return isinstance(node, yaml.SequenceNode) and any(map(_has_complex_key, node.value))
