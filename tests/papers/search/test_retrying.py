"""`Retrying`: the distribution of outputs, from all draws; and units by rules of a grammar."""

import math
from collections.abc import Iterator

import pytest
from sampling_cases import Case, Tokens
from test_unsure_searches import Twin, law_of, models, summed

import constrain
from constrain.errors import ConstrainError
from constrain.papers import Retrying

MARKS = b"(b"


def refuses(text: str) -> bool:
    return text.count("a") % 2 == 1 or text.endswith("((")


class RetryingTwin(Twin):
    """The distribution by its formula: units of masked decoding, conditioned on the check."""

    def __init__(self, case: Case, tries: int) -> None:
        super().__init__(case)
        self.tries = tries

    def text(self, ids: Tokens) -> str:
        return b"".join(self.vocabulary.tokens[v] or b"" for v in ids if v not in self.vocabulary.eos_ids).decode()

    def units(self, ids: Tokens, begun: int) -> Iterator[tuple[float, Tokens, bool]]:
        """(probability, the text with the unit, whether it may stand)"""
        written = ids[begun:]
        is_cut = len(ids) == self.case.settings.max_tokens and not self.complete(ids)
        if written and (self.ended(ids) or any(byte in MARKS for byte in self.vocabulary.tokens[written[-1]] or b"")):
            yield 1.0, ids, is_cut or not refuses(self.text(ids))
        elif not self.law(ids):
            yield 1.0, ids, False
        else:
            for token, p in self.law(ids).items():
                for chance, output, stands in self.units((*ids, token), begun):
                    yield p * chance, output, stands

    def outputs(self, ids: Tokens = ()) -> Iterator[tuple[float, Tokens]]:
        if self.ended(ids):
            yield 1.0, ids
            return
        drawn = [*self.units(ids, len(ids))]
        accepted = math.fsum(p for p, _, stands in drawn if stands)
        yield (1 - accepted) ** self.tries, ids
        for p, output, stands in drawn:
            if stands:
                for chance, whole in self.outputs(output):
                    yield p / accepted * (1 - (1 - accepted) ** self.tries) * chance, whole


@pytest.mark.parametrize("tries", [1, 2, 3])
@pytest.mark.parametrize("case", models(3, ("forced chain", "one member", "optional tail")), ids=str)
def test_the_law_of_retrying(case: Case, tries: int) -> None:
    method = Retrying(
        lambda text: not refuses(text), boundary=lambda _, new: any(byte in MARKS for byte in new), tries=tries
    )
    expected = summed(RetryingTwin(case, tries).outputs(), least=1e-15)
    assert law_of(case, method) == pytest.approx(expected, abs=1e-10)


def test_units_of_a_rule_are_written_again() -> None:
    model = constrain.reference.load()
    grammar = 'start: statement+\nstatement: NAME "=" NUMBER ";"\nNAME: /[a-c]/\nNUMBER: /[0-9]/'
    names: list[str] = []

    def check(text: str) -> bool:
        names[:] = [part[0] for part in text.split(";") if part]
        return len(set(names)) == len(names)

    method = Retrying(check, boundary="rule:statement", tries=40)
    outputs = constrain.generate(model, "", grammar=grammar, method=method, n=6, seed=2, max_tokens=9)
    assert any(";" in g.text for g in outputs)
    for g in outputs:
        assert check(g.text)
        assert g.stats.method.startswith("retrying: ")


def test_options_of_retrying() -> None:
    with pytest.raises(ConstrainError, match="check="):
        Retrying("no function")  # type: ignore[arg-type]
    with pytest.raises(ConstrainError, match="tries"):
        Retrying(bool, tries=0)
    with pytest.raises(ConstrainError, match="no boundary"):
        Retrying(bool, boundary="statement")
