"""`parse_rust` against the regexes of pydantic's core, which are Rust's: rows, and random classes."""

import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import constrain
from constrain.errors import RegexError
from constrain.languages.automata.decide import matches
from constrain.languages.automata.parse.rust import parse_rust

core = pytest.importorskip("pydantic_core")

TEXTS = [
    "", *"abcdefgkzAKZ0459_-& ~[]^\n\r\té٣αΩ²\u212a\u00a0,|#", *map("".join, itertools.product("abA[-&9", "ab]-k1 \n")),
    "aaa", "aaaaaa", "xyz1", "abcd", "ABCD", "\a\f\t\n\r\v", "-_@/# &~", "a\nb", "aBc", "a\u212a", "ABCDEF",
]  # fmt: skip
READ = r"""
[[:alpha:]]+\d|^[[:alpha:]]{3,8}$|^[a-z&&[^aeiou]]$|^[0-9--4]$|^[a-g~~b-h]$|^[\pL--\p{Greek}&&\p{Uppercase}]$
^[^a-z&&b]$|^[&&a]$|^[a&&]$|^[--a]$|^[a--]$|^[]a]$|^[^]a]$|^[-a]$|^[a-]$|^[[a]--b]$|^[x[^xyz]]$|^[a--b--c]$
^[[:^digit:]a]$|^[[:alpha:]--[a-f]]$|a**|^a+*$|^a{2}{3}$|(?<n>a)(?P<m>b)|(?i)^[a]k$|(?i)^\p{Lu}$|(?i)^\P{Lu}$
(?i)^[^a]$|(?i)^[a--A]$|^(?i:a)b$|^a(?i)b(?-i)c$|(?U)^a+$|(?s)^.$|^.$|(?m)^a$|^(?-u:\w)$|^\w$|^\W$|^\s$|^\d$
^\bx\b$|\z|a\z|\Aa|a$|^\x41\x{42}\u0043\u{44}\U00000045\U{46}$|^\a\f\t\n\r\v$|^\-\_\@\/\#\ \&\~$|a++
^\p{Script=Greek}$|^\p{Script!=Greek}$|^\pN$|^\p{IsGreek}$|^\p{ascii}$|^[\w&&[^\d_]]$|^[\[\]]$|^[a[b]]$|^[a&&&b]$
^[a---b]$|^[a~b]$|^[^[^a]]$|^[a-c&&b-d--c]$|^[[:upper:][:digit:]_]$|^\B$|^(?i-s:a.)$|^[a&b]$|^[[:a]]$|^{2}a$
"""
REFUSED = r"""
^[a-\d]$|^[\d-a]$|a{,2}|a{|a{x}|(?<n-m>a)|(?=a)|(?>a)|\0|\1|\q|\e|a\Z|^\p{InGreek}$|^\p{alnum}$|^\p{^L}$
^[[]$|^\é$|[\b]|(?P=n)|(?#c)a|(?a)b|[|(|a)|\
"""


def oracle(pattern):
    """A function from a text to whether the pattern is found in it; None if it is none."""
    try:
        validator = core.SchemaValidator(core.core_schema.str_schema(pattern=pattern))
    except core.SchemaError:
        return None

    def found(text):
        try:
            validator.validate_python(text)
        except core.ValidationError:
            return False
        return True

    return found


def rows(text):
    return [row for line in text.split("\n") for row in line.split("|") if row]


@pytest.mark.parametrize("pattern", [*rows(READ), "(?x) ^ a b # c", "^[|]$", "a|^b$"])
def test_what_is_read(pattern):
    found, node = oracle(pattern), parse_rust(pattern)
    assert [text for text in TEXTS if found(text) != matches(node, text)] == []


NEW = "\u088f\u0cdc\ua7ce\U00010940\U00016ea0\U0001dff3\U0001e6c0\U0001f6d8\U0002ebf0\U000323b0"
"""Characters of Unicode 15 to 18: Python, the tables and Rust differ about them."""


@pytest.mark.parametrize(
    "pattern", [r"\p{Greek}", r"\P{L}", r"\W", r"\D", r"\w", r"[^\w]", r"[^\p{So}a]", r"[^a[^\d]]"]
)
def test_of_new_characters_no_more_is_taken(pattern):
    found, node = oracle(f"^{pattern}$"), parse_rust(f"^{pattern}$")
    assert [text for text in NEW if matches(node, text) and not found(text)] == []


@pytest.mark.parametrize("pattern", rows(REFUSED))
def test_what_is_refused(pattern):
    assert oracle(pattern) is None
    with pytest.raises(RegexError):
        parse_rust(pattern)


@pytest.mark.parametrize("pattern", ["[[:foo:]]", "(?x)[a b]", r"\<a", "(?R)a", r"\b{start}a"])
def test_what_is_not_read_yet(pattern):
    """Each is an error, not another meaning."""
    assert oracle(pattern) is not None
    with pytest.raises(RegexError):
        parse_rust(pattern)


def test_random_sets():
    items = st.sampled_from(["a", "b-d", "-", "&", "~", "^", "]", r"\d", r"\PL", "[:alpha:]", "[:^upper:]", r"\]", "k"])
    inside = st.recursive(
        st.lists(items, min_size=1, max_size=3).map("".join),
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["[", "[^"]), inner).map(lambda pair: f"{pair[0]}{pair[1]}]"),
            st.tuples(inner, st.sampled_from(["&&", "--", "~~", ""]), inner).map("".join),
        ),
        max_leaves=4,
    )
    seen = Counter()

    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.tuples(st.sampled_from(["^[", "^[^", "(?i)^["]), inside).map("".join))
    def check(pattern):
        pattern += "]$"
        found = oracle(pattern)
        try:
            node = parse_rust(pattern)
        except RegexError:
            assert found is None
            return
        assert found is not None
        assert [text for text in TEXTS if found(text) != matches(node, text)] == []
        seen["read"] += 1

    check()
    assert seen["read"] > 150


def test_the_door():
    assert constrain.regex(r"[a-z&&[^aeiou]]+\z", dialect="rust").accepts("bcd")
