"""The parts of SGLang that a grammar backend meets: stand-ins, or SGLang's own files with their imports replaced.

SGLang cannot be imported where there is no GPU. Its own files for grammars can be, if what they import is replaced: a
finder gives the files in `REAL`, and an empty module for every other name under `sglang`. The stand-ins have the same
interface and none of SGLang's code; they are there for environments in which SGLang's files are not.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import MagicMock

BASE = "sglang.srt.constrained.base_grammar_backend"
REASONER = "sglang.srt.constrained.reasoner_grammar_backend"
MANAGER = "sglang.srt.constrained.grammar_manager"
REAL = (BASE, REASONER, MANAGER, "sglang.srt.utils.token_sequence_matcher")
TREES = "sglang/srt/speculative/spec_utils.py"
END_OF_THOUGHT = ord("|")


class Parser:
    """A reasoning parser as a backend sees it: thoughts end at `END_OF_THOUGHT`."""

    def __init__(self, **_: Any) -> None:
        self.detector = SimpleNamespace(
            get_think_end_token_ids=lambda tokenizer: [END_OF_THOUGHT],
            think_end_token="|",
            get_answer_frame=lambda: None,
            think_excluded_tokens=None,
        )


class Setting:
    """A setting of SGLang's environment."""

    def __init__(self, value: float) -> None:
        self.value = value

    def get(self) -> float:
        return self.value


class Around(MetaPathFinder, Loader):
    """Finds `sglang` and every name under it: the files of SGLang in `REAL`, given attributes, else nothing."""

    def __init__(self, folder: Path | None, serving: Any) -> None:
        self.folder = folder
        self.choices = ["xgrammar", "none"]
        self.attributes: dict[str, dict[str, Any]] = {
            "sglang": {"__version__": "0.5.23"},
            "sglang.srt.server_args": {
                "GRAMMAR_BACKEND_CHOICES": self.choices, "add_grammar_backend_choices": self.choices.extend,
            },
            "sglang.srt.runtime_context": {
                "get_serving": lambda: serving,
                "get_parallel": lambda: SimpleNamespace(pp_rank=0, pp_size=1),
                "get_exec": lambda: SimpleNamespace(kernel=SimpleNamespace(grammar_backend="constrain")),
            },
            "sglang.srt.environ": {
                "envs": SimpleNamespace(
                    SGLANG_GRAMMAR_POLL_INTERVAL=Setting(5.0), SGLANG_GRAMMAR_MAX_POLL_ITERATIONS=Setting(10),
                    SGLANG_MAX_THINK_TOKENS=Setting(-1),
                ),
            },
            "sglang.srt.parser.reasoning_parser": {"ReasoningParser": Parser},
            "sglang.srt.parser.response_template": {"ResponseTemplateReasoningDetector": type("Template", (), {})},
            "sglang.srt.sampling.sampling_params": {
                "get_request_reasoning_end_token_ids": lambda *_, **__: None,
                "get_request_reasoning_in_grammar": lambda *_, **__: False,
            },
            "sglang.srt.speculative.spec_utils": {"traverse_tree": walk if folder is None else traverse_tree(folder)},
        }  # fmt: skip
        if folder is None:
            self.attributes[BASE] = {each.__name__: each for each in STAND_INS} | {
                "GRAMMAR_BACKEND_REGISTRY": (registry := {}), "register_grammar_backend": registry.__setitem__,
            }  # fmt: skip
            self.attributes[REASONER] = {"ReasonerGrammarBackend": ReasonerGrammarBackend}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "sglang":
            return None
        if self.folder is not None and fullname in REAL:
            return spec_from_file_location(fullname, self.folder.parent / f"{fullname.replace('.', '/')}.py")
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(self.attributes.get(module.__name__, {}))

        def missing(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            inner = f"{module.__name__}.{name}"
            return importlib.import_module(inner) if inner in {*self.attributes, *REAL} else MagicMock()

        module.__getattr__ = missing  # type: ignore[method-assign]


def folder_of_sglang() -> Path | None:
    """The folder of SGLang's files; None: they are not here."""
    spec = find_spec("sglang")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def traverse_tree(folder: Path) -> Callable[..., None]:
    """SGLang's walk of a tree of drafts, alone: its module imports what needs a GPU."""
    source = (folder.parent / TREES).read_text(encoding="utf-8")
    [found] = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "traverse_tree"
    ]
    scope: dict[str, Any] = {}
    code = "from __future__ import annotations\n" + ast.unparse(found)
    exec(compile(code, TREES, "exec"), scope)
    return scope["traverse_tree"]


def installed(folder: Path | None, serving: Any) -> Iterator[Around]:
    """Within: `sglang` are these parts, and our modules are imported anew."""

    def forget() -> None:
        for name in list(sys.modules):
            if name.partition(".")[0] == "sglang" or name.startswith("constrain.engines.sglang"):
                del sys.modules[name]

    forget()
    finder = Around(folder, serving)
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module("constrain.engines.sglang.backend")
        yield finder
    finally:
        sys.meta_path.remove(finder)
        forget()


# --- stand-ins --------------------------------------------------------------------------------------------------------


@dataclass
class GrammarStats:
    dispatch_type: str | None = None
    compilation_time: float | None = None
    is_cache_hit: bool = False
    tree_traversal_time: list[float] = field(default_factory=list)


class GrammarRow(NamedTuple):
    row: int
    grammar: Any


class BaseGrammarObject:
    def __init__(self) -> None:
        self.finished = False
        self.grammar_stats: Any = None
        self.current_token: int | None = None

    def maybe_init_reasoning(self, reasoning: bool) -> None: ...
    def accept_token(self, token): ...
    def rollback(self, k): ...
    def is_terminated(self): ...
    def allocate_vocab_mask(self, vocab_size, batch_size, device): ...
    def fill_vocab_mask(self, vocab_mask, idx): ...
    @staticmethod
    def fill_vocab_mask_batched(entries, vocab_mask): ...
    @staticmethod
    def reset_vocab_mask(vocab_mask): ...
    @staticmethod
    def move_vocab_mask(vocab_mask, device): ...
    @staticmethod
    def apply_vocab_mask(logits, vocab_mask): ...
    def copy(self): ...
    def try_jump_forward(self, tokenizer): ...
    def jump_forward_str_state(self, helper): ...
    def jump_and_retokenize(self, old_output_ids, new_output_ids, next_state): ...


class InvalidGrammarObject(BaseGrammarObject):
    def __init__(self, error_message=""):
        super().__init__()
        self.error_message = error_message

    def copy(self):
        return self


class BaseGrammarBackend:
    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor()
        self.cache: dict[Any, Any] = {}

    def dispatch_json(self, key_string): ...
    def dispatch_regex(self, key_string): ...
    def dispatch_ebnf(self, key_string): ...
    def dispatch_structural_tag(self, key_string): ...
    def dispatch_fallback(self, key_type, key_string): ...

    def _init_value_dispatch(self, key: tuple[str, str], require_reasoning: bool) -> Any:
        dispatch = getattr(self, f"dispatch_{key[0]}", None)
        return dispatch(key[1]) if dispatch else self.dispatch_fallback(*key)

    def get_cached_or_future_value(self, key, require_reasoning):
        if key in self.cache:
            return self.cache[key].copy(), True
        return self.executor.submit(self._init_value_dispatch, key, require_reasoning), False

    def set_cache(self, key, value):
        self.cache[key] = value

    def reset(self):
        self.cache.clear()


class ReasonerGrammarBackend(BaseGrammarBackend):
    def __init__(self, grammar_backend, reasoning_parser, tokenizer, enable_strict_thinking=False):
        super().__init__()
        self.grammar_backend = grammar_backend


STAND_INS = (GrammarStats, GrammarRow, BaseGrammarObject, InvalidGrammarObject, BaseGrammarBackend)


def walk(retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, allocate_token_bitmask, vocab_size=None):
    """A tree of drafts, walked by accepting, filling and rolling back."""

    def below(node: int) -> None:
        if grammar.is_terminated():
            return
        grammar.fill_vocab_mask(allocate_token_bitmask, node)
        child = int(retrieve_next_token[node])
        while child != -1:
            token = int(draft_tokens[child])
            word = int(allocate_token_bitmask[node][token // 32]) if 0 <= token < (vocab_size or 1 << 30) else 0
            if word >> token % 32 & 1:
                grammar.accept_token(token)
                below(child)
                grammar.rollback(1)
            child = int(retrieve_next_sibling[child])

    below(0)
