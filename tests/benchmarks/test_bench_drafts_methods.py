"""The log-evidence that drafts_methods.py states, beside numbers that are known, and the chats that it asks."""

from __future__ import annotations

import math
import random

import pytest

import constrain
from constrain.masks.derived.members import is_member
from drafts_methods import PLAIN, TASKS, log_evidence
from toy_model import tiny_tokenizer


def test_equal_estimates_leave_no_interval() -> None:
    """Also of masses that are no doubles; a question whose estimates are all zero has no logarithm."""
    assert log_evidence([[-2.0, -2.0], [-4000.0] * 3]) == (-2001.0, 0.0)
    assert all(map(math.isnan, log_evidence([[-1.0], [-math.inf]])))
    assert math.isnan(log_evidence([[-1.0]])[1])


def test_the_interval_holds_the_mass_of_nineteen_in_twenty() -> None:
    """Estimates of a known mass: one half or three halves of it, as likely."""
    drawn = random.Random(1)
    inside = 0
    for _ in range(400):
        questions = [[math.log(drawn.choice((0.5, 1.5)) * mass) for _ in range(200)] for mass in (1e-3, 1e-9)]
        mean, half = log_evidence(questions)
        inside += abs(mean - (math.log(1e-3) + math.log(1e-9)) / 2) <= half
    assert inside == pytest.approx(380, abs=20)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_shown_is_an_answer(name: str) -> None:
    """Each is a member of the schema, and no question is asked that was shown."""
    task = TASKS[name]
    constraint = constrain.json_schema(task.schema)
    assert all(is_member(constraint, answer) for _, answer in task.shown)
    assert not {question for question, _ in task.shown} & set(task.questions)


def test_a_chat_of_a_model_without_a_template() -> None:
    """The task is told once, at the beginning; answers end as texts do."""
    task, tokenizer = TASKS["calls"], tiny_tokenizer()
    tokenizer.chat_template = PLAIN
    text = tokenizer.apply_chat_template(task.turns("Who?", 2), tokenize=False)
    (first, answer), (second, other) = task.shown[:2]
    end = tokenizer.eos_token
    assert text.removeprefix(tokenizer.bos_token or "") == (
        f"user:\n{task.said} {first}\nassistant:\n{answer}{end}\nuser:\n{second}\nassistant:\n{other}{end}\n"
        "user:\nWho?\nassistant:\n"
    )
    assert [turn["content"] for turn in task.turns("Who?", 0)] == [f"{task.said} Who?"]
