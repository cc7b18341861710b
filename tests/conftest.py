"""Fixtures of all tests: folders of data, and a reason to skip when they are absent.

Data of others are not part of the repository. `data_path` looks for them in three folders; the last is filled by
`make test` itself. A test that needs data which are in none of them is skipped, and the reason names the folders.
`schema_corpus.py` has schemas of ours for the tests that MaskBench's would serve. See tests/README.md.
"""

import copy
import gc
import os
import random
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from constrain.limits import Limits

REPOSITORY = Path(__file__).resolve().parent.parent

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no warning when a test starts a process
os.environ.setdefault("OMP_NUM_THREADS", "1")  # models of tests are tiny: threads that wait for each other only cost
if sys.version_info >= (3, 11):
    import tomllib
else:  # tables of tests are read with tomllib
    import tomli as tomllib

    sys.modules.setdefault("tomllib", tomllib)


def be_patient(seconds: float) -> None:
    """Give everything that has a limit of CPU time so much: no verdict depends on how fast or busy the machine is."""
    from constrain.engines.requests.options import EngineOptions
    from constrain.masks.engine.automaton import MASK_LIMITS  # numpy reads the environment that is set above

    for limits in (Limits, EngineOptions):
        limits.__init__.__defaults__ = seconds, *limits.__init__.__defaults__[1:]
    object.__setattr__(MASK_LIMITS, "seconds", seconds)


be_patient(60.0)

# The same examples every time, so that a run says something of the change and not of luck; HYPOTHESIS_PROFILE=explore
# looks for new ones. What it finds becomes a row of a table.
settings.register_profile("repeat", derandomize=True, deadline=None)  # a machine may be busy
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

TIERS = tomllib.loads((REPOSITORY / "tests" / "data" / "tiers.toml").read_text(encoding="utf-8"))


def mark_tiers(items: Iterable[Any], tiers: dict[str, Any]) -> None:
    """Mark as slow what the table leaves to `make test-all`, and as nightly, too, what it leaves to the night."""
    seen: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.partition("[")[0]
        number, seen[name] = seen[name], seen[name] + 1
        left = name in tiers["slow"] or bool(number % tiers["every"].get(name, 1))
        nightly = number % tiers["nightly"].get(name, 1) and (left or name not in tiers["every"])
        if left or nightly:
            item.add_marker(pytest.mark.slow)
        if nightly:
            item.add_marker(pytest.mark.nightly)


NIGHT = [pytest.mark.slow, pytest.mark.nightly]


def in_tiers(quick: int, slow: int, night: int) -> Any:
    """The parameter `seeds`: those below `quick`, those below `slow` in `make test-all`, too, the others at night."""
    later = [(range(quick, slow), [pytest.mark.slow]), (range(slow, night), NIGHT)]
    left = [pytest.param(seeds, marks=marks) for seeds, marks in later if seeds]
    return pytest.mark.parametrize("seeds", [range(quick), *left], ids=len)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each core that this process may use, and for each 7 GB, to which two of them grow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 16 << 30
    return max(1, min(cores, memory // (7 << 30)))


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_tiers(items, TIERS)
    items.sort(key=lambda item: item.nodeid.partition("[")[0] not in TIERS["first"])


@pytest.hookimpl(tryfirst=True)  # before fixtures
def pytest_runtest_setup() -> None:
    """Global generators begin alike in every test: weights that a test makes do not depend on what ran before it."""
    random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(0)
        if torch.cuda.is_initialized():  # PERF: `torch.manual_seed` notes the stack for each kind of device: 0.4 ms
            torch.cuda.manual_seed_all(0)


def pytest_collection_finish() -> None:
    """The garbage collector need not look again at libraries and tests, which live as long as the process, and looks
    less often at all: a process of thousands of tests holds gigabytes, and gave it a tenth of its time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(2000, 10, 50)


def full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


_settled = full_collections()  # how many there were when the heap was frozen last


def forget(module: Any) -> None:
    """Let go what a file of tests remembers: results of its functions, what its and the shared vocabularies keep."""
    from constrain.languages.vocab import Vocabulary

    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) == module.__name__ and hasattr(value, "cache_clear"):
            value.cache_clear()
        elif isinstance(value, Vocabulary):
            value.kept.clear()
    if shared := sys.modules.get("vocabularies"):
        shared.forget()


@pytest.hookimpl(trylast=True)  # after the fixtures of the file
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Forget what a file of tests remembers, and freeze what it leaves behind elsewhere: each further full collection
    took up to 3 s for it."""
    global _settled
    if nextitem is None or nextitem.path == item.path:
        return
    if isinstance(item, pytest.Function):
        forget(item.module)
    if full_collections() > _settled:
        gc.collect()
        gc.freeze()
        _settled = full_collections()


def pytest_unconfigure() -> None:
    """Let the interpreter free all at its end: bindings of Triton complain of what is left."""
    gc.unfreeze()


def data_roots() -> list[Path]:
    """The folders that data are looked for in, first to last: named, beside the checkout, fetched by `make test`."""
    named = os.environ.get("CONSTRAIN_DATA")
    return [Path(named) if named else REPOSITORY.parent / "shared" / "data", Path(sys.prefix) / "share" / "constrain"]


def data_root(name: str) -> Path | None:
    """The first of these folders that has data of this name."""
    return next((root for root in data_roots() if (root / name).exists()), None)


def data_path(*parts: str) -> Path:
    """A file or folder of the data, or a skip that says where it was looked for."""
    root = data_root(parts[0])
    if root is None:
        tried = " or ".join(map(str, data_roots()))
        pytest.skip(f"no data: {parts[0]} is not in {tried} (CONSTRAIN_DATA names another folder)")
    return root.joinpath(*parts)


@pytest.fixture
def young_heap() -> None:
    """Let `gc.collect` look at what the test makes alone: the rest of a process of thousands of tests took 3 s."""
    gc.freeze()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """The tiny tokenizer of `toy_model`, as every test of generation uses it."""
    from toy_model import tiny_tokenizer

    return tiny_tokenizer()


@pytest.fixture(scope="session")
def model(tokenizer: Any) -> Any:
    """A tiny random Llama with that tokenizer."""
    from toy_model import tiny_llama

    return tiny_llama(tokenizer, seed=3)


@pytest.fixture
def chat(model: Any, tokenizer: Any) -> Any:
    """That model and its tokenizer with a chat template that names a format of tool calls."""
    from toy_model import CHAT_TEMPLATE

    own = copy.deepcopy(tokenizer)
    own.chat_template = CHAT_TEMPLATE
    return SimpleNamespace(model=model, tokenizer=own)
