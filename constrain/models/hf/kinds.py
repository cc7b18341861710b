"""True if an object is a language model of transformers; if not, what it is and what to load instead."""

from __future__ import annotations

from typing import Any

import torch

from constrain.errors import ConstrainError

AUTO = "AutoModelForCausalLM.from_pretrained(name)"


def check_kind(model: Any, encodes: bool = False) -> None:
    """Raises ConstrainError for what cannot predict the next token. encodes: an encoder-decoder is wanted."""
    config, name = getattr(model, "config", None), type(model).__name__
    if not isinstance(model, torch.nn.Module) or config is None or not hasattr(model, "get_output_embeddings"):
        raise ConstrainError(
            f"{name} is not a causal language model of transformers",
            fix=f"pass {AUTO}, a name or folder, (model, tokenizer), or constrain.reference.load()",
        )
    if is_encoder_decoder(model) != encodes:
        what = "is no" if encodes else "is an"
        raise ConstrainError(f"{name} {what} encoder-decoder model", fix="make the handle by HFModel.of(model)")
    reads = getattr(model, "main_input_name", "input_ids")
    if encodes and reads != "input_ids":
        raise ConstrainError(
            f"the encoder of {name} reads {reads}, and prompts are token ids",
            fix="its own model.generate works with constrain.hf.ConstraintProcessor",
        )
    if writes(model):
        return
    known = _class_name(config, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES")
    if is_encoder(config):
        raise ConstrainError(
            f"{name} is an encoder: it reads a text in both directions and does not write one",
            fix=f"load a model that was trained to write on (Llama, Qwen, GPT-2, …) with {AUTO}",
        )
    headless = name == _class_name(config, "MODEL_MAPPING_NAMES") or name.endswith("Model")
    what = "has no head for language modelling" if headless else "has a head for another task"
    raise ConstrainError(
        f"{name} {what}: it gives no logits for the token that follows",
        fix=f"load the same files as {known or 'a causal language model'}: {AUTO}",
    )


def auto_class(config: Any) -> Any:
    """The class of transformers that loads a model by name, from its configuration."""
    import transformers

    if getattr(config, "is_encoder_decoder", False):
        return transformers.AutoModelForSeq2SeqLM
    if not _class_name(config, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES") and _class_name(
        config, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"
    ):
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def is_encoder_decoder(model: Any) -> bool:
    """True if a model reads a text by an encoder, and writes another by a decoder."""
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def writes(model: Any) -> bool:
    """True if a class is made for writing on: transformers says so, or its name."""
    name = type(getattr(model, "_orig_mod", model)).__name__
    able = getattr(model, "can_generate", None)
    return able is None or bool(able()) or "CausalLM" in name or "LMHead" in name


def is_encoder(config: Any) -> bool:
    """True if models of a family are trained to fill gaps; some of its classes may write on all the same."""
    return _class_name(config, "MODEL_FOR_MASKED_LM_MAPPING_NAMES") is not None


def _class_name(config: Any, mapping: str) -> str | None:
    """The class that transformers has for a kind of model, by the type of its configuration."""
    from transformers.models.auto import modeling_auto

    found = getattr(modeling_auto, mapping, {}).get(getattr(config, "model_type", ""))
    return found if found is None or isinstance(found, str) else found[0]
