"""Writes `automata/unicode/tables.json`: scripts, blocks and binary properties, which Python's own
`unicodedata` lacks.

The `regex` package (a development dependency only) is asked about every code point, so the table is at its Unicode
version. Run `python scripts/make_unicode_tables.py` after upgrading `regex`. Takes about five seconds.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from constrain.languages.automata.unicode.classes import TABLES, every_character, loose

# Binary properties of ECMA-262, table 67 (`table-binary-unicode-properties`): full name, short name. Those that
# stand for a case mapping (Changes_When_...) are left out: they are long and no pattern was seen to use them.
BINARY = """
    Alphabetic Alpha|ASCII_Hex_Digit AHex|Bidi_Control Bidi_C|Case_Ignorable CI|Cased Cased|Dash Dash|
    Default_Ignorable_Code_Point DI|Deprecated Dep|Diacritic Dia|Emoji Emoji|Emoji_Component EComp|Emoji_Modifier EMod|
    Emoji_Modifier_Base EBase|Emoji_Presentation EPres|Extended_Pictographic ExtPict|Extender Ext|Hex_Digit Hex|
    ID_Continue IDC|ID_Start IDS|Ideographic Ideo|Join_Control Join_C|Lowercase Lower|Math
    Math|Noncharacter_Code_Point NChar| Pattern_Syntax Pat_Syn|Pattern_White_Space Pat_WS|Quotation_Mark
    QMark|Radical Radical|Regional_Indicator RI| Sentence_Terminal STerm|Soft_Dotted SD|Terminal_Punctuation
    Term|Unified_Ideograph UIdeo|Uppercase Upper| Variation_Selector VS|White_Space space|XID_Continue
    XIDC|XID_Start XIDS
"""


def spans(regex: Any, query: str) -> str:
    """The code points of a `regex` property query, as `41-5a 5f 61-7a`."""
    found = (match.span() for match in regex.finditer(rf"{query}+", every_character()))
    return " ".join(f"{low:x}" if high == low + 1 else f"{low:x}-{high - 1:x}" for low, high in found)


def names_of(kind: str) -> dict[str, list[str]]:
    """Full name of each script or block and its other names, loosely spelled."""
    properties = import_module("regex._regex_core").PROPERTIES
    names: dict[int, list[str]] = {}
    for name, number in properties[kind][1].items():
        names.setdefault(number, []).append(loose(name))
    # "Unknown" is left out: seven hundred ranges that no pattern asks for; and so is "No_Block"
    return {group[0]: sorted(group) for group in names.values() if not {"unknown", "noblock"} & {*group}}


def tables() -> str:
    """The text of the data file."""
    regex = import_module("regex")
    binary = [tuple(pair.split()) for pair in BINARY.split("|")]
    named = names_of("SCRIPT")
    plain = {name: spans(regex, rf"\p{{sc={name}}}") for name in named}
    extended = {name: spans(regex, rf"\p{{scx={name}}}") for name in named}
    blocks = names_of("BLOCK")
    parts = {
        "blocks": {alias: spans(regex, rf"\p{{blk={name}}}") for name, names in blocks.items() for alias in names},
        "scripts": {name: value for name, value in plain.items() if value},
        "script_extensions": {name: value for name, value in extended.items() if value != plain[name]},
        "script_aliases": {
            alias: name for name, names in named.items() for alias in names if plain[name] and alias != name
        },
        "binary": {loose(full): spans(regex, rf"\p{{{full}}}") for full, _ in binary},
        "binary_aliases": {loose(short): loose(full) for full, short in binary if loose(short) != loose(full)},
    }
    return json.dumps(parts, indent=0, sort_keys=True) + "\n"


if __name__ == "__main__":
    TABLES.write_text(tables(), encoding="utf-8")
