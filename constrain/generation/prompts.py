"""Prompts: text, chat messages or token ids, one or several → token ids.

A list is several prompts, unless it is a list of numbers (token ids) or of dicts (chat messages).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constrain.errors import ConstrainError
from constrain.hf.model import HFModel

FORMS = "pass a str, a list of chat messages (dicts), a list of token ids, or a list of such prompts"


def read_prompts(prompt: Any, handle: HFModel) -> tuple[list[list[int]], bool]:
    """(token ids of every prompt, whether there was only one, not in a list). Raises ConstrainError."""
    prompt = _plain(prompt)
    if isinstance(prompt, (str, Mapping)) or not isinstance(prompt, (list, tuple)):
        return [_ids(prompt, handle, "the prompt")], True
    if not prompt:
        raise ConstrainError("the prompt is an empty list", fix=FORMS)
    if isinstance(_plain(prompt[0]), (int, Mapping)):
        return [_ids(prompt, handle, "the prompt")], True
    return [_ids(each, handle, f"prompt {i}") for i, each in enumerate(prompt)], False


def _ids(prompt: Any, handle: HFModel, name: str) -> list[int]:
    prompt = _plain(prompt)
    if isinstance(prompt, str):
        ids = tokenize(handle.tokenizer, prompt)
    elif isinstance(prompt, (list, tuple)) and prompt and all(isinstance(each, Mapping) for each in prompt):
        ids = tokenize(handle.tokenizer, _render(prompt, handle.tokenizer, name), special=False)
    elif isinstance(prompt, (list, tuple)) and all(type(_plain(each)) is int for each in prompt):
        ids = [_plain(each) for each in prompt]
        for place, token in enumerate(ids):
            if not 0 <= token < handle.width:
                raise ConstrainError(
                    f"{name} has token id {token}, which the model does not know",
                    place=f"token {place} of the prompt",
                    fix=f"ids of this model go from 0 to {handle.width - 1}",
                )
    else:
        what = "a mixed list" if isinstance(prompt, (list, tuple)) else type(prompt).__name__
        raise ConstrainError(f"{name} is neither text, chat messages nor token ids: {what}", fix=FORMS)
    return _fitting(ids or _beginning(handle.tokenizer, name), handle, name)


def _fitting(ids: list[int], handle: HFModel, name: str) -> list[int]:
    if handle.context is not None and len(ids) >= handle.context:
        raise ConstrainError(
            f"{name} has {len(ids)} tokens, and the model has {handle.context} positions: no room for an output",
            fix="shorten the prompt",
        )
    return ids


def tokenize(tokenizer: Any, text: str, special: bool = True) -> list[int]:
    """Token ids of a text. special: with what the tokenizer puts around every text."""
    if callable(tokenizer):
        return list(tokenizer(text, add_special_tokens=special)["input_ids"])
    return list(tokenizer.encode(text, add_special_tokens=special).ids)  # a `tokenizers.Tokenizer`


def _beginning(tokenizer: Any, name: str) -> list[int]:
    """An empty prompt: the model still needs a token to start from."""
    for role in ("bos_token_id", "eos_token_id"):  # GPT-2 and its kin begin texts with the end of the one before
        token = getattr(tokenizer, role, None)
        if token is not None:
            return [token]
    raise ConstrainError(f"{name} is empty, and the tokenizer has no token to begin a text with", fix="write a prompt")


def _render(messages: Sequence[Any], tokenizer: Any, name: str) -> str:
    for place, message in enumerate(messages):
        if not isinstance(message.get("role"), str):
            raise ConstrainError(
                f"{name} has a chat message without a role",
                place=f"message {place}: {str(dict(message))[:80]}",
                fix='write messages as {"role": "user", "content": "..."}',
            )
    if not getattr(tokenizer, "chat_template", None):
        raise ConstrainError(
            f"{name} is a list of chat messages, and the tokenizer has no chat template",
            fix="pass the prompt as a str, or set tokenizer.chat_template",
        )
    return tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)


def _plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") and not isinstance(value, (str, list, tuple)) else value
