"""Hooks into vLLM: functions that look whether their engine, or a request, asks for "constrain".

The idea: vLLM's backends are a chain of `if`s on names, in the function that checks a request and in the one that makes
the backend. There is no registry (its RFC 50966 asks for one). What can be relied upon is that the front end and the
engine are each built from a `VllmConfig`, whose `additional_config` says what is wanted (options.py). So `install` puts
a function around the start of each of three parts, which passes everything on. Where the configuration asks, it first
checks that vLLM has all that is relied upon, and then

* `InputProcessor.__init__`, in the front end, checks options and tokenizer, loads the kernels, and puts a function
  around `_validate_params`, on the front end's path of a request, which reads the constraint, looks up the tokens that
  it names, and asks whether tokens can write any of its texts. A faulty one is vLLM's own error for faulty requests,
  which becomes an HTTP 400. vLLM then checks all but the constraint;
* `StructuredOutputManager.__init__`, in the engine, makes the backend at once, so that the first request finds it warm,
  and vLLM finds that it need not choose one. It puts a function around `_create_grammar`, which alone knows the
  request: how many tokens it may have, for the option `complete`, and whether its prompt has some of its text
  (particles.py);
* `WorkerBase.__init__`, in a worker, lets the model runner that runs record what weights need (runners.py).

vLLM loads plug-ins in every process, also for engines that never heard of us, and a fault then would end the process.
So nothing is relied upon before an engine asks. Where one of the parts is gone, whose start would have looked, the
making of a `VllmConfig` looks.

Kernels are imported where an engine asks for the backend, and not when the plug-in is loaded: workers need none.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from constrain.engines.requests.interfaces import Interface, found_in_engine
from constrain.engines.requests.options import EngineOptions
from constrain.engines.vllm import recording
from constrain.engines.vllm.options import asks, is_second, options_in, takes_place
from constrain.engines.vllm.patches import MARK, wrap
from constrain.engines.vllm.versions import GRAMMARS, INTERFACE, RECORDING, RECORDING_V2, SPECULATOR
from constrain.errors import ConstrainError

if TYPE_CHECKING:
    from constrain.languages.vocab.vocabulary import Vocabulary

logger = logging.getLogger("vllm.constrain")  # below vLLM's logger, which has the handlers
_REFUSED = {
    "disable_any_whitespace": 'start vLLM with --additional-config \'{"constrain": {"whitespace": "compact"}}\'',
    "disable_additional_properties": 'write "additionalProperties": false into the schema, or start vLLM without '
    '"undeclared": "allow", which is not the default',
    "whitespace_pattern": 'start vLLM with --additional-config \'{"constrain": {"whitespace": ...}}\'',
}
"""Fields of a request that would change its language, and what to do instead."""
_CLOSING = "disable_additional_properties"
"""The field that says what the options say by default."""
_VOCABULARY = "_constrain_vocabulary"
"""Where a front end keeps the vocabulary of its engine."""


def install() -> None:
    """Let the parts of an engine look whether it asks, in this process, once. Nothing is raised."""
    parts = {
        "vllm.v1.engine.input_processor:InputProcessor": _start_front_end,
        "vllm.v1.structured_output:StructuredOutputManager": _start_engine,
        "vllm.v1.worker.worker_base:WorkerBase": _start_worker,
    }
    looking = [wrap(found_in_engine(name), "__init__", _looking(begin)) for name, begin in parts.items()]
    config = "vllm.config:VllmConfig"
    if (
        not all(looking)
        and not wrap(found_in_engine(config), "__post_init__", _looking_where_made)
        and not any(looking)
    ):
        logger.warning("constrain: not one of %s is there: this vLLM cannot ask for it", ", ".join([*parts, config]))


# --- at the start -----------------------------------------------------------------------------------------------------


def _looking(begin: Callable[[Any, Any, EngineOptions], None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put around the start of a part: where its engine asks, check what is relied upon, and `begin` after it."""

    def around(original: Callable[..., None]) -> Callable[..., None]:
        def start(self: Any, *arguments: Any, **named: Any) -> None:
            config = next(filter(asks, (*arguments, *named.values())), None)
            if config is None:
                original(self, *arguments, **named)
                return
            _check_version()
            _check_drafts(config)
            _answer_scans()
            original(self, *arguments, **named)
            options = options_in(config)
            assert options is not None
            begin(self, config, options)

        return start

    return around


def _looking_where_made(original: Callable[..., None]) -> Callable[..., None]:
    """Put around the making of a configuration, of a vLLM that lacks a part."""

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **named)
        if asks(self):
            _check_version()

    return make


def _start_front_end(self: Any, vllm_config: Any, options: EngineOptions) -> None:
    from constrain import kernels
    from constrain.engines.requests.images import Images
    from constrain.engines.requests.vocabulary import vocabulary_of
    from constrain.engines.requests.warm import read_warm

    wrap(type(self), "_validate_params", _checking_request)
    recording.install_in_front_end()
    kernels.load()
    _answer_scans()
    read_warm(options)
    tokenizer = getattr(self, "tokenizer", None)
    if tokenizer is not None:  # what is wrong with it then stands in the log of the process that was started
        size = vllm_config.model_config.get_vocab_size()
        vocabulary = vocabulary_of(tokenizer, size, _eos_ids(vllm_config))
        vocabulary.kept[Images] = Images(vocabulary, options)
        setattr(self, _VOCABULARY, vocabulary)


def _start_engine(self: Any, vllm_config: Any, options: EngineOptions) -> None:
    if vllm_config.model_config.skip_tokenizer_init:
        return
    from constrain.engines.vllm.backend import VLLMBackend

    size = vllm_config.model_config.get_vocab_size()
    self.backend = VLLMBackend(self.tokenizer, size, options, _eos_ids(vllm_config))
    if options.complete:
        _check_version(GRAMMARS)
    if not GRAMMARS.differences():
        wrap(type(self), "_create_grammar", _making_grammar)
    logger.info("constrain: ready for structured outputs over %d tokens; cuts: %s", size, self.backend.cuts)


def _start_worker(self: Any, vllm_config: Any, options: EngineOptions) -> None:
    from constrain.engines.vllm import runners

    by_second = is_second(vllm_config)
    differing = (RECORDING_V2 if by_second else RECORDING).differences()
    if differing:  # weights are then computed by reading outputs again
        logger.warning("constrain: weights are not recorded here: %s", "; ".join(each.text for each in differing))
    else:
        (runners.install_v2 if by_second else runners.install_v1)()
    if by_second and takes_place(vllm_config):
        from constrain.engines.vllm import speculator  # loads the engine's compiler, which other workers do not need

        _check_version(SPECULATOR)
        speculator.install()


def _check_version(interface: Interface = INTERFACE) -> None:
    version = found_in_engine("vllm:__version__")
    warning = interface.check(str(version or "of an unknown version"), interface.differences())
    if warning:
        logger.warning(warning)


def _check_drafts(vllm_config: Any) -> None:
    if takes_place(vllm_config) and not is_second(vllm_config):
        raise ConstrainError(
            f"the V1 model runner takes this drafter by another method than {vllm_config.speculative_config.method!r}",
            place="speculative_config.method",
            fix='use "method": "custom_class"',
        )


def _eos_ids(vllm_config: Any) -> list[int]:
    """The ids that end a text, by the model's generation config: none, one or several."""
    given = (vllm_config.model_config.try_get_generation_config() or {}).get("eos_token_id")
    return list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]


def _answer_scans() -> None:
    """Let vLLM look at llvmlite's library, where kernels are compiled by numba.

    Without Triton, a worker of vLLM 0.32 reads the `__dict__` of whatever stands in any module. llvmlite's wrapper of
    its library has a function for every name that it is asked for, `__dict__` too, and the worker ends. A process that
    is forked inherits the modules.
    """
    ffi = sys.modules.get("llvmlite.binding.ffi")
    wrapper: Any = type(getattr(ffi, "lib", None))
    find = getattr(wrapper, "__getattr__", None)
    if find is None or hasattr(find, MARK):
        return

    def function(self: Any, name: str) -> Any:
        if name == "__dict__":
            raise AttributeError(name)
        return find(self, name)

    setattr(function, MARK, True)
    wrapper.__getattr__ = function


# --- on the path of a request -----------------------------------------------------------------------------------------


def _checking_request(original: Callable[..., Any]) -> Callable[..., Any]:
    from vllm.exceptions import VLLMValidationError

    def check(self: Any, params: Any, *arguments: Any, **named: Any) -> Any:
        asked = getattr(params, "structured_outputs", None)
        options = None if asked is None else options_in(self.vllm_config)
        if asked is None or options is None:
            return original(self, params, *arguments, **named)
        try:
            check_request(asked, options, getattr(self, _VOCABULARY, None))
        except ConstrainError as error:
            raise VLLMValidationError(f"{type(error).__name__}: {error}") from error
        if self.model_config.is_diffusion:
            raise VLLMValidationError("structured outputs need a model that writes from left to right")
        if self.tokenizer is None:
            raise VLLMValidationError("structured outputs need a tokenizer: leave out skip_tokenizer_init")
        params.structured_outputs = None  # vLLM's own check knows its own backends only
        try:
            return original(self, params, *arguments, **named)
        finally:
            params.structured_outputs = asked

    return check


def _making_grammar(original: Callable[..., Any]) -> Callable[..., Any]:
    """Put around the making of a request's grammar: it may begin within its text, and end within what is left."""

    def create(self: Any, request: Any) -> Any:
        grammar = original(self, request)
        options = options_in(self.vllm_config)
        if options is None:  # another engine of this process, which does not ask
            return grammar
        begun = recording.begun_in(request.sampling_params)
        if begun:
            grammar.go_on(list(request.prompt_token_ids[-begun:]))
        if options.complete:
            grammar.end_in_time(lambda: request.max_tokens - request.num_output_tokens)
        return grammar

    return create


def check_request(params: Any, options: EngineOptions, vocabulary: Vocabulary | None) -> None:
    """Read the constraint of a request, look up the tokens that it names, and ask whether tokens can write its texts.

    Args:
        params: vLLM's `StructuredOutputsParams`.
        options: How constraints are read.
        vocabulary: That of the engine; None: it has no tokenizer, and takes no constraints.

    Raises:
        ConstrainError: It is faulty. vLLM's own error unless exactly one kind is asked for.
    """
    params.__post_init__()
    if getattr(params, "_backend", None) is not None:
        raise ConstrainError("a request cannot choose its backend", place="_backend", fix="leave it out")
    for name, fix in _REFUSED.items():
        if getattr(params, name, None) and (name != _CLOSING or options.undeclared == "allow"):
            raise ConstrainError(f"{name} is not supported by the backend constrain", place=name, fix=fix)
    if params.json_object is False:
        raise ConstrainError("json_object is true or left out, not false", place="json_object", fix="leave it out")
    from vllm.v1.structured_output.request import get_structured_output_key

    from constrain.engines.requests.constraints import constraint_of, writable
    from constrain.engines.requests.images import Images
    from constrain.masks.engine.compiled import mentioned

    kind, text = get_structured_output_key(params)
    images = None if vocabulary is None else vocabulary.kept.get(Images)
    if images is not None and images.get(kind.name.lower(), text) is not None:
        return  # its image is there, so it was read before
    constraint = constraint_of(kind.name.lower(), text, options)
    if vocabulary is not None:
        mentioned(constraint, vocabulary)
        writable(constraint, vocabulary, options)
