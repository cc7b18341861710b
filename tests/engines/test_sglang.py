"""SGLang's view of the backend: against SGLang's own classes where its files are, and against stand-ins everywhere.

`make serve-test` downloads SGLang's files. The oracle of masks reads a finite language (finite_language.py).
"""

import ast
import json
import random
import runpy
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sglang_parts
import torch
from finite_language import EOS, MEMBERS, TOKENS, VOCABULARY, Failing, oracle
from sglang_parts import END_OF_THOUGHT

import constrain
from conftest import REPOSITORY
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.engines.sglang.options import VARIABLE, options_in
from constrain.errors import ConstrainError, LimitError
from constrain.masks.engine.compiled import compile_bytewise
from tables import table

TABLE = table("engine_options")

WIDTH = 3136
SCHEMA = '{"type": "object", "properties": {"a": {"enum": [1, 23]}}, "required": ["a"], "additionalProperties": false}'
MEMBER = b'{"a": 23}'
BAD = TABLE["bad_of_sglang"]


class Tokenizer:
    """The reference model's tokenizer, as transformers would hold it."""

    eos_token_id = 1

    def __init__(self) -> None:
        from tokenizers import Tokenizer as Fast

        self.backend_tokenizer = Fast.from_file(str(constrain.reference.path() / "tokenizer.json"))


def serving(**arguments: Any) -> Any:
    return SimpleNamespace(reasoning_parser=None, skip_tokenizer_init=False, **arguments)


@pytest.fixture(params=["stand-ins", "sglang"])
def sglang(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Our modules, imported over parts of SGLang."""
    folder = None
    if request.param == "sglang":
        folder = sglang_parts.folder_of_sglang()
        if folder is None:
            pytest.skip("SGLang's files are not here: `make serve-test` downloads them")
    given = serving()
    for finder in sglang_parts.installed(folder, given):
        import sglang.srt.constrained.base_grammar_backend as base
        import sglang.srt.speculative.spec_utils as spec_utils

        from constrain.engines.sglang import backend, grammar, register, trees, versions

        yield SimpleNamespace(
            backend=backend, base=base, choices=finder.choices, grammar=grammar, real=folder is not None,
            register=register, serving=given, spec_utils=spec_utils, trees=trees, versions=versions,
        )  # fmt: skip


def grammar_of(sglang: Any, ids: tuple[int, ...] = ()) -> Any:
    made = sglang.grammar.SGLangGrammar(constrain.compile(constrain.choices(MEMBERS), VOCABULARY))
    for token in ids:
        made.accept_token(token)
    return made


def allowed(mask: torch.Tensor, row: int) -> set[int]:
    return {i for i in range(len(TOKENS)) if int(mask[row, i >> 5]) >> (i & 31) & 1}


EVERYTHING = set(range(len(TOKENS)))
PREFIXES = {
    ids: expected
    for n in range(5)
    for ids in product(range(len(TOKENS)), repeat=n)
    if (expected := oracle(ids)) is not None
}
"""Every sequence of ids that may be read before an end, with the ids that may follow."""


# --- one request ------------------------------------------------------------------------------------------------------


def test_masks_and_verdicts_are_those_of_the_language(sglang: Any) -> None:
    assert len(PREFIXES) >= 10
    for ids, expected in PREFIXES.items():
        grammar = grammar_of(sglang, ids)
        mask = grammar.allocate_vocab_mask(len(TOKENS), 3, "cpu")
        assert (mask.shape, mask.dtype) == ((3, 1), torch.int32)
        grammar.fill_vocab_mask(mask, 1)
        assert [allowed(mask, row) for row in range(3)] == [EVERYTHING, expected, EVERYTHING]
        assert not grammar.is_terminated()
        for token in range(len(TOKENS)):
            again = grammar_of(sglang, ids)
            if token in expected:
                again.accept_token(token)
                assert (again.is_terminated(), again.current_token) == (token == EOS, token)
                again.rollback(1)
                assert not again.is_terminated()
                again.fill_vocab_mask(mask, 1)
                assert allowed(mask, 1) == expected
            else:
                with pytest.raises(ValueError, match=f"token {token} is not allowed after"):
                    again.accept_token(token)


def test_a_copy_begins_anew(sglang: Any) -> None:
    grammar = grammar_of(sglang, (0, 1))
    copy = grammar.copy()
    mask = grammar.allocate_vocab_mask(len(TOKENS), 2, "cpu")
    copy.fill_vocab_mask(mask, 0)
    grammar.fill_vocab_mask(mask, 1)
    assert (allowed(mask, 0), allowed(mask, 1)) == (PREFIXES[()], PREFIXES[0, 1])
    assert copy.grammar_stats.is_cache_hit and not grammar.grammar_stats.is_cache_hit
    sglang.grammar.SGLangGrammar.reset_vocab_mask(mask)
    assert (mask == -1).all()


@pytest.mark.parametrize("error", [LimitError("too much memory"), RuntimeError("a fault of ours")])
def test_a_fault_ends_the_request_and_not_the_scheduler(sglang: Any, error: Exception) -> None:
    grammar, other = grammar_of(sglang), grammar_of(sglang, (1,))
    grammar.request.matcher = Failing(error)
    mask = torch.zeros(3, 1, dtype=torch.int32)
    rows = [sglang.base.GrammarRow(0, grammar), sglang.base.GrammarRow(2, other)]
    grammar.fill_vocab_mask_batched(rows, mask)
    assert [allowed(mask, row) for row in range(3)] == [EVERYTHING, set(), PREFIXES[1,]]
    with pytest.raises(ValueError, match=str(error)):
        grammar.accept_token(0)
    other.accept_token(EOS)


def test_a_dead_end_is_said(sglang: Any) -> None:
    """A byte must follow that is in no token: `constrain.compile` would refuse the constraint."""
    vocabulary = constrain.Vocabulary([b"a", None], [1])
    grammar = sglang.grammar.SGLangGrammar(compile_bytewise(constrain.regex("ab"), vocabulary))
    grammar.accept_token(0)
    mask = grammar.allocate_vocab_mask(2, 1, "cpu")
    mask.zero_()
    grammar.fill_vocab_mask_batched([sglang.base.GrammarRow(0, grammar)], mask)
    assert (mask == -1).all()
    with pytest.raises(ValueError, match=r"no token is allowed after .*: a dead end"):
        grammar.accept_token(0)


# --- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_its_rows(sglang: Any) -> None:
    numbers = random.Random(3)
    for _ in range(20):
        chosen = [numbers.choice(list(PREFIXES)) for _ in range(6)]
        rows = numbers.sample(range(9), len(chosen))
        entries = [sglang.base.GrammarRow(row, grammar_of(sglang, ids)) for row, ids in zip(rows, chosen, strict=True)]
        mask = entries[0].grammar.allocate_vocab_mask(len(TOKENS), 9, "cpu")
        entries[0].grammar.fill_vocab_mask_batched(entries, mask)
        expected = {row: PREFIXES[ids] for row, ids in zip(rows, chosen, strict=True)}
        assert [allowed(mask, row) for row in range(9)] == [expected.get(row, EVERYTHING) for row in range(9)]


def test_logits_are_masked(sglang: Any) -> None:
    grammar = grammar_of(sglang, (0,))
    mask = grammar.allocate_vocab_mask(len(TOKENS), 2, "cpu")
    grammar.fill_vocab_mask(mask, 1)
    logits = torch.zeros(2, len(TOKENS))
    grammar.apply_vocab_mask(logits=logits, vocab_mask=grammar.move_vocab_mask(mask, "cpu"))
    assert set(np.flatnonzero(logits[1] == 0).tolist()) == PREFIXES[0,]
    assert (logits[0] == 0).all()


# --- trees of drafts --------------------------------------------------------------------------------------------------


def trees(count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Token ids and parents of random trees; token 0 is the root. Some ids are outside of the vocabulary."""
    numbers = random.Random(7)
    for _ in range(count):
        size = numbers.randint(1, 9)
        yield (
            [numbers.choice([0, 0, 1, 1, 2, 3, 3, EOS, 6, 99]) for _ in range(size)],
            [-1, *(numbers.randrange(node) for node in range(1, size))],
        )


def links(parents: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """First child and next sibling of each token, as SGLang has them."""
    child, sibling = torch.full((2, len(parents)), -1)
    for node in range(len(parents) - 1, 0, -1):
        sibling[node], child[parents[node]] = child[parents[node]].clone(), node
    return child, sibling


def test_trees_of_drafts(sglang: Any) -> None:
    """In one call, and by SGLang's walk: a row is the mask after its path, or was not touched."""
    before = sglang.spec_utils.traverse_tree
    sglang.trees.install()
    ours = sglang.spec_utils.traverse_tree
    sglang.trees.install()
    assert sglang.spec_utils.traverse_tree is ours is not before
    deep = 0
    for start in [(), (1,), (0, 1)]:
        for ids, parents in trees(200):
            child, sibling = links(parents)
            paths = [()]
            for node in range(1, len(ids)):
                paths.append((*paths[parents[node]], ids[node]))
            expected = [PREFIXES.get(start + path, EVERYTHING) for path in paths]
            deep += sum(len(path) > 1 and start + path in PREFIXES for path in paths)
            for walk in (before, ours):
                grammar = grammar_of(sglang, start)
                mask = grammar.allocate_vocab_mask(len(TOKENS), len(ids), "cpu")
                walk(child, sibling, torch.tensor(ids), grammar, mask, vocab_size=len(TOKENS))
                assert [allowed(mask, row) for row in range(len(ids))] == expected
                assert grammar.request.matcher.text == grammar_of(sglang, start).request.matcher.text
    assert deep > 20


def test_a_fault_in_a_tree_is_left_to_what_is_sampled(sglang: Any) -> None:
    sglang.trees.install()
    child, sibling = links([-1, 0, 1])
    for wrapped in (False, True):
        grammar = grammar_of(sglang)
        grammar.request.matcher = Failing(LimitError("too much memory"))
        mask = grammar.allocate_vocab_mask(len(TOKENS), 3, "cpu")
        given = thoughts_around(grammar) if wrapped else grammar
        sglang.spec_utils.traverse_tree(child, sibling, torch.tensor([0, 0, 1]), given, mask)
        assert (mask == -1).all()
        assert not grammar.is_terminated()
        with pytest.raises(ValueError, match="too much memory"):
            grammar.accept_token(0)


def thoughts_around(grammar: Any) -> Any:
    """SGLang's wrapper of a grammar: it hands everything on."""
    return SimpleNamespace(
        grammar=grammar, accept_token=grammar.accept_token, rollback=grammar.rollback,
        is_terminated=grammar.is_terminated, fill_vocab_mask=grammar.fill_vocab_mask,
    )  # fmt: skip


# --- jumps ------------------------------------------------------------------------------------------------------------


def test_a_jump_to_what_must_follow(sglang: Any) -> None:
    vocabulary = constrain.Vocabulary.of_bytes()
    compiled = constrain.compile(constrain.choices(["a naïve x", "a naïve y"]), vocabulary)
    grammar = sglang.grammar.SGLangGrammar(compiled)
    grammar.accept_token(ord("a"))
    helper = grammar.try_jump_forward(None)
    text, state = grammar.jump_forward_str_state(helper)
    assert text == " naïve "
    grammar.jump_and_retokenize(list(b"a"), list(f"a{text}".encode()), state)
    assert grammar.request.matcher.text == "a naïve ".encode()
    assert grammar.try_jump_forward(None) is None
    grammar.jump_and_retokenize(list("a naïve ".encode()), list(b"a n"), state)  # tokenised otherwise
    assert grammar.request.matcher.text == b"a n"
    grammar.accept_token(ord("a"))
    grammar.accept_token("ï".encode()[0])
    assert grammar.try_jump_forward(None) is None  # inside of a character
    with pytest.raises(ValueError, match="is not allowed"):
        grammar.jump_and_retokenize([], [ord("?")], state)


# --- the server -------------------------------------------------------------------------------------------------------


def test_registering_again_changes_nothing(sglang: Any) -> None:
    for _ in range(2):
        sglang.register()
    assert sglang.choices == ["xgrammar", "none", "constrain"]
    made = sglang.base.GRAMMAR_BACKEND_REGISTRY["constrain"](None, Tokenizer(), WIDTH, {1})
    assert isinstance(made, sglang.backend.SGLangBackend)
    assert (made.compiler.vocabulary.size, made.compiler.vocabulary.eos_ids) == (WIDTH, (1,))


@pytest.fixture
def backend(sglang: Any) -> Any:
    return sglang.backend.create(None, Tokenizer(), WIDTH, {1})


def value_of(backend: Any, kind: str, text: str) -> Any:
    """The value that a request gets, after a check that equal requests get an equal one later."""
    value, hit = backend.get_cached_or_future_value((kind, text), False)
    assert not hit
    made = value.result()
    backend.set_cache((kind, text), made.copy())
    again, hit = backend.get_cached_or_future_value((kind, text), False)
    assert hit and type(again) is type(made)
    return made


def spelled(matcher: Any, text: bytes) -> bytes:
    """The beginning of a text that a matcher takes, in the tokenizer's own cut."""
    matcher.advance_tokens(Tokenizer().backend_tokenizer.encode(text.decode(), add_special_tokens=False).ids)
    read: bytes = matcher.text
    return read


@pytest.mark.parametrize("kind, text, says", BAD, ids=[f"{kind} {text}" for kind, text, _ in BAD])
def test_a_bad_constraint_is_an_invalid_grammar(sglang: Any, kind: str, text: str, says: list[str]) -> None:
    backend = sglang.backend.create(None, Tokenizer(), WIDTH, {1})
    made = backend._init_value_dispatch((kind, text), False)
    assert isinstance(made, sglang.base.InvalidGrammarObject)
    for part in says:
        assert part in made.error_message


@pytest.mark.parametrize(
    "kind, text, member, other",
    [
        ("json", SCHEMA, MEMBER, b'{"a": 24'),
        ("json", "$$ANY$$", b"[1, {}]", b"[1 2"),
        ("regex", "[0-9]{3}", b"123", b"12a"),
        ("ebnf", 'root ::= "a" root "b" | "c"', b"aacbb", b"aacbc"),
        ("ebnf", 'start: "a" start "b" | "c"', b"aacbb", b"aacbc"),
        (
            "structural_tag",
            json.dumps({
                "structures": [{"begin": "<f>", "schema": {"type": "boolean"}, "end": "</f>"}], "triggers": ["<f"],
            }),
            b"well <f>true</f> so",
            b"well <f>1",
        ),
    ],
)  # fmt: skip
def test_kinds(backend: Any, kind: str, text: str, member: bytes, other: bytes) -> None:
    grammar = value_of(backend, kind, text)
    matcher = grammar.request.matcher
    assert spelled(matcher.fork(), other) != other
    assert spelled(matcher, member) == member and matcher.is_accepting()
    assert grammar.grammar_stats.dispatch_type == kind


def test_what_is_kept_is_bounded(sglang: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, '{"cached": 2}')
    backend = sglang.backend.create(None, Tokenizer(), WIDTH, None)
    for i in range(4):
        value_of(backend, "regex", str(i))
    assert list(backend.cache) == [("regex", "2"), ("regex", "3")]
    backend.reset()
    assert not backend.cache and not backend.compiler.compiled.results


def test_the_interface_is_as_it_was_read(sglang: Any) -> None:
    interface = sglang.versions.INTERFACE
    assert interface.differences() == []
    assert interface.check("0.5.23", []) is None
    del sglang.spec_utils.traverse_tree
    sglang.spec_utils.__dict__["traverse_tree"] = None
    sglang.register()
    with pytest.raises(ConstrainError, match=r"does not fit SGLang 0\.5\.23: 1 names differ"):
        sglang.base.GRAMMAR_BACKEND_REGISTRY["constrain"](None, Tokenizer(), WIDTH, None)


@pytest.mark.parametrize("variable, arguments, message", TABLE["options_of_sglang"])
def test_arguments_that_are_refused(variable: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstrainError, match=message.replace("(", r"\(")):
        options_in({VARIABLE: variable}, serving(**arguments))


def test_options() -> None:
    assert options_in({}, serving(enable_strict_thinking=False)) == EngineOptions()
    assert options_in({VARIABLE: '{"seconds": 2}'}, serving()) == EngineOptions(seconds=2)


@pytest.mark.parametrize(
    "arguments, members, others",
    [
        ({"constrained_json_max_whitespace_cnt": 2}, ["[1,2]", "[ \n1,  2]"], ["[1,   2]"]),
        ({"constrained_json_max_whitespace_cnt": 0}, ["[1,2]"], ["[1, 2]"]),
        ({"constrained_json_whitespace_pattern": "\t?"}, ["[1,2]", "[\t1,\t2\t]"], ["[1, 2]", "[1,\t\t2]"]),
    ],
)
def test_whitespace_in_sglangs_arguments(arguments: dict[str, Any], members: list[str], others: list[str]) -> None:
    constraint = constraint_of("json", '{"type": "array"}', options_in({}, serving(**arguments)))
    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    for text in [*members, *others]:
        matcher = compiled.matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == (text in members), text


# --- SGLang's own manager of grammars, and its thoughts ---------------------------------------------------------------


class Request:
    """A request of SGLang, as far as its manager of grammars looks."""

    def __init__(self, **asked: str) -> None:
        names = ("json_schema", "regex", "ebnf", "structural_tag", "custom_params")
        self.sampling_params = SimpleNamespace(**dict.fromkeys(names), ebnf_full_assistant=False)
        vars(self.sampling_params).update(asked)
        self.rid, self.origin_input_ids, self.require_reasoning = "r", [1], True
        self.grammar: Any = None
        self.aborted = ""
        self.grammar_wait_ct = 0

    def finished(self) -> bool:
        return bool(self.aborted)

    def set_finish_with_abort(self, message: str) -> None:
        self.aborted = message


@pytest.fixture
def manager(sglang: Any) -> Any:
    if not sglang.real:
        pytest.skip("this needs SGLang's own files")
    import sglang.srt.constrained.grammar_manager as module

    sglang_module, sglang = module, sglang
    sglang.register()
    sglang.serving.reasoning_parser = "any"
    group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
    scheduler = SimpleNamespace(
        server_args=None, tokenizer=Tokenizer(), dp_tp_cpu_group=None, dp_tp_group=group, pp_group=None,
        model_config=SimpleNamespace(vocab_size=WIDTH, hf_eos_token_id={1}, think_end_ids=[END_OF_THOUGHT]),
    )  # fmt: skip
    return sglang_module.GrammarManager(scheduler)


def served(manager: Any, request: Request) -> Request:
    if manager.process_req_with_grammar(request):
        [ready] = manager.get_ready_grammar_requests()
        assert ready is request
    return request


def test_requests_through_the_manager(manager: Any) -> None:
    for _ in range(2):  # the second time from its cache
        good = served(manager, Request(json_schema=SCHEMA))
        assert not good.aborted
        bad = served(manager, Request(json_schema='{"type": "text"}'))
        assert bad.aborted.startswith("Failed to compile json grammar: SchemaError: type 'text' does not exist")
        assert "at $" in bad.aborted and "fix:" in bad.aborted
    assert served(manager, Request(regex="[0-9]")).aborted == ""
    manager.clear()


def test_thoughts_are_free_and_the_answer_is_not(sglang: Any, manager: Any) -> None:
    grammar = served(manager, Request(regex="[0-9]{2}")).grammar
    tokens = manager.grammar_backend.grammar_backend.compiler.vocabulary.tokens
    digit = tokens.index(b"7")
    mask = grammar.allocate_vocab_mask(WIDTH, 1, "cpu")
    grammar.fill_vocab_mask_batched([sglang.base.GrammarRow(0, grammar)], mask)
    assert (mask == -1).all()
    grammar.accept_token(tokens.index(b"x"))
    grammar.accept_token(END_OF_THOUGHT)

    def may_follow(row: int) -> set[bytes | None]:
        return {tokens[i] for i in range(WIDTH) if int(mask[row, i >> 5]) >> (i & 31) & 1}

    grammar.fill_vocab_mask_batched([sglang.base.GrammarRow(0, grammar)], mask)
    digits = {bytes([byte]) for byte in b"0123456789"}
    assert digits <= may_follow(0) and all(token and token.isdigit() and len(token) < 3 for token in may_follow(0))

    mask = grammar.allocate_vocab_mask(WIDTH, 3, "cpu")  # a chain of drafts: one digit, another
    child, sibling = links([-1, 0, 1])
    sglang.spec_utils.traverse_tree(child, sibling, torch.tensor([END_OF_THOUGHT, digit, digit]), grammar, mask)
    assert may_follow(1) == digits and may_follow(2) == {None}
    grammar.accept_token(digit)
    with pytest.raises(ValueError, match="is not allowed after b'7'"):
        grammar.accept_token(tokens.index(b"x"))


# --- the example ------------------------------------------------------------------------------------------------------

EXAMPLE = REPOSITORY / "examples" / "sglang_offline.py"


def test_the_example_asks_what_the_backend_answers(backend: Any) -> None:
    """SGLang itself is not run: what the example asks for goes through the backend, its texts through other checks."""
    assert EXAMPLE.read_text(encoding="utf-8").count("\n") <= 60
    example = runpy.run_path(str(EXAMPLE))
    members = {"json_schema": b'{"name": "Ada", "age": 36, "tags": ["red"]}', "regex": b"2026-11-22", "ebnf": b"1+23"}
    others = {"json_schema": b'{"name": "ada"', "regex": b"1999", "ebnf": b"1+0"}
    for asked in example["ASKED"].values():
        [(field, text)] = asked.items()
        matcher = value_of(backend, field.removesuffix("_schema"), text).request.matcher
        assert spelled(matcher.fork(), others[field]) != others[field]
        assert spelled(matcher, members[field]) == members[field] and matcher.is_accepting()


def test_the_example_names_what_sglang_has() -> None:
    """By SGLang's own files, which are read and not run."""
    folder = sglang_parts.folder_of_sglang()
    if folder is None:
        pytest.skip("SGLang's files are not here: `make serve-test` downloads them")

    def members(file: str, name: str) -> dict[str, ast.AST]:
        tree = ast.parse((folder / "srt" / file).read_text(encoding="utf-8"))
        [kind] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
        return {
            getattr(each, "name", None) or getattr(getattr(each, "target", None), "id", ""): each for each in kind.body
        }

    generate = members("entrypoints/engine.py", "Engine")["generate"]
    assert isinstance(generate, ast.FunctionDef)
    assert [each.arg for each in generate.args.args][:3] == ["self", "prompt", "sampling_params"]
    assert "shutdown" in members("entrypoints/engine.py", "Engine")
    fields = members("sampling/sampling_params.py", "SamplingParams")
    assert {"max_new_tokens", "temperature", "json_schema", "regex", "ebnf"} <= set(fields)
    assert '"grammar_backend"' in (folder / "srt" / "arg_groups" / "field_order.py").read_text(encoding="utf-8")
