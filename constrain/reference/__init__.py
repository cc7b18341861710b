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
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

__all__ = ["Reference", "draft_path", "load", "path"]

_DATA = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Reference:
    """The loaded models, in evaluation mode on the CPU.

    `model` and `draft` share `tokenizer`: equal ids mean equal bytes, so drafts need no translation.
    """

    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast
    draft: LlamaForCausalLM


def path() -> Path:
    """Local folder of the target model and its tokenizer, in Hugging Face format."""
    return _DATA / "target"


def draft_path() -> Path:
    """Local folder of the draft model, with the same tokenizer."""
    return _DATA / "draft"


def load(dtype: torch.dtype | None = None) -> Reference:
    """The reference models, from the package's own files and never from a network.

    dtype: of the weights; float32 when None (they are stored as float16). One `Reference` per dtype is kept, so callers
    share the models: copy one (`copy.deepcopy`) before changing it.
    Raises ImportError, with the way out, when torch or transformers are missing.
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
