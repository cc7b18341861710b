"""Registering with an engine changes nothing and raises nothing, whatever the engine lacks, until an engine asks.

The engines are made modules with the outside that the plug-ins look at, from which one thing after another is taken.
"""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import constrain
from constrain.engines import sglang as sglang_plugin
from constrain.engines import vllm as vllm_plugin
from constrain.engines.requests.interfaces import Interface
from constrain.engines.sglang.versions import INTERFACE as SGLANG
from constrain.engines.vllm.versions import INTERFACE, ROWS

PART = """
class {name}:
    def __init__(self, vllm_config, renderer=None, *, more=None):
        self.vllm_config, self.model_config, self.started = vllm_config, vllm_config.model_config, (renderer, more)
        self.tokenizer = None
"""
CLASS = """
from abc import ABC, abstractmethod
class {name}(ABC):
"""
VLLM = {
    "vllm": "__version__ = '0.32.0'",
    "vllm.v1.engine.input_processor": PART.format(name="InputProcessor")
    + "    def _validate_params(self, params, supported_tasks):\n        return supported_tasks",
    "vllm.v1.structured_output": PART.format(name="StructuredOutputManager"),
    "vllm.v1.worker.worker_base": PART.format(name="WorkerBase"),
    "vllm.v1.structured_output.request": "def get_structured_output_key(params): pass",
    "vllm.v1.engine.logprobs": "class LogprobsProcessor:\n    def from_new_request(tokenizer, request): pass\n"
    "    def _update_sample_logprobs(self, logprobs_lists): pass",
    "vllm.exceptions": "class VLLMValidationError(ValueError):\n    def __init__(self, message): pass",
    "vllm.config": "class VllmConfig:\n    def __init__(self, **fields):\n        self.__dict__.update(fields)\n"
    "        self.__post_init__()\n    def __post_init__(self): pass",
    "vllm.v1.structured_output.backend_types": "".join(
        CLASS.format(name=name.partition(":")[2])
        + "".join(f"    @abstractmethod\n    def {each}({', '.join(taken)}): pass\n" for each, taken in methods.items())
        for name, methods in INTERFACE.methods.items()
    ),
}
"""Module → its source."""
PARTS = [
    "vllm.v1.engine.input_processor:InputProcessor", "vllm.v1.structured_output:StructuredOutputManager",
    "vllm.v1.worker.worker_base:WorkerBase",
]  # fmt: skip
TAKEN_AWAY = [
    *([each] for each in PARTS), PARTS[:2], PARTS[1:], PARTS[::2], PARTS,
    *([name] for name in INTERFACE.signatures if not name.endswith("__init__")),
    *([each.partition(":")[0]] for each in PARTS), ["vllm.exceptions"], ["vllm.v1.structured_output.request"],
    *([f"{name}.{next(iter(methods))}"] for name, methods in INTERFACE.methods.items()),
]  # fmt: skip
"""What the engine lacks: names in modules, and modules."""


def installed(sources: dict[str, str], patch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] in ("vllm", "sglang")]:
        patch.delitem(sys.modules, name)
    names = {".".join(each.split(".")[:end]) for each in sources for end in range(1, each.count(".") + 2)}
    for name in sorted(names):
        module = ModuleType(name)
        module.__spec__, module.__path__ = ModuleSpec(name, None, is_package=True), []
        patch.setitem(sys.modules, name, module)
        exec(sources.get(name, ""), module.__dict__)


def take_away(name: str, patch: pytest.MonkeyPatch) -> None:
    module, _, path = name.partition(":")
    if not path:
        patch.setitem(sys.modules, module, None)  # Python then says that there is none
        return
    *outer, last = path.split(".")
    owner: Any = sys.modules[module]
    for each in outer:
        owner = getattr(owner, each)
    delattr(owner, last)


def config(**entries: Any) -> Any:
    """A configuration, as vLLM makes one."""
    model = SimpleNamespace(skip_tokenizer_init=True, get_vocab_size=lambda: 8, try_get_generation_config=dict)
    return sys.modules["vllm.config"].VllmConfig(
        additional_config=entries, model_config=model, structured_outputs_config=SimpleNamespace(backend="auto")
    )


def started(given: Callable[[], Any]) -> list[Any]:
    """The parts of an engine that are there, started with a configuration."""
    made, parts = given(), []
    for name in PARTS:
        module, _, kind = name.partition(":")
        if hasattr(sys.modules.get(module), kind):
            parts.append(getattr(sys.modules[module], kind)(made, 1, more=2))
    return parts


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    installed(VLLM, monkeypatch)
    return monkeypatch


def test_the_engine_that_was_made_fits(vllm: pytest.MonkeyPatch) -> None:
    assert INTERFACE.differences() == ROWS.differences() == []


def test_an_engine_that_asks_starts(vllm: pytest.MonkeyPatch) -> None:
    vllm_plugin.register()
    [front, _, _] = started(lambda: config(constrain={}))
    asked = SimpleNamespace(structured_outputs=SimpleNamespace(_backend="x", __post_init__=lambda: None))
    with pytest.raises(ValueError, match="cannot choose its backend"):
        front._validate_params(asked, ("generate",))
    assert front._validate_params(SimpleNamespace(structured_outputs=None), ("generate",)) == ("generate",)


@pytest.mark.parametrize("lacking", TAKEN_AWAY, ids=" ".join)
def test_a_vllm_that_lacks_something(
    lacking: list[str], vllm: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in lacking:
        take_away(name, vllm)
    vllm_plugin.register()
    vllm_plugin.register()
    assert not caplog.records
    for part in started(lambda: config(other={})):
        assert part.started == (1, 2)
    with pytest.raises(constrain.ConstrainError, match=r"does not fit vLLM 0\.32\.0: \d names? differs?") as caught:
        started(lambda: config(constrain={}))
    gone = [name for name in lacking if ":" in name] or [""]
    assert all(name.rpartition(".__init__")[0] in str(caught.value) for name in gone)


def test_a_vllm_without_anything_has_a_line_in_the_log(
    vllm: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (*PARTS, "vllm.config:VllmConfig"):
        take_away(name, vllm)
    vllm_plugin.register()
    assert ["this vLLM cannot ask for it" in each.getMessage() for each in caplog.records] == [True]


def test_what_is_not_asked_for_is_not_replaced(vllm: pytest.MonkeyPatch) -> None:
    """Only the starts of three parts are; the rest when an engine asks."""
    before = {(module, name): dict(vars(value)) for module in VLLM for name, value in classes_of(module)}
    vllm_plugin.register()
    started(config)
    assert changed(before) == {(*name.split(":"), "__init__") for name in PARTS}
    started(lambda: config(constrain={}))
    assert changed(before) - {(*name.split(":"), "__init__") for name in PARTS} == {
        ("vllm.v1.engine.input_processor", "InputProcessor", "_validate_params"),
        ("vllm.v1.engine.logprobs", "LogprobsProcessor", "from_new_request"),
        ("vllm.v1.engine.logprobs", "LogprobsProcessor", "_update_sample_logprobs"),
    }


def classes_of(module: str) -> list[tuple[str, type]]:
    return [(name, value) for name, value in vars(sys.modules[module]).items() if isinstance(value, type)]


def changed(before: dict[tuple[str, str], dict[str, Any]]) -> set[tuple[str, ...]]:
    return {
        (module, name, each)
        for (module, name), attributes in before.items()
        for each, value in attributes.items()
        if callable(value) and vars(getattr(sys.modules[module], name))[each] is not value
    }


@pytest.mark.parametrize("gone", list(ROWS.signatures))
def test_rows_that_cannot_be_kept_as_arrays_end_no_engine(gone: str, vllm: pytest.MonkeyPatch) -> None:
    take_away(gone, vllm)
    vllm_plugin.register()
    assert len(started(lambda: config(constrain={}))) == 3


# --- other plug-ins ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapper, said",
    [
        ("def wrapper(*a, **k): return original(*a, **k)", None),
        ("from functools import wraps\n@wraps(original)\ndef wrapper(a, k): return original(a, k)", None),
        ("def wrapper(a, k): return original(a, k)", "is replaced by other_plugin.patches, takes (a, k), not (self, "),
    ],
)
def test_a_function_that_another_plugin_wrapped(wrapper: str, said: str | None, vllm: pytest.MonkeyPatch) -> None:
    front = sys.modules["vllm.v1.engine.input_processor"].InputProcessor
    scope = {"__name__": "other_plugin.patches", "original": front._validate_params}
    exec(wrapper, scope)
    front._validate_params = scope["wrapper"]
    vllm_plugin.register()
    if said is None:
        assert len(started(lambda: config(constrain={}))) == 3
        return
    with pytest.raises(constrain.ConstrainError) as caught:
        started(lambda: config(constrain={}))
    assert said in str(caught.value)
    assert "functions are replaced by other_plugin.patches" in str(caught.value)
    assert "install a version" not in str(caught.value)


# --- SGLang -----------------------------------------------------------------------------------------------------------

REGISTRY = "sglang.srt.constrained.base_grammar_backend:register_grammar_backend"
CHOICES = "sglang.srt.server_args:add_grammar_backend_choices"


def sources_of(interface: Interface) -> dict[str, str]:
    """Modules with what an interface names, in the shape that it names."""
    scopes: dict[str, list[str]] = {}
    for name, taken in interface.signatures.items():
        module, _, path = name.partition(":")
        kind, _, method = path.rpartition(".")
        code = f"def {method}({', '.join(taken)}): pass"
        scopes.setdefault(module, []).append(f"class {kind}:\n    {code}" if kind else code)
    for name, methods in interface.methods.items():
        module, _, kind = name.partition(":")
        body = "".join(f"    def {each}({', '.join(taken)}): pass\n" for each, taken in methods.items())
        scopes.setdefault(module, []).append(f"class {kind}:\n{body}")
    return {module: "\n".join(lines) for module, lines in scopes.items()}


@pytest.fixture
def sglang(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    sources = {"sglang": "__version__ = '0.5.23'", **sources_of(SGLANG)}
    module = REGISTRY.partition(":")[0]
    sources[module] += "\nREGISTRY = {}\nregister_grammar_backend = REGISTRY.__setitem__"
    sources[CHOICES.partition(":")[0]] = "GRAMMAR_BACKEND_CHOICES = []\nadd_grammar_backend_choices = "
    sources[CHOICES.partition(":")[0]] += "GRAMMAR_BACKEND_CHOICES.extend"
    installed(sources, monkeypatch)
    return monkeypatch


@pytest.mark.parametrize("gone", [REGISTRY, CHOICES, REGISTRY.partition(":")[0], CHOICES.partition(":")[0]])
def test_an_sglang_without_a_registry_has_a_line_in_the_log(
    gone: str, sglang: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take_away(gone, sglang)
    sglang_plugin.register()
    assert ["has no place for --grammar-backend constrain" in each.getMessage() for each in caplog.records] == [True]


@pytest.mark.parametrize("gone", [*SGLANG.signatures, *SGLANG.methods])
def test_an_sglang_that_lacks_something(
    gone: str, sglang: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert SGLANG.differences() == []
    gone = gone.removesuffix(".__init__")
    take_away(gone, sglang)
    sglang_plugin.register()
    assert not caplog.records
    create = sys.modules[REGISTRY.partition(":")[0]].REGISTRY["constrain"]
    with pytest.raises(constrain.ConstrainError, match=r"does not fit SGLang 0\.5\.23") as caught:
        create(None, None, 8, None)
    assert gone in str(caught.value)
