"""Sets that grow and are shared between their versions: values stay apart, whoever adds them and from wherever."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from constrain.languages.guards.seen import Seen


class SlowLog(list):
    """A log during whose look at its length another thread has the time to come between."""

    def __len__(self) -> int:
        n = super().__len__()
        time.sleep(0.002)
        return n


def test_forks_of_several_threads_add_at_once() -> None:
    begun = Seen().add("first")
    begun._log = SlowLog(begun._log)
    found: dict[int, Seen] = {}
    ready = threading.Barrier(8)

    def work(k: int) -> None:
        ready.wait()
        found[k] = begun.add(f"value {k}").add("last")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, seen in found.items():
        assert list(seen) == ["first", f"value {k}", "last"]
        assert [f"value {j}" in seen for j in range(8)] == [j == k for j in range(8)]
    assert list(begun) == ["first"]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))))
def test_versions_are_sets_of_their_own(steps: list[tuple[int, int]]) -> None:
    """Each step adds a value to some earlier version; a list beside each says what it holds."""
    versions = [(Seen(), [])]
    for which, value in steps:
        seen, held = versions[which % len(versions)]
        if value not in held:
            versions.append((seen.add(value), [*held, value]))
    for seen, held in versions:
        assert list(seen) == held
        assert len(seen) == len(held)
        assert [value in seen for value in range(10)] == [value in held for value in range(10)]
    for seen, held in versions:
        for other, also in versions:
            assert (seen == other) == (held == also)
            assert held != also or hash(seen) == hash(other)
