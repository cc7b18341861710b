"""Images of prompts: checked before a model is loaded, then made into what the model reads.

prompt=Prompt(text, images=cat)   an image, or a list of images
prompt=processor(...)             or the prompt is what the processor made of text and images
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from constrain.errors import ConstrainError
from constrain.generation.request.prompts import ParsedPrompts

NEEDED = "pass tokenizer=AutoProcessor.from_pretrained(name), or the processor's output as the prompt"


def check_images(prompts: ParsedPrompts) -> list[list[Any]] | None:
    """The images of each prompt; None: there are none. Raises ConstrainError."""
    found = []
    for place, (given, prompt) in enumerate(zip(prompts.given, prompts.each, strict=True)):
        entry = given.images
        own = [] if entry is None else list(entry) if isinstance(entry, (list, tuple)) else [entry]
        where = f"images of {prompts.name(place)}"
        if any(each is None or isinstance(each, (str, bytes, Mapping)) for each in own):
            raise ConstrainError(
                f"images has {next(e for e in own if e is None or isinstance(e, (str, bytes, Mapping)))!r:.60}",
                place=where,
                fix="open the image first: PIL.Image.open(path); arrays and tensors are images too",
            )
        if own and not isinstance(prompt, str) and not (isinstance(prompt, list) and isinstance(prompt[0], Mapping)):
            raise ConstrainError(
                f"{prompts.name(place)} is token ids or a processor's output, which have no place for images",
                place=where,
                fix="write the prompt as text with the processor's placeholder, or as chat messages",
            )
        found.append(own)
    return found if any(found) else None


def seeing(handle: Any) -> Any:
    """A handle that reads prompts with images. Raises ConstrainError: this kind of model reads none."""
    from constrain.models.hf.images import ImageModel
    from constrain.models.hf.model import HFModel

    if not isinstance(handle, HFModel):
        raise ConstrainError(
            f"images need a model of transformers, and this is a {type(handle).__name__}", place="images"
        )
    return ImageModel.seeing(handle)


def processed(text: str, images: Sequence[Any], handle: Any, name: str, special: bool = True) -> Mapping[str, Any]:
    """The inputs that a processor makes of a text and its images. Raises ConstrainError: it has none or refuses."""
    from constrain.models.hf.images import takes_images

    kind = type(handle.model).__name__
    if not takes_images(handle.model):
        raise ConstrainError(
            f"{kind} takes no images",
            place="images",
            fix="pass a vision-language model, such as AutoModelForImageTextToText.from_pretrained(name)",
        )
    if handle.processor is None:
        raise ConstrainError(f"images need the processor of {kind}", place="images", fix=NEEDED)
    given = {} if special else {"add_special_tokens": False}
    try:
        features: Mapping[str, Any] = handle.processor(text=[text], images=[list(images)], return_tensors="pt", **given)
    except (ValueError, TypeError, IndexError, StopIteration, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConstrainError(
            f"the processor refuses {name} with {len(images)} images: {reason}",
            place="images",
            fix="write one placeholder for each image, or use chat messages",
        ) from error
    return features
