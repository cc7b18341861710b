"""`json_schema(whitespace=JsonLayout(...))`: what json.dumps writes, and bounded and patterned whitespace."""

import json
import re
from itertools import product

import pytest

import constrain
from constrain.languages.schema import JsonLayout

VOCABULARY = constrain.Vocabulary.of_bytes()
ANY = {"type": "object", "additionalProperties": True}
FIXED = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "object", "maxProperties": 1}},
    "required": ["a"],
}
TUPLE = {"type": "object", "properties": {"a": {"prefixItems": [{"type": "integer"}, {"type": "array"}]}, "b": True}}
EITHER = {"anyOf": [{**FIXED, "additionalProperties": False}, {"type": "object", "required": ["b"]}]}
MANY = {"type": "object", "minProperties": 1, "properties": {"b": {"type": "object"}}}
VALUES = [
    {}, {"a": []}, {"a": [1]}, {"a": [1, 2], "b": {}}, {"a": [3, []], "b": {"x": None}},
    {"a": [], "b": {"x": {"y": [[], [1]]}}}, {"b": {}}, {"a": [4, [{}, {"": 5}]], "b": 0},
]  # fmt: skip
LAYOUTS = [
    {"indent": 2}, {"indent": "\t"}, {"indent": 0}, {"indent": 1, "separators": (" ,", ":")},
    {"separators": (",", ":")}, {"separators": (", ", ": ")}, {"separators": (",\n", " :\t")},
]  # fmt: skip


def verdict(compiled: constrain.CompiledConstraint, text: str) -> bool:
    matcher = compiled.matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("given", LAYOUTS, ids=str)
@pytest.mark.parametrize("schema", [ANY, FIXED, TUPLE, EITHER, MANY], ids=["any", "fixed", "tuple", "either", "many"])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_texts_are_those_of_json_dumps(given, schema, order):
    made = constrain.json_schema(schema, whitespace=JsonLayout(**given), property_order=order)
    compiled = constrain.compile(made, VOCABULARY)
    values = [value for value in VALUES if constrain.json_schema(schema).residual_fault(json.dumps(value)) is None]
    loose = constrain.compile(constrain.json_schema(schema, whitespace="any", property_order=order), VOCABULARY)
    members = 0
    for value, other in product(values, [*LAYOUTS, {"separators": (",", " :")}, {"indent": 3}]):
        text, wanted = json.dumps(value, **other), json.dumps(value, **given)
        assert verdict(compiled, text) == (text == wanted and verdict(loose, text)), text
        members += text == wanted
        for at in (len(text) // 2, len(text) - 1):  # one more space, or a character less
            for changed in (text[:at] + " " + text[at:], text[:at] + text[at + 1 :]):
                try:
                    again = json.loads(changed)
                except ValueError:
                    again = None
                is_member = again is not None and changed == json.dumps(again, **given) and verdict(loose, changed)
                assert verdict(compiled, changed) == is_member, changed
    assert members >= 3


def test_deep_values_are_indented_too():
    value: object = 1
    for _ in range(50):
        value = {"a": [value]}
    compiled = constrain.compile(constrain.json_schema(True, whitespace={"indent": 1}), VOCABULARY)
    assert verdict(compiled, json.dumps(value, indent=1))
    assert not verdict(compiled, json.dumps(value, indent=1).replace("\n" + " " * 40, "\n" + " " * 41))


GAPS = [
    ({"most": 2}, r"[ \t\n\r]{0,2}", ",", ":"),
    ({"most": 0}, "", ",", ":"),
    ({"pattern": r" ?\n?"}, r" ?\n?", ",", ":"),
    ({"item_separator": r",\s?", "key_separator": " ?: "}, "", r",\s?", " ?: "),
    ({"most": 1, "item_separator": ", "}, r"[ \t\n\r]?", ", ", ":"),
]


@pytest.mark.parametrize(("given", "gap", "item", "key"), GAPS, ids=lambda each: str(each))
def test_whitespace_between_tokens_is_what_the_layout_says(given, gap, item, key):
    compiled = constrain.compile(constrain.json_schema(ANY, whitespace=given), VOCABULARY)
    tokens = ["{", '"a"', key, r"\[", "1", item, "2", r"\]", item, '"b"', key, r"\{", r"\}", "}"]
    wanted = re.compile(gap.join(tokens))
    parts = ["{", '"a"', ":", "[", "1", ",", "2", "]", ",", '"b"', ":", "{", "}", "}"]
    fills = ["", " ", "  ", "\n", " \n", "   ", "\t"]
    members = 0
    for at, fill in product(range(1, len(parts)), fills):
        for colon in (":", ": ", " : "):
            for comma in (",", ", "):
                listed = [{":": colon, ",": comma}.get(part, part) for part in parts]
                text = "".join(listed[:at]) + fill + "".join(listed[at:])
                assert verdict(compiled, text) == bool(wanted.fullmatch(text)), text
                members += bool(wanted.fullmatch(text))
    assert members > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"indent": 2, "most": 1}, "indent and separators excludes most"),
        ({"most": -1}, "most is a number of characters"),
        ({"indent": -1}, "indent is not negative"),
        ({"indent": "x"}, "indent is whitespace"),
        ({"separators": (";", ":")}, "separators is not a ','"),
        ({"separators": ",:"}, "separators is a pair of texts"),
        ({"key_separator": "_ "}, "key_separator is not a ':' with whitespace"),
        ({"pattern": "a?"}, "pattern is not whitespace"),
        ({"pattern": "("}, "pattern, line 1"),
        ({"width": 3}, "whitespace has no 'width'"),
    ],
)
def test_faulty_layouts(given, message):
    with pytest.raises(constrain.ConstrainError, match=re.escape(message)):
        constrain.json_schema(True, whitespace=given)


def test_equal_layouts_share_their_rules():
    one, two = (constrain.json_schema(ANY, whitespace={"indent": 2}) for _ in range(2))
    assert one == two and hash(one) == hash(two)
