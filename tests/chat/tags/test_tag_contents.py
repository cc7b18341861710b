"""Contents of tags: schemas with excluded texts, arguments in models' markup, repeated keys and items, bad input."""

import json
import re
from itertools import product

import pytest

import constrain
from constrain import tags
from tables import table

TABLE = table("tag_contents")

BYTES = constrain.Vocabulary.of_bytes()


def member(constraint: constrain.Constraint, text: str) -> bool:
    matcher = constrain.compile(constraint, BYTES).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


CALL = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "kind": {"enum": ["p", "q", 1]},
        "more": {"type": "object", "properties": {"k": {"type": "boolean"}}, "required": ["k"]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
    },
    "required": ["city", "days"],
}
STYLES = TABLE["styles"]


@pytest.mark.parametrize(("style", "text", "inside"), STYLES)
def test_arguments_in_a_models_markup(style: str, text: str, inside: bool) -> None:
    assert member(tags.parameters(CALL, style), text) == inside


def test_arguments_refer_to_definitions() -> None:
    schema = {"$defs": {"d": {"type": "integer"}}, "type": "object", "properties": {"n": {"$ref": "#/$defs/d"}}}
    assert member(tags.parameters(schema), "<parameter=n>5</parameter>")
    assert not member(tags.parameters(schema), "<parameter=n>x</parameter>")


EXCLUDING = {
    "type": "object",
    "properties": {"a": {"type": "string", "minLength": 2}, "l": {"type": "array", "items": {"enum": ["xy", "z"]}}},
    "required": ["a"],
}
CLEAN = TABLE["clean"]


@pytest.mark.parametrize(("text", "inside"), CLEAN)
def test_excluded_texts_do_not_occur_in_strings_at_any_depth(text: str, inside: bool) -> None:
    form = {"type": "json_schema", "json_schema": EXCLUDING, "excludes": ["xy", "</t>"]}
    assert member(tags.structural_tag({"format": form}), text) == inside


OPEN = constrain.json_schema({"type": "object"})
UNIQUE = constrain.json_schema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
NUMBER = constrain.json_schema({"type": "integer"})
LISTS = {
    "triggered": tags.triggered_tags(
        ["<c="],
        [tags.tag("<c=o>", OPEN, "</c>"), tags.tag("<c=u>", UNIQUE, ["</c>", "</d>"]),
         tags.tag("<c=n>", NUMBER, "</c>"), tags.tag("<c=t>", constrain.regex("[a-z]*"), "</c>")],
    ),
    "separated": tags.separated([tags.tag("<c=o>", OPEN, "</c>"), tags.tag("<c=u>", UNIQUE, "</c>")], ", "),
}  # fmt: skip
REPEATS = TABLE["repeats"]


@pytest.mark.parametrize(("name", "text", "viable"), REPEATS)
def test_repetitions_are_vetoed_inside_of_lists_of_tags(name: str, text: str, viable: bool) -> None:
    """The last byte completes a repetition, and the mask does not allow it."""
    constraint = LISTS[name]
    assert constraint.guarded
    matcher = constrain.compile(constraint, BYTES).matcher()
    *before, last = text.encode()
    assert matcher.advance_bytes(bytes(before))
    assert bool(matcher.mask()[last >> 5] >> (last & 31) & 1) == viable == matcher.advance(last)
    assert not viable or matcher.is_accepting()


def test_where_a_tag_may_lie_in_a_tag_the_finished_text_is_checked() -> None:
    nested = tags.triggered_tags(["<"], [tags.tag("<a", OPEN, ">"), tags.tag("<ab", OPEN, ">")])
    assert nested.residual and not nested.guarded
    assert member(nested, '<a{"k": 1}>') and not member(nested, '<a{"k": 1, "k": 2}>')


FAULTS = table("tag_errors")["case"]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case["message"])
def test_bad_input_is_a_located_error(case: dict[str, str]) -> None:
    with pytest.raises(constrain.ConstrainError, match=re.escape(case["message"])) as caught:
        tags.structural_tag({"type": "structural_tag", "format": json.loads(case["format"])})
    assert (caught.value.place or "").startswith(case["place"])


def test_a_token_that_the_vocabulary_lacks_is_an_error_when_they_meet() -> None:
    call = tags.structural_tag({"format": {"type": "token", "token": "<x>"}})
    with pytest.raises(constrain.VocabularyError, match="no token '<x>'"):
        constrain.compile(call, BYTES)


def test_tags_as_python_objects_refuse_what_is_none() -> None:
    one = tags.tag("<a>", constrain.regex("a"), "</a>")
    for make in (
        lambda: tags.tag("<a>", None, ""),
        lambda: tags.tag("<a>", None, constrain.token("<x>")),
        lambda: tags.tag(constrain.regex("a"), constrain.regex("a"), "b"),
        lambda: tags.tag("<a>", "text", "b"),
        lambda: tags.free_text("ab"),
        lambda: tags.separated([], ","),
        lambda: tags.separated(["a"], ","),
        lambda: tags.separated([one], 5),
        lambda: tags.dispatch([]),
        lambda: tags.token_dispatch([]),
        lambda: tags.parameters({}, "novel"),
    ):
        with pytest.raises(constrain.ConstrainError):
            make()


AFTER_THOUGHTS = constrain.seq(tags.tag("<think>", None, "</think>"), LISTS["triggered"])


@pytest.mark.parametrize(
    ("text", "viable"),
    [
        ('<think>a <c=o>{"k": 1, "k": 2}</c></think> b <c=o>{"k": 1, "j": [{"k": 1}]}</c> c', True),
        ('<think><c=u>[1, 1]</c></think><c=o>{"k": 1}</c><c=o>{"k": 1}</c>', True),
        ('<think></think>a <c=o>{"k": 1, "k"', False),
        ("<think></think><c=u>[1]</c><c=u>[1, 2, 1]", False),
    ],
)
def test_repetitions_are_vetoed_after_thoughts(text: str, viable: bool) -> None:
    """Thoughts end with their first end, so the text tells where the tags begin; thoughts themselves are free."""
    assert AFTER_THOUGHTS.guarded
    compiled = constrain.compile(AFTER_THOUGHTS, BYTES)
    matcher, whole = compiled.matcher(), compiled.matcher()
    *before, last = text.encode()
    assert all(matcher.advance(byte) for byte in before)
    assert bool(matcher.mask()[last >> 5] >> (last & 31) & 1) == viable == matcher.advance(last)
    assert whole.advance_bytes(text.encode()) == viable and (not viable or whole.is_accepting())


def test_a_token_that_ends_thoughts_and_contains_a_repetition_is_vetoed() -> None:
    texts = [
        b"<think>", b"x", b"</think>", b'</think><c=o>{"k": 1, "k"', b'</think><c=o>{"k": 1, "j"', b": 1}</c>", None,
    ]  # fmt: skip
    compiled = constrain.compile(AFTER_THOUGHTS, constrain.Vocabulary(texts, eos_ids=[6]))
    matcher = compiled.matcher()
    assert matcher.advance_tokens([0, 1]) == 2
    assert [matcher.allows(token) for token in range(7)] == [True, True, True, False, True, True, False]
    assert int(matcher.mask()[0]) == 0b0110111
    assert matcher.advance_tokens([4, 5]) == 2 and matcher.is_accepting()


def test_a_structural_tag_is_of_its_type() -> None:
    with pytest.raises(constrain.ConstrainError, match="the type of a structural tag is"):
        tags.structural_tag({"type": "tag", "format": {"type": "const_string", "value": "1"}})


EXCLUDED = table("excluded_texts")

CHARACTERS = ["a", "n", "0", "u", "<", "\n", "\x0b", '"', "\\", "é", "😀"]
SPELLINGS = EXCLUDED["spellings"]
TEXTS = EXCLUDED["texts"]
TEXTS += ["00<", "d83", "e00n", "\\ud83d\\u", "\\\\\\\\", "aa", "\\u"]


def written(value: str) -> list[str]:
    """All plain spellings of a value, without its quotes."""
    return ["".join(parts) for parts in product(*(SPELLINGS.get(character, [character]) for character in value))]


@pytest.mark.parametrize("text", TEXTS)
def test_strings_are_written_without_excluded_texts(text: str) -> None:
    """An excluded text is in no spelling that is left; a value of ASCII is left out only if it is in one of its."""
    form = {"type": "json_schema", "json_schema": {"type": "string"}, "excludes": [text]}
    compiled = constrain.compile(tags.structural_tag({"format": form}), BYTES)
    for value in map("".join, (v for size in range(3) for v in product(CHARACTERS, repeat=size))):
        spellings = written(value)
        inside = any(text in spelling for spelling in spellings)
        for spelling in spellings:
            matcher = compiled.matcher()
            taken = matcher.advance_bytes(f'"{spelling}"'.encode()) and matcher.is_accepting()
            assert not (taken and inside), (text, value)
            assert taken or inside or not value.isascii(), (text, value)
