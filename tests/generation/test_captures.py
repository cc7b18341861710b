"""Captures of generated texts."""

from __future__ import annotations

import constrain


def test_a_generation_has_the_captures_of_its_text():
    model = constrain.reference.load()
    grammar = 'start: key "=" value\nkey[capture]: /[a-z]{1,3}/\nvalue[capture="v"]: /[0-9]/{2}'
    for stop in (None, ";"):
        constraint = constrain.grammar(grammar)
        output = constrain.generate(model, "x: ", constraint=constraint, seed=3, stop=stop)
        assert output.finish_reason == "stop"
        key, value = output.text.split("=")
        assert [(c.name, c.text) for c in output.captures] == [("key", key), ("v", value)]
        assert [output.text[c.begin : c.end] for c in output.captures] == [key, value]


def test_a_text_that_is_cut_off_has_none():
    grammar = constrain.grammar("start: a\na[capture]: /[a-z]{900}/")
    output = constrain.generate(constrain.reference.load(), "x: ", constraint=grammar, seed=3, max_tokens=3)
    assert output.finish_reason == "length" and output.captures == []
