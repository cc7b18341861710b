"""`Prompt`, and prompts as text, chat messages or token ids, one or several → token ids.

A list is several prompts, unless it is a list of numbers (token ids) or of dicts (chat messages). A dict with
"input_ids" is a prompt that a processor made, maybe with images (images.py). What a prompt is, is
decided before a model is loaded (`parse_prompts`); its tokens are found with the model's tokenizer (`token_ids`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from constrain.errors import ConstrainError
from constrain.generation.handles import Handle
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.models.hf.model import HFModel

if TYPE_CHECKING:
    from constrain.chat.calls.tools import ToolUse

FORMS = (
    "pass a str, a list of chat messages (dicts), a list of token ids, what a processor returned, or a list of such "
    "prompts"
)
# A template that goes through the parts of a content; others join it to a text.
_READS_PARTS = re.compile(r"for\s+\w+\s+in\s+(\w+\.)?(\w*content\w*|\w+\[\s*['\"]content['\"]\s*\])")
# text, token ids, chat messages, a processor's output
Parsed: TypeAlias = "str | list[int] | list[Mapping[str, Any]] | Mapping[str, Any]"


@dataclass(frozen=True)
class Prompt:
    """A prompt that says more than its content; `generate` takes it where it takes a text.

    A text in it is meant as it stands: there is no warning that the model has a chat template.

    Attributes:
        content: text, token ids or chat messages.
        images: the images of a vision-language model (PIL, arrays, tensors): one or a list, for which the content has
            placeholders, or content parts if it is chat messages. They need the model's processor as `tokenizer`
            (docs/models.md).
        healing: take the last token back and let the model write its bytes again, merged with what follows if it likes;
            the `text` of an output does not repeat them. This changes what is sampled: see
            `constrain.generation.healing`.
        describe: tell the model the schema (`constrain.describe`): in the system message, or where the chat template
            has none, in the first message of the user; before a text. Needs `schema=`, `type=` or the like.
        prefix: fill in the middle: prefix + output + suffix is in the language of the constraint, and `value` is that
            of the whole (`constrain.between`). None beside a suffix: the content, which is a text then.
        suffix: the text after the output; None beside a prefix: nothing.

    Example:
        >>> import constrain
        >>> pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
        >>> prompt = constrain.Prompt("Two numbers: ", prefix="[1", suffix="9]")
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, prompt, schema=pair, max_tokens=20, complete=True, seed=1)
        >>> str(g.value[0])[0], g.value[1] % 10
        ('1', 9)
    """

    content: Any
    images: Any = None
    healing: bool = False
    describe: bool = False
    prefix: str | None = None
    suffix: str | None = None

    @classmethod
    def of(cls, content: Any, options: dict[str, Any]) -> Prompt:
        """The prompt of a content, with the options of a prompt among others; they are taken out."""
        return cls(content, **{each.name: options.pop(each.name) for each in fields(cls) if each.name in options})

    @property
    def is_between(self) -> bool:
        """The output stands between texts."""
        return self.prefix is not None or self.suffix is not None


class ParsedPrompts(NamedTuple):
    """Prompts whose form is known.

    each: their contents. single: there was one prompt, not a list of them. given: all that was said of each.
    bare: none of them is a `Prompt`. described: of each, the words for its constraint, or ""; () where nothing does.
    """

    each: list[Parsed]
    single: bool
    given: list[Prompt]
    bare: bool = False
    described: Sequence[str] = ()

    def name(self, place: int) -> str:
        """The name of a prompt in messages."""
        return "the prompt" if self.single else f"prompt {place}"


def parse_prompts(prompt: Any, *, plain: bool = True) -> ParsedPrompts:
    """The prompts, each as text, chat messages or token ids; needs no model. plain: a `Prompt` is refused.

    Raises ConstrainError.
    """
    listed = _several(prompt)
    given = [each if isinstance(each, Prompt) else Prompt(each) for each in ([prompt] if listed is None else listed)]
    bare = not any(isinstance(each, Prompt) for each in ([prompt] if listed is None else listed))
    if plain and not bare:
        raise ConstrainError("only generate takes a Prompt", place="prompt", fix="pass its content")
    names = ["the prompt"] if listed is None else [f"prompt {place}" for place in range(len(given))]
    for each, name in zip(given, names, strict=True):
        for option, value in (("healing", each.healing), ("describe", each.describe)):
            if not isinstance(value, bool):
                raise ConstrainError(f"{option} must be True or False, not {value!r}", place=name)
    contents = [_parse(each.content, name) for each, name in zip(given, names, strict=True)]
    return ParsedPrompts(contents, listed is None, given, bare)


def _several(prompt: Any) -> Sequence[Any] | None:
    """The prompts of a list of prompts; None: it is one prompt. Raises ConstrainError: the list is empty."""
    prompt = _plain(prompt)
    if isinstance(prompt, (str, Mapping)) or not isinstance(prompt, (list, tuple)):
        return None
    if not prompt:
        raise ConstrainError("the prompt is an empty list", fix=FORMS)
    one = isinstance(_plain(prompt[0]), (int, Mapping)) and not _is_features(prompt[0])
    return None if one else prompt


def _parse(prompt: Any, name: str) -> Parsed:
    prompt = _plain(prompt)
    if isinstance(prompt, str):
        if has_lone_surrogate(prompt):
            raise ConstrainError(f"{name} has a lone surrogate: {prompt!r:.60}", fix="it is not text: remove it")
        return prompt
    if _is_features(prompt):
        return dict(prompt)
    if isinstance(prompt, (list, tuple)) and prompt and all(isinstance(each, Mapping) for each in prompt):
        _check_messages(prompt, name)
        return list(prompt)
    if isinstance(prompt, (list, tuple)) and all(type(_plain(each)) is int for each in prompt):
        ids = [_plain(each) for each in prompt]
        for place, token in enumerate(ids):
            if token < 0:
                raise ConstrainError(
                    f"{name} has token id {token}", place=f"token {place} of the prompt", fix="ids begin at 0"
                )
        return ids
    what = "a mixed list" if isinstance(prompt, (list, tuple)) else type(prompt).__name__
    raise ConstrainError(f"{name} is neither text, chat messages nor token ids: {what}", fix=FORMS)


def _is_features(prompt: Any) -> bool:
    return isinstance(prompt, Mapping) and "input_ids" in prompt


def _check_messages(messages: Sequence[Mapping[str, Any]], name: str) -> None:
    for place, message in enumerate(messages):
        _check_content(message.get("content"), f"message {place}", name)
        if not isinstance(message.get("role"), str):
            raise ConstrainError(
                f"{name} has a chat message without a role",
                place=f"message {place}: {str(dict(message))[:80]}",
                fix='write messages as {"role": "user", "content": "..."}',
            )


def _check_content(content: Any, place: str, name: str) -> None:
    """Refuse what no chat template writes: a content is a text, nothing, or a list of parts."""
    parts = content if isinstance(content, (list, tuple)) else () if content is None else [content]
    for number, part in enumerate(parts):
        text = part.get("text", "") if isinstance(part, Mapping) and part is not content else part
        where = f"{place}.content" + (f"[{number}]" if part is not content else "")
        if not isinstance(text, str):
            raise ConstrainError(
                f"{name} has a message whose content is neither a text nor a list of parts: {text!r:.60}",
                place=where,
                fix='write {"role": "user", "content": "..."}, or parts: [{"type": "text", "text": "..."}]',
            )
        if has_lone_surrogate(text):
            raise ConstrainError(
                f"{name} has a lone surrogate: {text!r:.60}", place=where, fix="it is not text: remove it"
            )


def token_ids(
    prompts: ParsedPrompts,
    handle: Handle,
    uses: Sequence[ToolUse | None] = (),
    images: Sequence[Sequence[Any]] | None = None,
) -> list[list[int]]:
    """Token ids of every prompt. Raises ConstrainError: what the model or its tokenizer cannot read.

    uses: of each prompt the tools, which the chat template tells the model; None where there are none.
    images: of each prompt; the handle reads images then (`images.seeing`).
    """
    tools = uses or [None] * len(prompts.each)
    pictures = images or [()] * len(prompts.each)
    contents = described_contents(prompts, handle)
    return [
        _ids(prompt, handle, prompts.name(place), tools[place], pictures[place])
        for place, prompt in enumerate(contents)
    ]


def described_contents(prompts: ParsedPrompts, handle: Any) -> list[Parsed]:
    """The contents of prompts, with what describes their constraints."""
    if not any(prompts.described):
        return prompts.each
    from constrain.generation.request.described import placed, writes_system

    has_system = partial(writes_system, handle)
    pairs = zip(prompts.each, prompts.described, strict=True)
    return [placed(each, words, has_system) if words else each for each, words in pairs]


def _ids(prompt: Any, handle: Any, name: str, tools: ToolUse | None, images: Sequence[Any]) -> list[int]:
    if isinstance(prompt, Mapping) or images:
        return _fitting(_with_images(prompt, handle, name, tools, images), handle, name)
    if isinstance(prompt, str):
        if handle.tokenizer is None:
            raise ConstrainError(f"{name} is a text, and the model has no tokenizer", fix="pass the ids of its tokens")
        ids = tokenize(handle.tokenizer, prompt)
    elif prompt and isinstance(prompt[0], Mapping):
        ids = tokenize(handle.tokenizer, _render(prompt, handle.tokenizer, name, tools), special=False)
    else:
        ids = list(prompt)
        for place, token in enumerate(ids):
            if token >= handle.width:
                raise ConstrainError(
                    f"{name} has token id {token}, which the model does not know",
                    place=f"token {place} of the prompt",
                    fix=f"ids of this model go from 0 to {handle.width - 1}",
                )
    ids = ids or _beginning(handle.tokenizer, name)
    return _fitting(handle.begun(ids, name) if isinstance(handle, HFModel) else ids, handle, name)


def _with_images(prompt: Any, handle: Any, name: str, tools: ToolUse | None, images: Sequence[Any]) -> list[int]:
    """The sequence of a prompt with images, by the model's processor. Raises ConstrainError."""
    from constrain.generation.request.images import processed
    from constrain.models.hf.images import ImageModel, image_prompt, placeholder_ids

    if not isinstance(handle, ImageModel):
        raise ConstrainError(f"{name} is a processor's output, and only generate reads images", place="prompt")
    if isinstance(prompt, str):
        prompt = processed(prompt, images, handle, name)
    elif not isinstance(prompt, Mapping):
        reader = handle.processor if getattr(handle.processor, "chat_template", None) else handle.tokenizer
        prompt = processed(_render(prompt, reader, name, tools), images, handle, name, special=False)
    made = image_prompt(prompt, handle.model, name)
    for place, token in enumerate(made.ids):
        if not 0 <= token < handle.width and token not in placeholder_ids(handle.model.config):
            raise ConstrainError(
                f"{name} has token id {token}, which the model does not know",
                place=f"token {place} of the prompt",
                fix=f"ids of this model go from 0 to {handle.width - 1}",
            )
    return handle.seen(made)


def _fitting(ids: list[int], handle: Handle, name: str) -> list[int]:
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


def tokenize_all(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of several texts, with nothing around them; in one call where the tokenizer takes several."""
    if callable(tokenizer) and len(texts) > 1 and hasattr(tokenizer, "backend_tokenizer"):
        return list(map(list, tokenizer(list(texts), add_special_tokens=False)["input_ids"]))
    return [tokenize(tokenizer, text, special=False) for text in texts]


def _beginning(tokenizer: Any, name: str) -> list[int]:
    """An empty prompt: the model still needs a token to start from."""
    for role in ("bos_token_id", "eos_token_id"):  # GPT-2 and its kin begin texts with the end of the one before
        token = getattr(tokenizer, role, None)
        if token is not None:
            return [token]
    raise ConstrainError(f"{name} is empty, and the tokenizer has no token to begin a text with", fix="write a prompt")


def _render(messages: Sequence[Any], tokenizer: Any, name: str, tools: ToolUse | None) -> str:
    if not getattr(tokenizer, "chat_template", None):
        raise ConstrainError(
            f"{name} is a list of chat messages, and the tokenizer has no chat template",
            fix="pass the prompt as a str, or set tokenizer.chat_template",
        )
    if not _READS_PARTS.search(str(tokenizer.chat_template)):
        messages = [_with_text(message, place, name) for place, message in enumerate(messages)]
    given: dict[str, Any] = {}  # a tokenizer of another make may not take the argument
    try:
        if tools is not None:
            from constrain.generation.request.tool_words import with_tools

            told = with_tools(messages, tools, tokenizer)
            messages, given = (messages, {"tools": tools.schemas}) if told is None else (told, {})
        text = tokenizer.apply_chat_template(list(messages), **given, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # templates raise what they like
        raise ConstrainError(
            f"the chat template cannot write {name}: {type(error).__name__}: {error!s:.200}",
            place="messages",
            fix="write messages as the model's card has them: their roles, their order, their calls",
        ) from error
    if has_lone_surrogate(text):  # of a role, a name or an argument
        raise ConstrainError(
            f"{name} has a lone surrogate, as a message says it", place="messages", fix="it is not text: remove it"
        )
    return text


def _with_text(message: Mapping[str, Any], place: int, name: str) -> Mapping[str, Any]:
    """A message whose parts are one text, as a template joins it that reads no parts. Raises ConstrainError."""
    parts = message.get("content")
    if not isinstance(parts, (list, tuple)):
        return message
    for number, part in enumerate(parts):
        if isinstance(part, Mapping) and "text" not in part:
            raise ConstrainError(
                f"{name} has a part of type {part.get('type')!r:.60}, and the chat template writes texts only",
                place=f"message {place}.content[{number}]",
                fix="leave the part out, or load a model that reads it",
            )
    return {**message, "content": "\n".join(part if isinstance(part, str) else part["text"] for part in parts)}


def _plain(value: Any) -> Any:
    """Tensors and arrays as lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") and not isinstance(value, (str, list, tuple)) else value
