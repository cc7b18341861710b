"""The monitor of Jinja: what jinja2 finds undeclared is refused, and nothing that it renders."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any, TypedDict

import pytest
from lexeme_reading import first_refusal
from token_reading import check_masks, read_by_token

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.monitors import accepted_beginning, jinja, monitored, names_at
from tables import table

jinja2 = pytest.importorskip("jinja2", reason="the verdicts are those of the package jinja2")
from jinja2 import meta, nodes  # noqa: E402

TABLE = table("monitors_jinja")


@dataclass
class Person:
    name: str
    friends: list[Person]

    def greet(self, loudly: bool = False) -> str:
        return self.name


class Order(TypedDict):
    total: float
    buyer: Person


VARIABLES: dict[str, Any] = {
    "user": {"name": "Ada", "tags": ["a"], "address": {"city": "Bern"}}, "person": Person, "people": list[Person],
    "orders": list[Order], "rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], "totals": dict[str, Order],
    "site": str, "n": 3, "open": None,
}  # fmt: skip
MONITOR = jinja(VARIABLES)
KNOWN = jinja(VARIABLES, ahead="known")
ENVIRONMENT = jinja2.Environment()

# (beginning that is accepted, rest in which the refusal is)
REFUSED = TABLE["refused"]
# What "any" puts off, and "known" refuses; (beginning, rest)
PUT_OFF = TABLE["put_off"]
ACCEPTED = TABLE["accepted"]
PAGES = ["page", "chat"]
OF_PAGES: dict[str, Any] = {
    "page": {"orders": dict[int, Any], "url": str, "names": list, "options": dict},
    "chat": {
        "messages": [{"role": "user", "content": "Hi", "tool_calls": None}],
        "add_generation_prompt": bool,
        "bos_token": str,
        "raise_exception": None,
    },
}


def undeclared(text: str) -> set[str]:
    """The names that jinja2 says a template is to be given, without the names that the template binds somewhere.

    jinja2 lists names that both branches of an `if` bind, and what blocks use of the names around them.
    """
    tree = ENVIRONMENT.parse(text)
    bound = {node.name for node in tree.find_all((nodes.Name, nodes.Macro)) if getattr(node, "ctx", "store") == "store"}
    bound |= {node.target for node in tree.find_all(nodes.Import)}
    bound |= {
        name[-1] if isinstance(name, tuple) else name for n in tree.find_all(nodes.FromImport) for name in n.names
    }
    names: set[str] = meta.find_undeclared_variables(tree)
    return names - bound


def page(name: str) -> str:
    return (constrain.collection.folder("jinja").path / "accept" / f"{name}.jinja").read_text(encoding="utf-8")


@pytest.mark.parametrize(("before", "rest"), REFUSED)
def test_a_name_that_a_template_does_not_have_is_refused_where_it_stands(before: str, rest: str) -> None:
    for monitor in (MONITOR, KNOWN):
        accepted = accepted_beginning(monitor, before + rest)
        assert accepted.startswith(before), accepted
        assert len(accepted) < len(before + rest)
        assert first_refusal(monitor, (before + rest).encode()) is not None


@pytest.mark.parametrize(("before", "rest"), PUT_OFF)
def test_what_may_be_bound_later_is_put_off(before: str, rest: str) -> None:
    assert first_refusal(MONITOR, (before + rest).encode()) is None
    accepted = accepted_beginning(KNOWN, before + rest)
    assert accepted.startswith(before)
    assert len(accepted) < len(before + rest)
    if "% set m = 1 %}{{ f" in rest:
        assert first_refusal(MONITOR, (before + rest.replace("set m", "set k")).encode()) == len(before + rest)


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_jinja_compiles_is_accepted(text: str) -> None:
    ENVIRONMENT.compile(text)
    assert undeclared(text) <= {*VARIABLES}
    for monitor in (MONITOR, KNOWN):
        assert accepted_beginning(monitor, text) == text
        assert first_refusal(monitor, text.encode()) is None


@pytest.mark.parametrize("name", ["chat", pytest.param("page", marks=pytest.mark.slow)])
def test_pages_are_read_token_by_token(name: str) -> None:
    text = page(name)
    monitor = jinja(OF_PAGES[name])
    vocabulary = vocabularies.tekken()
    compiled = constrain.compile(monitored(constrain.collection.load("jinja"), monitor), vocabulary)
    assert read_by_token(compiled, text.encode()).is_accepting()


@pytest.mark.parametrize("name", PAGES)
def test_one_changed_name_is_refused_if_jinja_finds_it_undeclared(name: str) -> None:
    """Each name of a page, changed: what jinja2 finds undeclared is refused, what it compiles with less is accepted."""
    text, monitor = page(name), jinja(OF_PAGES[name])
    words = sorted({w for w in text.replace(".", " ").replace("(", " ").replace("[", " ").split() if w.isidentifier()})
    refusals = 0
    for word in words:
        at = text.find(word)
        other = text[:at] + "zz" + text[at + len(word) :]
        try:
            ENVIRONMENT.compile(other)
        except jinja2.TemplateSyntaxError:
            continue
        ours = first_refusal(monitor, other.encode()) is None
        if not undeclared(other) <= {*OF_PAGES[name]}:
            assert not ours, other[at - 20 : at + 20]
        refusals += not ours
    assert refusals > 5


def drawn(rng: random.Random, depth: int, conditions: list[str]) -> str:
    """Some statements that print and bind x and y. Each condition is used once; a macro is called in its scope."""
    parts = []
    for _ in range(rng.randrange(1, 4)):
        name, body = rng.choice("xy"), ""
        kind = rng.choice(["{{ x }}", "set", *(["if", "for", "with", "macro", "block set"] if depth else ["set"])])
        condition = f"c{len(conditions)}"
        if kind == "if":
            conditions.append(condition)
        if depth and kind not in ("{{ x }}", "set"):
            body = drawn(rng, depth - 1, conditions)
        if kind == "if":
            other = "{% else %}" + drawn(rng, depth - 1, conditions) if rng.random() < 0.6 else ""
            parts.append(f"{{% if {condition} %}}{body}{other}{{% endif %}}")
        elif kind == "macro":
            macro, parameter = f"m{rng.randrange(10**6)}", rng.choice(["", name])
            between = rng.choice(["", "{% set x = 1 %}"])
            parts.append(f"{{% macro {macro}({parameter}) %}}{body}{{% endmacro %}}{between}")
            parts.append(f"{{{{ {macro}({parameter and 1}) }}}}")
        else:
            parts.append(
                {
                    "set": f"{{% set {name} = 1 %}}",
                    "for": f"{{% for {name} in [1] %}}{body}{{% endfor %}}",
                    "with": f"{{% with {name} = {rng.choice(['1', 'x ~ 1', 'y ~ 1'])} %}}{body}{{% endwith %}}",
                    "block set": f"{{% set {name} %}}{body}{{% endset %}}",
                }.get(kind, f"{{{{ {name} }}}}")
            )
    return "".join(parts)


def faults(text: str, conditions: list[str]) -> int:
    """For how many values of its conditions the template prints what is not defined."""
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)
    faulty = 0
    for values in product([False, True], repeat=len(conditions)):
        try:
            template.render(dict(zip(conditions, values, strict=True)))
        except jinja2.UndefinedError:
            faulty += 1
    return faulty


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_scopes_are_those_of_jinja(count: int) -> None:
    """A text that "known" accepts prints nothing undefined; one that "any" refuses does, for some conditions."""
    rng, verdicts = random.Random(count), Counter[str]()
    for _ in range(count):
        conditions: list[str] = []
        text = drawn(rng, 2, conditions)
        if len(conditions) > 6:
            continue
        variables = dict.fromkeys(conditions, True)
        known, later = (
            first_refusal(jinja(variables, ahead=ahead), text.encode()) is None for ahead in ("known", "any")
        )
        failing = faults(text, conditions)
        verdicts[f"{known} {later} {bool(failing)}"] += 1
        assert later or not known, text
        assert not (known and failing), text
        assert later or failing, text
    assert verdicts["True True False"] > count / 10, verdicts
    assert verdicts["False False True"] > count / 10, verdicts


STRADDLING = [
    b"{{ ", b" }}", b"{% ", b" %}", b"-%}", b"}}{{", b"us", b"user.", b".na", b"me }}", b"r.name }}x", b"for x in ",
    b"rows %}", b"x.", b"id }}", b"{% endfor %}", b"{% if ", b"{% else %}", b"{% endif %}", b"{% set ", b" = ",
    b" is ", b"defined", b"def", b"ined and", b"|", b"up", b"per }}", b"|upper|", b"nosuch", b"loop.", b"index",
    b"{# ", b" #}", b"{% raw %}", b"{% endraw %}", b"{'a': ", b"}}}", b"(a=", b"site", b"', '", b" not ", b" else ",
    b"{% macro f(a", b") %}", b"1.5",
]  # fmt: skip
STARTS = TABLE["starts"]


@pytest.mark.parametrize("steps", [4, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("monitor", [MONITOR, KNOWN], ids=["any", "known"])
def test_a_mask_of_templates_is_what_each_token_may_do(monitor: Any, steps: int) -> None:
    def of_member(text: Any) -> None:
        if monitor is KNOWN:
            assert undeclared(text.decode() if isinstance(text, bytes) else text) <= {*VARIABLES}

    starts = [start.encode() for start in STARTS]
    check_masks("jinja", monitor, STRADDLING, starts, steps, 0.8, of_member, refused_starts=starts)


def test_names_of_templates_can_be_asked_for() -> None:
    assert names_at(MONITOR, "{{ user.address.c") == names_at(MONITOR, "{{ user.address.")
    assert {"city", "items"} <= set(names_at(MONITOR, "{{ user.address.") or ())
    assert names_at(MONITOR, "{{ open.") is None
    assert "friends" in (names_at(MONITOR, "{% for o in orders %}{{ o.buyer.") or ())
    assert names_at(MONITOR, "{{ n is not ") == sorted(
        ENVIRONMENT.tests.keys() & {w for w in ENVIRONMENT.tests if w.isalpha()}
    )
    assert names_at(MONITOR, "{{ n|") == sorted(ENVIRONMENT.filters)
    assert pickle.loads(pickle.dumps(jinja({"n": int}))) == jinja({"n": int})


def test_filters_and_tests_of_ones_own() -> None:
    environment = jinja2.Environment()
    environment.filters["money.short"] = str
    environment.tests["vip"] = bool
    environment.globals["now"] = 1
    monitor = jinja({"n": 1}, filters=["shout"], tests=["prime"], environment=environment)
    text = "{{ n|shout|money.short ~ now if n is vip or n is prime }}"
    assert accepted_beginning(monitor, text) == text
    assert accepted_beginning(monitor, "{{ n|money.long }}") == "{{ n|money."
    assert accepted_beginning(monitor, "{{ n|money }}") == "{{ n|money "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "variables are values by name"),
        (({"a b": 1},), "variables are values by name"),
        (({}, {"filters": "upper"}), "filters= are names"),
        (({}, {"tests": [1]}), "tests= are names"),
        (({}, {"ahead": "some"}), "ahead= is"),
    ],
)
def test_bad_arguments_of_templates_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        jinja(arguments[0], **(arguments[1] if len(arguments) > 1 else {}))
