"""A refused name is told, with the known one that is nearly it."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
from constrain import monitors

SHOP = {"customers": ["id", "name", "city"], "orders": ["id", "total"]}
ROWS = [  # language, its monitor, a text, the name in it, the name that is meant
    ("sql", SHOP, "SELECT nme FROM customers", "nme", "name"),
    ("sql", SHOP, "SELECT name FROM custmers", "custmers", "customers"),
    ("sql", SHOP, "SELECT customers.nme FROM customers", "nme", "name"),
    ("sql", SHOP, "SELECT lenght(name) FROM customers", "lenght", "length"),
    ("sql", SHOP, "SELECT name FROM customers WHERE ciy = 1", "ciy", "city"),
    ("sql", SHOP, "SELECT xyz FROM customers", "", ""),
    ("python", None, "import math\nprint(math.sqrtt(2))\n", "sqrtt", "sqrt"),
    ("python", None, "def f(count):\n    return cuont\n", "cuont", "count"),
    ("typescript", None, "const total = 1; console.log(totl);", "totl", "total"),
    ("c", None, "int main(void) { int total = 1; return totla; }", "totla", "total"),
    ("jinja", {"user": ["name"]}, "{% set title = 1 %}{{ titel }}", "titel", "title"),
]


@pytest.mark.parametrize(("language", "given", "text", "written", "meant"), ROWS, ids=[row[2] for row in ROWS])
def test_the_name_that_is_meant(language: str, given: Any, text: str, written: str, meant: str) -> None:
    monitor = getattr(monitors, language)(*([] if given is None else [given]))
    constraint = monitors.monitored(constrain.collection.load(language), monitor)
    fault = constraint.residual_fault(text)
    assert fault is not None
    assert (f"{written!r} is not known there; did you mean {meant!r}?" in fault) == bool(written)
    assert ("did you mean" in fault) == bool(written)
    if written:
        assert constraint.residual_fault(text.replace(written, meant)) is None
