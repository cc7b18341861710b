"""A `vllm.LLM` behind `constrain.generate`: logits after prefixes, each asked for by a request of one token.

The idea: every method of `constrain.sampling` asks a `LanguageModel` for the logits after some prefixes. vLLM has no
sessions, and needs none: a prefix is submitted as a prompt, whose beginning is in the prefix cache, and the answer is
the log-probabilities of all tokens. So particles are requests, and one implementation of each distribution serves every
model. Masked decoding (`lcd`, `sir`) has a faster way inside the engine: masked.py.

Cost: one round of the scheduler a token for the whole batch; each row is a new request that reads what follows its last
full block of the cache (`block_size`), and carries 8 bytes a token of the vocabulary between processes.
Limit: the engine must give out all log-probabilities: `max_logprobs=-1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.vocabulary import vocabulary_of
from constrain.engines.vllm.options import ENTRY, is_second, options_in
from constrain.engines.vllm.recording import NO_ID, ROW, WEIGHTS, RowLogprobs, install_in_front_end, row_of
from constrain.engines.vllm.versions import GRAMMARS, STEPS
from constrain.errors import ConstrainError
from constrain.extras import require
from constrain.languages.cuts import canonical_tokens
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.sampling.core.model import Extras

if TYPE_CHECKING:
    import torch

    from constrain.engines.vllm.masked import EngineDecoding
    from constrain.sampling.core.job import Settings

PREFIX = "vllm:"
SETTINGS = {"additional_config": {ENTRY: {}}, "max_logprobs": -1}
FIX = 'start it with LLM(MODEL, additional_config={"constrain": {}}, max_logprobs=-1)'
_ATTRIBUTE = "_handle_of_constrain"


class VLLMModel(Extras):
    """An engine and its tokenizer as a `constrain.sampling.LanguageModel`. `constrain.generate` makes it.

    Args:
        llm: A `vllm.LLM`.
        tokenizer: Its tokenizer; None: the engine's.
        rescore: Weigh outputs by reading them again, instead of recording the numbers where the mask is applied. It
            works at temperature 1. Engines that do not record are weighed so anyway.

    Attributes:
        width: Logits a position.
        context: Positions that the model has.
        vocabulary: The tokenizer's vocabulary, padded to `width`: that of the backend.
        options: How the engine reads constraints; None: it has another backend.

    Raises:
        ConstrainError: The engine does not generate text, or has no tokenizer.
    """

    ragged = True

    def __init__(self, llm: Any, tokenizer: Any = None, *, rescore: bool = False) -> None:
        self.llm = llm
        self.config = llm.llm_engine.vllm_config
        model = self.config.model_config
        if model.runner_type != "generate":
            raise ConstrainError(
                f"this engine was started to {model.runner_type}, not to generate",
                fix='start it with runner="generate"',
            )
        if tokenizer is None and model.skip_tokenizer_init:
            raise ConstrainError(
                "this engine has no tokenizer", fix="leave out skip_tokenizer_init, or pass tokenizer="
            )
        self.tokenizer = llm.get_tokenizer() if tokenizer is None else tokenizer
        self.width: int = model.get_vocab_size()
        self.context: int | None = model.max_model_len
        self.options: EngineOptions | None = options_in(self.config)
        self._rescore = rescore

    @classmethod
    def of(cls, llm: Any, tokenizer: Any = None) -> VLLMModel:
        """The handle of an engine, kept with it unless a tokenizer is given."""
        if tokenizer is not None:
            return cls(llm, tokenizer)
        handle = llm.__dict__.get(_ATTRIBUTE)
        if handle is None:
            install_in_front_end()
            handle = llm.__dict__[_ATTRIBUTE] = cls(llm)
        return handle

    @classmethod
    def named(cls, name: str, tokenizer: Any = None) -> VLLMModel:
        """Of "vllm:MODEL": an engine with vLLM's defaults, started once in a process."""
        require("vllm", f"the model {name!r}")
        return cls.of(_engine(name.removeprefix(PREFIX)), tokenizer)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id."""
        eos = (self.config.model_config.try_get_generation_config() or {}).get("eos_token_id")
        ids = list(eos) if isinstance(eos, (list, tuple)) else [] if eos is None else [eos]
        return vocabulary_of(self.tokenizer, self.width, ids)

    @cached_property
    def canonical(self) -> bool | None:
        """The tokens of the engine's own masks: True: canonical ones; None: those where text is forced; False: all."""
        known = canonical_tokens(self.tokenizer, self.vocabulary)
        return False if self.options is None or isinstance(known, str) else self.options.canonical

    @cached_property
    def records(self) -> bool:
        """True if the workers record log Z (runners.py), found by asking for one token."""
        from vllm import SamplingParams

        if self._rescore:
            return False
        params = SamplingParams(
            max_tokens=1, logprobs=1, flat_logprobs=True, detokenize=False, extra_args={ENTRY: WEIGHTS}
        )
        [output] = self.submit([self.vocabulary.eos_ids[:1]], [params])
        return output.logprobs.token_ids[1] == NO_ID

    @property
    def records_all(self) -> bool:
        """True if they do in every step of this engine: where it verifies drafts, by the V2 model runner only."""
        return self.records and (self.config.speculative_config is None or is_second(self.config))

    @cached_property
    def steps(self) -> bool:
        """True if requests can be followed step by step, and can begin within their text."""
        return not (GRAMMARS.differences() or STEPS.differences())

    def decoding(self, compiled: Any, constraint: Any, settings: Settings) -> EngineDecoding | None:
        """Masked decoding of whole sequences in the engine; None where a request goes token by token."""
        from constrain.engines.vllm.masked import EngineDecoding

        return EngineDecoding.of(self, compiled, constraint, settings)

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[VLLMSession, list[torch.Tensor]]:
        """Read B prefixes, equal ones once; see `constrain.sampling.LanguageModel`."""
        session = VLLMSession(self, [list(prefix) for prefix in prefixes])
        return session, session.ask(keep)

    def logits(self, prefixes: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], torch.Tensor]:
        """Log-probabilities after each of some prefixes, float32[width], at temperature 1; equal ones are asked once.

        Raises ConstrainError: the engine keeps them to itself.
        """
        import numpy as np
        import torch
        from vllm import SamplingParams

        most = self.config.model_config.max_logprobs
        if most != -1 and most < self.width:
            raise ConstrainError(
                f"this method needs the probabilities of all {self.width} tokens, and the engine gives out {most}",
                fix=FIX,
            )
        params = SamplingParams(
            max_tokens=1, temperature=0.0, logprobs=-1, flat_logprobs=True, detokenize=False, extra_args={ENTRY: ROW}
        )
        distinct = list(dict.fromkeys(prefixes))
        found: dict[tuple[int, ...], torch.Tensor] = {}
        for prefix, output in zip(distinct, self.submit(distinct, [params] * len(distinct)), strict=True):
            given = output.logprobs
            if isinstance(given, RowLogprobs):
                [row] = given.rows
            else:  # this version of vLLM keeps rows in its own way
                row = row_of(given.token_ids[1:], np.asarray(given.logprobs[1:], np.float32))
            found[prefix] = torch.from_numpy(row)
        return found

    def submit(self, prompts: Sequence[Sequence[int]], params: Sequence[Any]) -> list[Any]:
        """The outputs of some requests, each of one output, in one batch."""
        return [each.outputs[0] for each in self.submit_whole(prompts, params)]

    def submit_whole(self, prompts: Sequence[Sequence[int]], params: Sequence[Any]) -> list[Any]:
        """vLLM's `RequestOutput` of some requests, in one batch."""
        given = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
        return list(self.llm.generate(given, list(params), use_tqdm=False))


class VLLMSession:
    """Texts that are submitted anew at each step; see `constrain.sampling.Session`."""

    def __init__(self, model: VLLMModel, texts: list[list[int]]) -> None:
        self.model = model
        self.texts = texts

    def ask(self, keep: Sequence[int]) -> list[torch.Tensor]:
        """Logits of the last positions of each text, float32[keep[i], width]."""
        import torch

        wanted = [
            [tuple(text[:end]) for end in range(len(text) - kept + 1, len(text) + 1)]
            for text, kept in zip(self.texts, keep, strict=True)
        ]
        found = self.model.logits([prefix for prefixes in wanted for prefix in prefixes])
        empty = torch.empty((0, self.model.width))
        return [torch.stack([found[each] for each in prefixes]) if prefixes else empty for prefixes in wanted]

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append tokens to each row, and return logits; see `constrain.sampling.Session`."""
        for text, chunk in zip(self.texts, chunks, strict=True):
            text += chunk
        return self.ask(keep)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order."""
        self.texts = [list(self.texts[row]) for row in rows]

    def fork(self, rows: Sequence[int]) -> VLLMSession:
        """A session of its own that goes on with these rows."""
        return VLLMSession(self.model, [list(self.texts[row]) for row in rows])


@lru_cache(maxsize=1)
def _engine(name: str) -> Any:
    """The engine of a model. vLLM's engines do not leave room for each other, so one is kept."""
    from vllm import LLM

    try:
        return LLM(name, **SETTINGS)
    except (OSError, ValueError) as error:
        if isinstance(error, ConstrainError):
            raise
        reason = str(error).strip().split("\n")[0]
        raise ConstrainError(
            f"vLLM cannot load the model {name!r}: {reason}", fix="check the name or folder"
        ) from error
