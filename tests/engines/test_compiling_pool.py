"""Constraints are read and compiled in pools: of threads that share an engine's compiler, and of processes."""

import json
import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

import constrain
from constrain import LimitError, Limits
from constrain.engines.requests.compiler import RequestCompiler
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions

TEXTS = [
    json.dumps(
        {"type": "object", "properties": {f"k{i}": {"enum": [i, str(i)]}}, "required": [f"k{i}"], "maxProperties": 1}
    )
    for i in range(24)
]
ENDLESS = json.dumps(
    {"patternProperties": {f"^.*{chr(97 + i)}{i}.*$": {"const": i} for i in range(20)}}  # 2^20 classes of keys
)  # reading it takes longer than any limit


class FastTokenizer:
    """An engine's tokenizer as a vocabulary sees it."""

    eos_token_id = 1

    def __init__(self) -> None:
        self.backend_tokenizer = Tokenizer.from_file(str(constrain.reference.path() / "tokenizer.json"))


@pytest.fixture
def compiler() -> RequestCompiler:
    return RequestCompiler(FastTokenizer(), 3072, EngineOptions(seconds=1000, cached=len(TEXTS)))


def masks(compiled: Any, text: bytes) -> list[bytes]:
    """The masks after each beginning of a text."""
    matcher, rows = compiled.matcher(), []
    for i in range(len(text) + 1):
        row = np.zeros(compiled.vocabulary.words, np.uint32)
        matcher.fill_mask(row)
        rows.append(row.tobytes())
        assert i == len(text) or matcher.advance_bytes(text[i : i + 1])
    return rows


def test_threads_compile_what_one_compiles(compiler: RequestCompiler) -> None:
    """Each text is asked for by three threads at once; masks are those of an automaton that no thread shares."""
    with ThreadPoolExecutor(4) as pool:
        compiled = list(pool.map(lambda text: compiler.compiled("json", text), [t for t in TEXTS for _ in range(3)]))
    alone = constrain.masks.engine.TokenAutomaton(compiler.vocabulary)
    for i, text in enumerate(TEXTS):
        member = f'{{"k{i}": "{i}"}}'.encode()
        expected = constrain.compile(
            constraint_of("json", text, compiler.options), compiler.vocabulary, automaton=alone
        )
        for one in compiled[3 * i : 3 * i + 3]:
            assert masks(one.compiled, member) == masks(expected, member)  # of all tokens
        assert compiler.compiled("json", text) is compiler.compiled("json", text)


def test_a_compile_in_a_pool_is_cancelled(compiler: RequestCompiler) -> None:
    """The compile ends soon after, keeps nothing, and leaves its thread and the others to go on."""
    unwanted, begun = threading.Event(), threading.Event()

    def cancelled() -> bool:
        begun.set()
        return unwanted.is_set()

    def compile_unless_cancelled() -> Any:
        with Limits(None, None, cancelled):
            return compiler.compiled("json", ENDLESS)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(compile_unless_cancelled)
        assert begun.wait(60)
        others = [pool.submit(compiler.compiled, "json", text) for text in TEXTS[:8]]
        assert all(other.result(60).matcher().read_text(b"{") for other in others)
        assert not slow.done()
        unwanted.set()
        assert isinstance(slow.exception(60), LimitError)
        assert "was cancelled" in str(slow.exception())
        assert pool.submit(compiler.compiled, "json", TEXTS[9]).result(60)
    assert len(compiler.compiled.results) == 9


def read(text: str) -> constrain.Constraint:
    """In another process: read a schema wholly."""
    constraint = constraint_of("json", text, EngineOptions())
    constraint.to_grammar()
    return constraint


def test_processes_read_and_this_one_compiles() -> None:
    """Constraints of other processes equal the ones read here, and have their masks."""
    vocabulary = constrain.Vocabulary.of_bytes()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        given = list(pool.map(read, TEXTS[:4]))
        refused = pool.submit(read, '{"type": "text"}').exception(60)
    assert isinstance(refused, constrain.SchemaError) and refused.place == '$\n{"type": "text"}'
    for i, constraint in enumerate(given):
        here = constraint_of("json", TEXTS[i], EngineOptions())
        assert constraint == here
        member = f'{{"k{i}": {i}}}'.encode()
        assert masks(constrain.compile(constraint, vocabulary), member) == masks(
            constrain.compile(here, vocabulary), member
        )
