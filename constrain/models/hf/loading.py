"""Loading models and tokenizers of transformers by name, by folder, and from a GGUF file."""

from __future__ import annotations

import logging
import os
import time
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError, MissingExtraError
from constrain.languages.vocab.huggingface import is_missing, not_loaded
from constrain.models.hf.kinds import auto_class

if TYPE_CHECKING:
    import torch

_log = logging.getLogger(__name__)


def unpacked(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """(model, tokenizer) of what users pass: a pair is taken apart, a path becomes a name, `~` is the home folder.

    Raises ConstrainError: there are two tokenizers.
    """
    if isinstance(model, tuple) and len(model) == 2:
        if tokenizer is not None:
            raise ConstrainError(
                "the model is a pair with a tokenizer, and tokenizer= is another", place="tokenizer", fix="leave it out"
            )
        model, tokenizer = model
        if isinstance(tokenizer, str) or not (callable(tokenizer) or hasattr(tokenizer, "encode")):
            raise ConstrainError(
                f"the second of the pair is {tokenizer!r:.60}, which is no tokenizer",
                place="model",
                fix="pass (model, transformers.AutoTokenizer.from_pretrained(name))",
            )
    if isinstance(model, os.PathLike) or (isinstance(model, str) and model.startswith("~")):
        model = os.path.expanduser(os.fspath(model))
    return model, tokenizer


def model_named(name: str, wide: bool = False) -> Any:
    """The model of a name, a folder or a GGUF file. wide: `widened`. Raises ConstrainError: it cannot be loaded."""
    from transformers import AutoConfig

    start = time.perf_counter()
    place, given = _place(name)
    try:
        config = AutoConfig.from_pretrained(place, **given)
        model = auto_class(config).from_pretrained(place, **given)
    except ConstrainError:
        raise
    except Exception as error:  # of a folder's files: any kind
        reason = not_loaded(name, "model", error)
        if is_missing(name):
            raise ConstrainError(reason, place="model", fix="check the path") from None
        raise ConstrainError(
            f"the model {name!r} cannot be loaded: {reason}",
            fix="check the name; pass a folder, a model object with tokenizer=, or constrain.reference.load()",
        ) from error
    _log.info("loaded the model %s in %.1f s", name, time.perf_counter() - start)
    return widened(model) if wide else model


def widened(model: torch.nn.Module) -> torch.nn.Module:
    """A model of 16 bits in float32, twice as large; one of other numbers, or a quantized one, as it is."""
    if getattr(model.config, "quantization_config", None) is None and is_narrow(dtype_of(model)):
        return model.float()
    return model


@lru_cache(maxsize=64)
def is_stored_narrow(name: str) -> bool:
    """True if the weights of a name, of a folder or of a GGUF file are stored in 16 bits, as far as it is told."""
    from transformers import AutoConfig

    try:
        place, given = _place(name)
        return is_narrow(str(AutoConfig.from_pretrained(place, **given).dtype).removeprefix("torch."))
    except Exception:  # whatever is wrong with the name: `model_named` tells
        return False


def dtype_of(model: torch.nn.Module) -> str:
    """The number format of a model's weights, as "float32"; "" where it has none."""
    found = next((each.dtype for each in model.parameters() if each.is_floating_point()), "")
    return str(found).removeprefix("torch.")


def is_narrow(dtype: str) -> bool:
    """True for a number format of 16 bits: what a model says of a text depends on what is read beside it."""
    return dtype in ("float16", "bfloat16")


def tokenizer_beside(name: str, model: Any) -> Any:
    """The tokenizer, or the processor, of a model that was loaded by name. Raises ConstrainError."""
    place, given = _place(name)
    try:
        return tokenizer_named(place, model.config, **given)
    except Exception as error:  # of a folder's files: any kind
        reason = not_loaded(name, "tokenizer", error)
        raise ConstrainError(f"the model {name!r} has no tokenizer: {reason}", fix="pass tokenizer=") from error


def _place(name: str) -> tuple[str, dict[str, str]]:
    return _gguf(name) if name.lower().endswith(".gguf") else (name, {})


def _gguf(name: str) -> tuple[str, dict[str, str]]:
    """(the folder of a GGUF file, the argument that names the file). Raises ConstrainError: it cannot be read."""
    missing = [package for package in ("gguf", "accelerate") if find_spec(package) is None]
    if missing:
        raise MissingExtraError(
            f"{name!r} is a GGUF file, which transformers reads with {' and '.join(missing)}",
            fix=f"pip install {' '.join(missing)}; or pass llama_cpp.Llama({name!r})",
        )
    if not os.path.isfile(name):
        raise ConstrainError(f"there is no file {name!r}", place="model", fix="check the path")
    folder, file = os.path.split(name)
    return folder or ".", {"gguf_file": file}


def tokenizer_of(model: Any) -> Any:
    """The tokenizer beside the files that a model was loaded from."""
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    if not name:
        raise ConstrainError("the model has no name to find its tokenizer by", fix="pass tokenizer=")
    try:
        return tokenizer_named(name, model.config)
    except (OSError, ValueError) as error:
        raise ConstrainError(f"no tokenizer was found for the model {name!r}", fix="pass tokenizer=") from error


def tokenizer_named(name: str, config: Any, **given: Any) -> Any:
    """The processor of a model that sees images, where there is one; else the tokenizer. Raises OSError, ValueError."""
    from transformers import AutoProcessor, AutoTokenizer

    if getattr(config, "vision_config", None) is not None:
        try:
            processor = AutoProcessor.from_pretrained(name)
        except (OSError, ValueError, ImportError):  # text goes without one
            return AutoTokenizer.from_pretrained(name)
        if is_processor(processor):
            return processor
    return AutoTokenizer.from_pretrained(name, **given)


def is_processor(tokenizer: Any) -> bool:
    """True if an object is a processor of transformers: it reads images beside text."""
    return hasattr(tokenizer, "tokenizer") and hasattr(tokenizer, "image_processor")
