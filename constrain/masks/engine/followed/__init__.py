"""Followed rules: budgets of tokens and temperatures of a grammar's rules (`rule[max_tokens=20, temperature=0.5]`).

The constraint's guard is wrapped in one that also knows which rules the text is in (guard.py). The engine sees no more
than a guard; only `Matcher.temperature` asks it for something else.

takes: a constraint with followed rules (cfg/followed.py), its guard
gives: `followed_by` -> a `TokenGuard`; `tempered_rule`, `refuse_tempered` for what draws tokens
start reading at: guard.py, then rule_states.py for the states, marked.py for the grammar with marks
"""

from constrain.masks.engine.followed.guard import FollowedGuard, followed_by, refuse_tempered, tempered_rule

__all__ = ["FollowedGuard", "followed_by", "refuse_tempered", "tempered_rule"]
