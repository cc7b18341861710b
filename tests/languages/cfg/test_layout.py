"""Lines, blocks and brackets: CPython's parser is the oracle on a small subset of Python, exhaustively."""

import ast
import random
import re
import warnings
from itertools import product

import pytest

import constrain
from constrain.errors import GrammarError, UnsatisfiableError
from constrain.languages.cfg.layout import Column, _spelled, indentation
from constrain.masks.engine import Matcher
from layout_cases import SUBSET
from reading_oracle import matches

BYTES = constrain.Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256])


def compiled(grammar: str = SUBSET, **fields: object):
    return constrain.compile(constrain.grammar(grammar, layout=constrain.Layout(**fields)), BYTES)


def parses(text: str) -> bool:
    """True if CPython parses the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return False
    return True


# A line that begins with a backslash continues in a way of its own: CPython takes the column of the first of the
# lines. That, and a backslash at the end of the text, is not followed.
NOT_COMPARED = re.compile(r"(^|\n|\r)[ \t\f]*\\|\\\n\Z")


def compare(matcher: Matcher, text: str, pieces: list[str], length: int, seen: dict[str, bool]) -> None:
    """Visit every sequence of pieces; seen: text -> the matcher reads it."""
    seen[text] = True
    if not NOT_COMPARED.search(text):
        assert matcher.is_accepting() == parses(text), text
    if length == 0:
        return
    for piece in pieces:
        if text + piece in seen:
            continue
        longer = matcher.fork()
        if longer.advance_bytes(piece.encode()):
            compare(longer, text + piece, pieces, length - 1, seen)
        else:
            seen[text + piece] = False
            if not NOT_COMPARED.search(text + piece):
                assert not parses(text + piece), text + piece


@pytest.mark.parametrize(
    ("pieces", "length"),
    [
        (["a", "if a:", " ", "\n"], 8),
        (["a", "if a:", "    ", "\t", "\n", "\f"], 6),
        (["a", "(", ")", "\n", " ", "#", "if a:"], 6),
        (["if a:\n", "else:", "a\n", " "], 8),
        (["a", "if a:", "\\\n", "\r\n", "\r", " ", ";"], 5),
    ],
)
def test_every_short_text_gets_the_verdict_of_cpython(pieces, length):
    """Members are accepted, and what is refused is the beginning of no member among these texts."""
    seen: dict[str, bool] = {}
    compare(compiled().matcher(), "", pieces, length, seen)
    members = [text for text in seen if seen[text] and parses(text)]
    assert len(members) > 30
    for member in members:
        assert all(seen.get(member[:end], True) for end in range(len(member)))


def completions(depth: int) -> list[str]:
    """The ends that complete every prefix of the subset: a name, brackets closed, a block."""
    return [
        a + ")" * n + b
        for n in range(depth + 1)
        for a in ("", "a", " a")
        for b in ("", "\n", " a", ":a", "\n a", ":\n" + 9 * " " + "a")
    ]


def test_every_beginning_that_is_allowed_has_an_end():
    pieces = ["a", "(", ")", "if a:", "\n", " ", "#"]
    endings = ["".join(parts) for parts in product(["", "\n"], [" " * n for n in range(7)], completions(4))]
    allowed = 0
    compare(compiled().matcher(), "", pieces, 4, seen := {})
    for text, alive in seen.items():
        if alive and not NOT_COMPARED.search(text):
            allowed += 1
            assert any(parses(text + ending) for ending in endings), text
    assert allowed > 300


def program(rng: random.Random, indent: str, depth: int) -> str:
    """A random member of the subset."""
    text = ""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(6 if depth else 4)
        text += rng.choice(["", "", "\n", "  \n", "\t# note\n", "\f\n"])
        if kind < 3:
            text += indent + rng.choice(["a", "a(b)", "(a\n)", "f (  )", "x # y"]) + "\n"
        elif kind == 3:
            text += f"{indent}if (a): b; c\n"
        else:
            deeper = indent + rng.choice(["  ", " ", "    ", "\t", "\t "])
            text += f"{indent}if (a):\n{program(rng, deeper, depth - 1)}"
            if kind == 5:
                deeper = indent + rng.choice(["   ", "\t"])
                text += f"{indent}else :  # otherwise\n{program(rng, deeper, depth - 1)}"
    return text


def verdict(text: str, constraint) -> bool:
    matcher = constraint.matcher()
    return (not text or matcher.advance_bytes(text.encode())) and matcher.is_accepting()


def test_random_programs_and_changes_of_their_indentation():
    constraint, rng, changed = compiled(), random.Random(5), 0
    for _ in range(150):
        text = program(rng, "", 3)
        assert parses(text)
        assert verdict(text, constraint), text
        for _ in range(8):
            at = rng.randrange(len(text))
            mutant = rng.choice([text[:at] + rng.choice(" \t\n#(") + text[at:], text[:at] + text[at + 1 :]])
            if not NOT_COMPARED.search(mutant):
                changed += parses(mutant) != parses(text)
                assert verdict(mutant, constraint) == parses(mutant), mutant
    assert changed > 200


def test_a_text_may_be_cut_anywhere():
    constraint = compiled()
    text = program(random.Random(8), "", 4).encode()
    matcher = constraint.matcher()
    for i in range(len(text)):
        assert matcher.advance_bytes(text[i : i + 1])
    assert matcher.is_accepting()
    matcher.rollback(len(text))
    assert matcher.state == constraint.matcher().state


@pytest.mark.parametrize("tab", [8, 4])
def test_indentation_is_exactly_the_texts_that_lead_to_a_column(tab):
    for length in range(7):
        for characters in product(" \t", repeat=length):
            column = Column()
            for character in characters:
                column = column.after_space() if character == " " else column.after_tab(tab)
            node, text = indentation(column, tab).node, "".join(characters)
            assert matches(node, text)
            assert matches(node, " \t\f" + text)
            assert not matches(node, text + " ")
            others = [Column(column.column + 1, column.characters), Column(column.column, column.characters + 1)]
            assert not any(matches(_spelled(other, tab), text) for other in others)


def test_without_tabs():
    constraint = compiled(tab=None)
    assert verdict("if a:\n  b\n", constraint)
    assert not verdict("if a:\n\tb\n", constraint)
    assert not verdict("if a:\n  b\n\tc\n", constraint)


def test_equal_blocks_are_equal_states():
    """The second statement of a block, and a second block at the same column, lead to states that exist."""
    matcher = compiled().matcher()
    states = []
    for line in ["if a:\n", "  b\n", "  b\n", "  b\n", "if a:\n", "  b\n", "  b\n"]:
        assert matcher.advance_bytes(line.encode())
        states.append(matcher.state)
    assert states[2] == states[3] == states[6]


def test_other_names_and_brackets_in_brackets():
    grammar = r"""
    start: line+
    line: call NL [DEEPER line+ OUT]
    call: NAME | NAME "begin" call* "end" | NAME "<<" call ">>"
    NAME: /[a-z]\w*/
    %declare NL DEEPER OUT
    %ignore " "
    """
    constraint = constrain.grammar(
        grammar,
        layout={"newline": "NL", "indent": "DEEPER", "dedent": "OUT", "open": ["begin", "<<"], "close": ["end", ">>"]},
    )
    compiled_constraint = constrain.compile(constraint, BYTES)
    assert verdict("a<<\nb begin\n\n  c<<\nx >> end >>\n b\n b\na", compiled_constraint)
    assert not verdict("a\n<<b>>\n", compiled_constraint)
    assert not verdict("a begin\n b", compiled_constraint)
    assert constraint.findings == ()


def test_a_grammar_of_counted_lines():
    grammar = (
        'start: ("a" _NEWLINE)~2..3 ("b" _NEWLINE _INDENT ("c" _NEWLINE)~2 _DEDENT)?\n%declare _NEWLINE _INDENT _DEDENT'
    )
    constraint = compiled(grammar)
    assert [verdict("a\n" * n, constraint) for n in range(5)] == [False, False, True, True, False]
    assert verdict("a\na\nb\n   c\n   c\n", constraint)
    assert not verdict("a\na\nb\n   c\n", constraint)
    assert not verdict("a\na\nb\n   c\n   c\n   c", constraint)


def test_verbatim_terminals():
    grammar = r"""
    start: QUOTE (PART | "{" NAME CLOSE)* END _NEWLINE
    QUOTE: /'/
    END: /'/
    PART: /[^'{}\n]+/
    CLOSE: /\}/
    NAME: /[a-z]+/
    %ignore /[ ]/
    %ignore /#[^\n]*/
    %declare _NEWLINE
    """
    constraint = compiled(grammar, close=(")", "]", "CLOSE"), verbatim=("QUOTE", "PART", "CLOSE"))
    assert verdict("' # {\n a # b\n}# '  # c\n", constraint)
    assert not verdict("' # \n'\n", constraint)


@pytest.mark.parametrize(
    ("grammar", "fields", "message"),
    [
        ('start: "a" _INDENT "b"\n%declare _NEWLINE _INDENT', {}, "in rule start, _INDENT is not ended"),
        ('start: "a" _NEWLINE _DEDENT\n%declare _NEWLINE _DEDENT', {}, "in rule start, _DEDENT ends what"),
        ('start: b "]" _NEWLINE\nb: "["\n%declare _NEWLINE', {}, 'in rule start, "]" ends what'),
        ('start: ("(" | "[") "a" _NEWLINE\n%declare _NEWLINE', {}, 'in rule start, "(" is not ended'),
        ('start: "a"', {}, "the layout's _NEWLINE is not declared"),
        ('start: "a" _NEWLINE\n_NEWLINE: "x"', {}, "the layout's _NEWLINE is not declared"),
        ('start: "a"', {"newline": "_INDENT"}, "are three terminals"),
        ('start: "a"', {"open": "("}, "open is a list of names"),
        ('start: "a"', {"tab": 0}, "tab is a number of columns"),
        ('start: "a" X _NEWLINE\n%declare X _NEWLINE', {}, "X is declared without a definition"),
    ],
)  # fmt: skip
def test_faults_are_named(grammar, fields, message):
    with pytest.raises(GrammarError, match=re.escape(message)):
        constrain.grammar(grammar, layout=constrain.Layout(**fields))


def test_a_place_is_shown():
    with pytest.raises(GrammarError) as caught:
        constrain.grammar('start: "a" b\nb: _INDENT "a" _NEWLINE\n%declare _NEWLINE _INDENT', layout={})
    assert caught.value.place == 'line 2, column 1\nb: _INDENT "a" _NEWLINE\n^'


def test_other_faults():
    with pytest.raises(UnsatisfiableError, match="derives no text in lines"):
        constrain.grammar('start: "a" _INDENT "b" _NEWLINE _DEDENT\n%declare _NEWLINE _INDENT _DEDENT', layout={})
    with pytest.raises(GrammarError, match="needs a Lark grammar and lexer='greedy'"):
        constrain.grammar(SUBSET, lexer="dynamic", layout={})
    with pytest.raises(GrammarError, match="there is no 'tabs'"):
        constrain.grammar(SUBSET, layout={"tabs": 8})
    with pytest.raises(GrammarError, match="a layout is a Layout, not int"):
        constrain.grammar(SUBSET, layout=8)  # type: ignore[arg-type]
