"""Masks of the places of trees: all at once or one by one, they are the matchers' own."""

from typing import Any

import numpy as np
import pytest
from sampling_cases import Case
from speculative_cases import LETTERS, context_of

from constrain.errors import LimitError
from constrain.sampling import Sample, Settings, TorchDraw
from constrain.speculative import NONE, DraftBudget, DraftTree, TreeBuilder
from constrain.speculative.masks import TreeMasks, fill
from toy_matcher import ToyConstraint

BALANCED = ToyConstraint(LETTERS, is_prefix=lambda t: len(t) <= 3 and b"bb" not in t, is_member=lambda t: len(t) == 3)
ENDS = np.array([1 << 4], np.uint32)


def masks_of(last: int = NONE) -> TreeMasks:
    """a, b under the root, c and ab under b: places of several choices, and some where the text is full."""
    draft = DraftTree(np.array([0, 1, 2, 3], np.int32), np.array([-1, -1, 1, 1], np.int32), np.zeros(4))
    tree = TreeBuilder().build(context_of(BALANCED), [draft], DraftBudget(9, 9))
    assert len(tree) == 4
    case = Case("dyck", 0, settings=Settings())
    job = case.job(TorchDraw(0))
    job.matchers, job.size = [BALANCED.matcher()], 5
    return TreeMasks(job, tree, Sample(), ENDS, last)


@pytest.mark.parametrize("roots", [True, False])
@pytest.mark.parametrize("last", [NONE, 1, 2])
def test_masks_are_those_of_the_matchers(roots: bool, last: int) -> None:
    several = [masks_of(last) for _ in range(4)]
    fill(several, roots=roots)
    for each in several:
        assert each.complete is not roots
        filled = each.sample.masks
        for place, matcher in enumerate(each.tree.matchers):
            words = each.words(place)
            if each.tree.forced[place] != NONE:
                assert words is None
                continue
            expected = np.zeros(1, np.uint32)
            matcher.fill_mask(expected)
            if each.tree.depths[place - 1] * (place > 0) == last:
                expected &= ENDS
            assert words is not None and words.tolist() == [expected.tolist()]
        wanted = int((each.tree.forced == NONE).sum())
        assert (filled, each.sample.masks) == ((1, wanted) if roots else (wanted, wanted))
        assert (each.asked > 0) is (roots and wanted > 1)


def test_without_a_constraint_only_the_end_is_masked() -> None:
    masks = masks_of(1)
    masks.job.matchers = None
    fill([masks], roots=True)
    assert [None if words is None else words.tolist() for words in map(masks.words, range(3))] == [
        None, [ENDS.tolist()], [ENDS.tolist()],
    ]  # fmt: skip
    assert masks.sample.masks == 0


def test_a_mask_that_cannot_be_had_may_not_be_needed() -> None:
    """All at once fails at a place below the root: the roots are filled, that place fails when it is asked for."""
    masks = masks_of()
    asked: list[int] = []

    class Unknown:
        def fill_mask(self, row: np.ndarray) -> None:
            raise LimitError("too large")

    def fill_masks(matchers: Any, out: np.ndarray) -> None:
        asked.append(len(matchers))
        for matcher, row in zip(matchers, out, strict=True):
            matcher.fill_mask(row)

    masks.job.fill_masks = fill_masks
    masks.tree.matchers[2] = Unknown()  # type: ignore[index]
    fill([masks])
    assert (asked, masks.complete) == ([int((masks.tree.forced == NONE).sum())], False)
    assert masks.words(0) is not None
    assert masks.words(1) is not None
    with pytest.raises(LimitError):
        masks.words(2)
    masks.tree.matchers[0] = Unknown()  # type: ignore[index]
    with pytest.raises(LimitError):
        fill([masks])
