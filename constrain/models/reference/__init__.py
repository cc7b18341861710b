"""A small language model inside the package: a target, its tokenizer and a faster draft.

    from constrain import reference

    ref = reference.load()
    ref.model, ref.tokenizer, ref.draft     # LlamaForCausalLM, PreTrainedTokenizerFast, LlamaForCausalLM
    AutoModelForCausalLM.from_pretrained(reference.path())

Idea: claims about distributions and drafts need a model whose distribution means something, on any machine, without a
network. These two Llama models (3.7 and 0.7 million parameters) write JSON, SQL, Python and some English over one
byte-level vocabulary of 3,072 tokens. `scripts/train_reference.py` made them, `data/training.json` is the record,
`docs/reference-model.md` has the results.
Cost: 9.5 MB on disk; about a second to load once torch and transformers are imported, which only `load` does.
Limit: training rows had 512 tokens, so quality falls beyond that length; knowledge of the world is near none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    # PERF: a checker that looks into `transformers` itself reads all of its models, half a minute
    from transformers.models.llama.modeling_llama import LlamaForCausalLM
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

__all__ = ["Reference", "draft_path", "load", "path"]

_DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Reference:
    """The loaded models, in evaluation mode on the CPU.

    Attributes:
        model: the target model.
        tokenizer: of both models: equal ids mean equal bytes, so drafts need no translation.
        draft: the smaller model.

    Example:
        >>> from constrain import reference
        >>> isinstance(reference.load(), reference.Reference)
        True
    """

    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast
    draft: LlamaForCausalLM


def path() -> Path:
    """The folder of the target model and its tokenizer.

    Returns:
        A local folder in Hugging Face format.

    Example:
        >>> from constrain import reference
        >>> (reference.path() / "config.json").exists()
        True
    """
    return _DATA / "target"


def draft_path() -> Path:
    """The folder of the draft model, with the same tokenizer.

    Returns:
        A local folder in Hugging Face format.

    Example:
        >>> from constrain import reference
        >>> (reference.draft_path() / "config.json").exists()
        True
    """
    return _DATA / "draft"


def load(dtype: torch.dtype | None = None) -> Reference:
    """Load the reference models from the package's own files, never from a network.

    One `Reference` for each dtype is kept, so callers share the models: copy one (`copy.deepcopy`) before changing it.

    Args:
        dtype: of the weights; None: float32 (they are stored as float16).

    Returns:
        The models and their tokenizer.

    Raises:
        ImportError: torch or transformers are missing; the message has the pip line.

    Example:
        >>> from constrain import reference
        >>> reference.load().model.config.vocab_size
        3072
    """
    try:
        import torch
        import transformers  # noqa: F401  (named here so that its absence is told apart from a fault inside it)
    except ImportError as error:
        raise ImportError(
            f"constrain.reference needs torch and transformers: {error}\n  fix: pip install torch transformers"
        ) from error
    return _load(torch.float32 if dtype is None else dtype)


@cache
def _load(dtype: torch.dtype) -> Reference:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(path(), local_files_only=True)
    return Reference(model=_model(path(), dtype), tokenizer=tokenizer, draft=_model(draft_path(), dtype))


def _model(folder: Path, dtype: torch.dtype) -> LlamaForCausalLM:
    """One model, loaded without the progress bar that transformers draws on stderr for every model."""
    from transformers import LlamaForCausalLM
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True)
    finally:
        if shown:
            logging.enable_progress_bar()
    return model.to(dtype).eval()  # `to` works with every version; the name of from_pretrained's argument changed
