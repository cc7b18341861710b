"""llama-cpp-python: a model of it behind `constrain.generate`, and a logits processor for its own loops.

The idea: a `Llama` has one context, which holds one text (one_text.py has the cost). The bytes of its tokens are what
its C library writes for them, so no tokenizer of another library is needed.
Limit: recurrent models cannot go back; each change of rows reads a text from its beginning.

Version tested: llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from constrain.engines.follower import Follower
from constrain.engines.one_text import OneTextModel
from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint

_log = logging.getLogger(__name__)
_vocabularies: WeakKeyDictionary[Any, Vocabulary] = WeakKeyDictionary()


class LlamaModel(OneTextModel):
    """A `llama_cpp.Llama` as a `constrain.sampling.LanguageModel`. `constrain.generate` makes it.

    Args:
        llama: The model. Nothing else may use it meanwhile.

    Attributes:
        width: Logits a position.
        context: Positions of its context.
        tokenizer: Its tokenizer, as `generate` asks it.
        vocabulary: The bytes of every token id.
    """

    def __init__(self, llama: Any) -> None:
        self.llama = llama
        self.width: int = llama.n_vocab()
        self.context = len(llama.input_ids)  # as asked for; n_ctx() is rounded up, and it has no room for so many
        self.tokenizer = LlamaTokenizer(llama)

    @classmethod
    def of(cls, llama: Any, tokenizer: Any = None) -> LlamaModel:
        """The handle of a model. Raises ConstrainError: a tokenizer is given."""
        if tokenizer is not None:
            raise ConstrainError(
                "a model of llama-cpp-python has a tokenizer of its own", place="tokenizer", fix="leave tokenizer out"
            )
        return cls(llama)

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id; all ids at which llama.cpp ends a generation end a text."""
        return vocabulary_of(self.llama)

    def known(self) -> list[int]:
        """The text of the context."""
        return self.llama.input_ids[: self.llama.n_tokens].tolist()

    def go_back(self, length: int) -> int:
        """Forget all but the first tokens of the context; all of them where it cannot go back."""
        llama = self.llama
        if length < llama.n_tokens:
            memory = llama_cpp.llama_get_memory(llama.ctx)
            if length == 0 or not llama_cpp.llama_memory_seq_rm(memory, -1, length, -1):
                llama_cpp.llama_memory_clear(memory, True)
                length = 0
            llama.n_tokens = length
        return length

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read tokens. Returns the logits after the last one, float32[width]."""
        self.llama.eval(list(tokens))
        logits = llama_cpp.llama_get_logits_ith(self.llama.ctx, -1)
        return np.ctypeslib.as_array(logits, shape=(self.width,)).copy()


class LlamaTokenizer:
    """The tokenizer of a `Llama`, asked as one of transformers is.

    Args:
        llama: The model.

    Attributes:
        chat_template: The template of the file, in Jinja; None: it has none.
        bos_token_id: The id that begins a text; None: there is none.
        eos_token_id: The id that ends one; None: there is none.
    """

    def __init__(self, llama: Any) -> None:
        self.llama = llama
        self.chat_template: str | None = llama.metadata.get("tokenizer.chat_template")
        self.bos_token_id = _id_or_none(llama.token_bos())
        self.eos_token_id = _id_or_none(llama.token_eos())

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Token ids of a text. The names of special tokens in it are these tokens."""
        return {"input_ids": self.llama.tokenize(text.encode(), add_bos=add_special_tokens, special=True)}

    def apply_chat_template(
        self, messages: list[Any], *, tools: list[Any] | None = None, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        """The text of chat messages, by llama-cpp-python's own reading of the template."""
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        begin, end = (
            "" if token is None else self.llama.detokenize([token], special=True).decode()
            for token in (self.bos_token_id, self.eos_token_id)
        )
        template = self.chat_template or ""
        formatter = Jinja2ChatFormatter(template, end, begin, add_generation_prompt=add_generation_prompt)
        return str(formatter(messages=messages, tools=tools).prompt)


def vocabulary_of(llama: Any) -> Vocabulary:
    """The bytes of every token of a `llama_cpp.Llama`, as its C library writes them; read once a model.

    Args:
        llama: The model.

    Returns:
        The vocabulary, as wide as the logits. Control tokens have no bytes. All ids at which llama.cpp ends a
        generation end a text.

    Raises:
        VocabularyError: No id ends a text.
    """
    if llama not in _vocabularies:
        _vocabularies[llama] = _read_vocabulary(llama)
    return _vocabularies[llama]


class LlamaProcessor:
    """A logits processor for `Llama.create_completion` and `create_chat_completion`: masks what is not allowed.

    It serves one sequence at a time; a call whose tokens do not continue what it has seen begins a new one.
    llama-cpp-python calls it from C, where an exception would be lost. After a fault it allows nothing but the end of
    the text, keeps the fault, and raises it as a stopping criterion:

        it = LlamaProcessor(llama, compiled)
        llama(prompt, logits_processor=LogitsProcessorList([it]), stopping_criteria=StoppingCriteriaList([it.stop]))

    Args:
        llama: The model.
        compiled: The constraint, compiled for `vocabulary_of(llama)`.
        canonical: Only tokens that the tokenizer itself would write count: True: or it is an error; None: where the
            vocabulary was read from a tokenizer that is understood, which llama.cpp's own is not; False: all tokens
            that spell a text count.

    Attributes:
        cuts: "forced", "canonical", or "all" and why.
        fault: Why the last sequence was ended before its text was complete; None: it was not.

    Raises:
        ConstrainError: The model has drafts: llama-cpp-python shows them to processors as if they were accepted.
    """

    def __init__(self, llama: Any, compiled: CompiledConstraint, canonical: bool | None = None) -> None:
        if getattr(llama, "draft_model", None) is not None:
            raise ConstrainError(
                "the loop of llama-cpp-python does not tell a logits processor which tokens are drafts",
                place="draft_model of the Llama",
                fix="leave out draft_model",
            )
        self.fault: ConstrainError | None = None
        self._failed: list[int] = []
        self._follower = Follower(compiled, canonical)
        self.cuts = self._follower.cuts

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores, float32[V], with -inf for what is not allowed after input_ids, int32[T]."""
        bits = self._allowed(np.asarray(input_ids).tolist(), len(scores))
        return np.where(bits, scores, np.float32(-np.inf))

    def _allowed(self, tokens: list[int], width: int) -> NDArray[np.bool_]:
        if self.fault is None or tokens[:-1] != self._failed:  # else the sequence goes on after its fault
            self.fault = None
            try:
                return self._follower.allowed(tokens, width)
            except ConstrainError as error:
                self.fault = error
                _log.warning("a sequence of llama.cpp ends: %s", error)
        self._failed = tokens
        bits = np.zeros(width, np.bool_)
        bits[list(self._follower.compiled.vocabulary.eos_ids)] = True
        return bits

    def stop(self, input_ids: Any, logits: Any) -> bool:
        """Raise the fault, where llama.cpp asks for a stopping criterion; no text ends here."""
        if self.fault is not None:
            raise self.fault
        return False


def _read_vocabulary(llama: Any) -> Vocabulary:
    vocab = llama_cpp.llama_model_get_vocab(llama.model)
    ids = range(llama.n_vocab())
    ends = [token for token in ids if llama_cpp.llama_vocab_is_eog(vocab, token)]
    pieces = [_piece(vocab, token) for token in ids]
    for token in ends:
        pieces[token] = None
    names = {}
    special = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
    for token in ids:
        if llama_cpp.llama_vocab_get_attr(vocab, token) & special:
            names[llama_cpp.llama_vocab_get_text(vocab, token).decode()] = token
    return Vocabulary(pieces, eos_ids=ends, names=names)


def _piece(vocab: Any, token: int) -> bytes | None:
    """The bytes of a token; None: it has none."""
    size = 64
    buffer = ctypes.create_string_buffer(size)
    length = llama_cpp.llama_token_to_piece(vocab, token, buffer, size, 0, False)
    if length < 0:  # the buffer is too short, and this is the negated length
        size = -length
        buffer = ctypes.create_string_buffer(size)
        length = llama_cpp.llama_token_to_piece(vocab, token, buffer, size, 0, False)
    return buffer.raw[:length] or None


def _id_or_none(token: int) -> int | None:
    return token if token >= 0 else None
