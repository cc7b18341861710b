"""Python's `re`, as an oracle for the syntax of patterns.

None, since it is beyond a grammar: references to groups that do not exist or are open, names that repeat, look-behind
of variable width, ranges and repetitions whose end is before their beginning or too large; and, since the grammar
leaves it out, the flag x and \\N{...}.
"""

from __future__ import annotations

import re
import sys
import warnings

from languages.oracles import of_text

if sys.version_info < (3, 11):
    raise ImportError("the re of Python 3.11, with possessive quantifiers")

BEYOND = (
    "invalid group reference", "cannot refer to an open group",
    "cannot refer to group defined in the same lookbehind", "unknown group name", "redefinition of group name",
    "look-behind requires fixed-width", "min repeat greater than max repeat", "undefined character name",
)  # fmt: skip
_LEFT_OUT = re.compile(r"\(\?[a-zA-Z]*x[a-zA-Z-]*[:)]|\\N\{")


@of_text
def pattern(shown: str) -> bool | None:
    """The verdict."""
    if _LEFT_OUT.search(shown):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(shown)
    except re.error as error:
        if error.msg.startswith("bad character range"):
            return False if re.search(r"range \\[dDsSwW]-|-\\[dDsSwW]", error.msg) else None
        return None if error.msg.startswith(BEYOND) else False
    except (OverflowError, RecursionError):
        return None
    return True
