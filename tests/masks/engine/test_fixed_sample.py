"""Masks are bit for bit what they were, and cost the kernels no more work: see fixed_sample.py."""

import fixed_sample
import pytest
from fixed_sample import Counts, Rows

MORE = 1.05  # the work may grow by this factor: a record more or less here and there is no regression
LESS = 0.5  # below this share the table says too little: write it anew, so that the gain is kept
AGAIN = "python tests/masks/engine/fixed_sample.py --write"


@pytest.fixture(scope="module", params=list(fixed_sample.SAMPLES))
def sample(request) -> tuple[str, Rows, Counts]:
    rows, counts = fixed_sample.run(request.param)
    return request.param, rows, counts


def test_masks_are_bit_identical(sample: tuple[str, Rows, Counts]) -> None:
    name, rows, _ = sample
    expected = {key: row for key, row in fixed_sample.read_digests().items() if key[0] == name}
    changed = fixed_sample.differences(expected, rows)
    assert not changed, f"masks changed; if the language was meant to change: {AGAIN}\n" + "\n".join(changed)


def test_the_kernels_do_not_work_more(sample: tuple[str, Rows, Counts]) -> None:
    """Counts, not times: a machine of CI may be as busy as it likes."""
    name, _, counts = sample
    expected = fixed_sample.read_work()[name]
    assert counts.keys() == expected.keys()
    faults = [
        f"{key}: {expected[key]} -> {count}"
        for key, count in counts.items()
        if not LESS * expected[key] - 2 <= count <= MORE * expected[key] + 2
    ]
    assert not faults, f"another amount of work; if that is meant: {AGAIN}\n" + "\n".join(faults)


def test_the_sample_says_something() -> None:
    rows = fixed_sample.read_digests()
    cases = {(vocabulary, case) for vocabulary, case, _ in rows}
    masks = [int(row.partition("\t")[0]) for row in rows.values()]
    assert len(cases) > 220 and sum(masks) > 8000
    assert len({row.partition("\t")[2] for row in rows.values()}) > 0.85 * len(rows)


def test_a_changed_bit_is_seen() -> None:
    """The digest is of every mask of a text, and of all of its words."""

    class Fake:
        def __init__(self, flipped: int) -> None:
            self.flipped, self.filled = flipped, 0

        def fill_mask(self, row) -> None:
            row[:] = 7
            row[-1] ^= self.filled == self.flipped
            self.filled += 1

    found = set()
    for flipped in range(4):
        masks = fixed_sample.Masks(Fake(flipped), words=9)
        masks.take()
        masks.take()
        found.add(masks.found())
    assert len(found) == 4
