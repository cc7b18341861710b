"""Write tokenizer and models as Hugging Face folders: float16 weights, config that asks for float32 when loaded."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from . import corpus


def save_model(model: LlamaForCausalLM, folder: Path) -> None:
    """Model files under `folder`. Weights are rounded to float16: at most 2^-11 relative error, and half the size."""
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    copy.to(torch.float16).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("torch_dtype", None)
    config["dtype"] = "float32"  # float16 is slow and inexact on CPUs; loading upcasts
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """tokenizer.json, and a tokenizer_config.json that transformers 4 and 5 read alike (their own writers differ)."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": corpus.SPECIAL[corpus.EOS],
        "pad_token": corpus.SPECIAL[corpus.PAD],
        "additional_special_tokens": corpus.SPECIAL[2:],
        "model_max_length": 2048,
        "clean_up_tokenization_spaces": False,
        "chat_template": corpus.CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def save(target: LlamaForCausalLM, draft: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """folder/target and folder/draft, each complete with the tokenizer."""
    for name, model in (("target", target), ("draft", draft)):
        save_model(model, folder / name)
        save_tokenizer(tokenizer, folder / name)
