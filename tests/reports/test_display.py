"""A shown generation: the text can be read, nothing is lost, and every number is the recorded one."""

import io
import math
from html.parser import HTMLParser

import pytest
from rich.console import Console

import constrain
from constrain.reports.display.html import page, shares_html, tokens_html
from constrain.reports.display.tokens import Alternative, ShownToken, readable, shown_tokens
from constrain.sampling.core.job import TokenRecord

MODEL = constrain.reference.load()


class Read(HTMLParser):
    """The text of a page, its tooltips, and whether every element is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.titles, self.open, self.links = "", [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag != "meta":
            self.open.append(tag)
        if "title" in values:
            self.titles.append(values["title"])
        self.links += [values[name] for name in ("src", "href") if name in values]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


@pytest.mark.parametrize(
    "pieces, texts",
    [
        ([b"a", b"bc"], ["a", "bc"]),
        ([b"n", b"\xc3", b"\xa9!"], ["n", "·", "é!"]),
        (["😀".encode()[:1], "😀".encode()[1:3], "😀".encode()[3:] + b"x"], ["·", "·", "😀x"]),
        ([b"\xe2\x82"], ["\ufffd"]),
        ([], []),
    ],
)
def test_parts_of_characters_wait_for_the_rest(pieces, texts):
    assert list(readable(pieces)) == texts


def test_numbers_are_those_of_the_trace():
    trace = [TokenRecord(5, math.log(0.25), 0.0, math.log(0.5)), TokenRecord(6, -1.0, 0.0, 0.0, True)]
    one, two = shown_tokens([b"x", b"<"], [5, 6], trace)
    assert (one.text, one.token, one.forced) == ("x", 5, False)
    assert (
        one.probability == pytest.approx(0.25)
        and one.allowed == pytest.approx(0.5)
        and one.surprise == pytest.approx(2)
    )
    assert two.forced and two.text == "<"
    assert shown_tokens([b"x"], [5], []) == [ShownToken("x", 5)]
    assert shown_tokens([b"x"], [5], [TokenRecord(5, math.nan, 0.0, -math.inf)]) == [ShownToken("x", 5, None, 0.0)]


def test_html_is_closed_escaped_and_stands_alone():
    tokens = [
        ShownToken('<b>&"', 7, 0.25, 0.5, alternatives=(Alternative("</pre>", 0.5, False),)),
        ShownToken("\n", 8, 1.0, 1.0, True),
    ]
    read = Read(page("a <title>", tokens_html(tokens, ["1 < 2"])))
    assert not read.open and not read.links
    assert '<b>&"↵\n' in read.text and "1 < 2" in read.text
    assert "p = 0.25" in read.titles[0] and "50 % to what was allowed" in read.titles[0]
    assert "'</pre>'  not allowed" in read.titles[0] and "forced" in read.titles[1]


def test_colours_follow_the_numbers():
    """The less likely, the darker; a line only where the constraint took mass away; forced tokens have no colour."""
    likely, unlikely = (tokens_html([ShownToken("x", 1, p, 1.0)]).partition("<pre>")[2] for p in (0.9, 0.001))
    depth = [float(html.partition("rgba(37,99,235,")[2].partition(")")[0]) for html in (likely, unlikely)]
    assert depth[0] < depth[1] <= 0.6
    assert "border-bottom" not in likely.partition("</pre>")[0]
    assert (
        "border-bottom:4px" in tokens_html([ShownToken("x", 1, 0.9, 0.01)]).partition("<pre>")[2].partition("</pre>")[0]
    )
    assert (
        "background"
        not in tokens_html([ShownToken("x", 1, 0.001, 0.1, True)]).partition("<pre>")[2].partition("</pre>")[0]
    )


def test_tables_of_shares():
    read = Read(shares_html([("<red>", 0.75), ("", 0.25)], "2 answers"))
    assert not read.open and "<red>" in read.text and "0.750" in read.text and "2 answers" in read.text


def test_an_output_shows_itself():
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    output = constrain.generate(MODEL, "Person: ", schema=schema, seed=3, max_tokens=60)
    assert b"".join(output.pieces).startswith(output.text.encode())
    read = Read(output._repr_html_())
    assert output.text.replace("\n", "↵\n") in read.text.replace("·", "")
    assert len(read.titles) == len(output.tokens)
    screen = Console(file=io.StringIO(), width=500)
    output.show(screen)
    assert output.text.replace("\n", "↵\n") in screen.file.getvalue().replace("·", "")
    outputs = constrain.generate(MODEL, "A colour: ", choices=["red", "green"], n=8, seed=1, canonical=False)
    shown = Read(outputs._repr_html_()).text  # equal texts stand once, with what they weigh together
    for text in ("red", "green"):
        same = [output for output in outputs if output.text == text]
        cuts = len({tuple(output.tokens) for output in same})
        assert f"{text} ×{len(same)} in {cuts} cuts" in shown and f"{text!r} ×{len(same)}" in repr(outputs)
        weighed = zip(outputs, outputs.weights, strict=True)
        assert f"{sum(weight for each, weight in weighed if each.text == text):.3f}" in shown
    assert f"{outputs.vote().share:.3f}" in Read(outputs.vote()._repr_html_()).text
