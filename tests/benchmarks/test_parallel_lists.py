"""benchmarks/parallel_lists.py: answers are right by definition, and constraints allow every right answer."""

from __future__ import annotations

import random

import pytest

from parallel_lists import TASKS, is_right, language, question


@pytest.mark.parametrize("task", TASKS)
def test_right_answers_are_right_and_allowed(task: str) -> None:
    rng = random.Random(3)
    for _ in range(20):
        prompt, answer = question(task, rng)
        assert is_right(task, prompt, answer, answer)
        assert language(task, prompt).accepts(answer)
        assert not is_right(task, prompt, answer, answer[:-1])
        assert not language(task, prompt).accepts(answer[:-1])


def test_answers_by_hand() -> None:
    assert is_right("random", "x-zabcdef:", "", "abzdef")
    assert not is_right("random", "x-zabcdef:", "", "azzdef")
    assert not is_right("random", "x-zabcdef:", "", "abcdef")
    assert is_right("shuffle", "h--abcdef:", "", "bacdef")
    assert not is_right("shuffle", "h--abcdef:", "", "abcdef")
    assert not is_right("shuffle", "h--abcdef:", "", "aacdef")
    assert is_right("index", "i2zabcdef:", "abzdef", "abzdef")
    assert not language("random", "x-zabcdef:").accepts("azzdef")
    assert language("index", "i2zabcdef:").accepts("zzzzzz")
