"""Tiny random vision-language models, and what their processors would make of a prompt with images.

A row of `SEEING` is what is said to a configuration; `features` makes the placeholders and tensors of a family.
"""

from collections.abc import Sequence
from typing import Any

import torch

from architectures import SHAPE, WINDOW, spread

TEXT = {**SHAPE, "head_dim": 8, "pad_token_id": 0}
CLIP = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 8,
        "patch_size": 4, "initializer_range": 0.2}  # fmt: skip
GRID = {"depth": 2, "num_heads": 4, "patch_size": 4, "temporal_patch_size": 2, "spatial_merge_size": 2,
        "in_channels": 3}  # fmt: skip
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}

SEEING: dict[str, dict[str, Any]] = {
    "llava": {"vision_config": {"model_type": "clip_vision_model", **CLIP},
              "text_config": {"model_type": "llama", **TEXT}, "vision_feature_layer": -1},
    "vipllava": {"vision_config": {"model_type": "clip_vision_model", **CLIP},
                 "text_config": {"model_type": "llama", **TEXT}, "vision_feature_layers": [-2, -1]},
    "gemma3": {"vision_config": {"model_type": "siglip_vision_model", **CLIP}, "mm_tokens_per_image": 4,
               "text_config": {"model_type": "gemma3_text", **TEXT, **WINDOW, "query_pre_attn_scalar": 8}},
    "qwen2_vl": {"vision_config": {**GRID, "embed_dim": 32, "hidden_size": 32, "mlp_ratio": 2},
                 "text_config": {**TEXT, **ROPE}},
    "qwen2_5_vl": {"vision_config": {**GRID, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32,
                                     "window_size": 16, "fullatt_block_indexes": [1]},
                   "text_config": {**TEXT, **ROPE}},
    "qwen3_vl": {"vision_config": {**GRID, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32,
                                   "num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]},
                 "text_config": {**TEXT, **ROPE}},
    "glm4v": {"vision_config": {**GRID, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": 32,
                                "image_size": 16},
              "text_config": {**TEXT, "rope_parameters": {**ROPE["rope_parameters"], "partial_rotary_factor": 1.0}}},
    "idefics3": {"vision_config": CLIP, "text_config": {"model_type": "llama", **TEXT}, "scale_factor": 2},
    "smolvlm": {"vision_config": CLIP, "text_config": {"model_type": "llama", **TEXT}, "scale_factor": 2},
    "internvl": {"vision_config": {**CLIP, "image_size": [8, 8], "patch_size": [4, 4]}, "image_seq_length": 1,
                 "text_config": {"model_type": "qwen2", **TEXT}, "downsample_ratio": 0.5},
    "mistral3": {"vision_config": {"model_type": "pixtral", **CLIP, "head_dim": 8},
                 "text_config": {"model_type": "mistral", **TEXT}, "spatial_merge_size": 1, "vision_feature_layer": -1},
    "paligemma": {"vision_config": {"model_type": "siglip_vision_model", **CLIP}, "projection_dim": 32,
                  "text_config": {"model_type": "gemma", **TEXT}},
}  # fmt: skip
GRIDS = {"qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v"}  # images in a grid, with positions of their own
PLACES = {"idefics3": 1, "smolvlm": 1, "internvl": 1}  # tokens of an image; of others 4
OFTEN = {"qwen2_vl"}  # the others are tested with the slow tests


def build_seeing(name: str, width: int, end: int, seed: int = 0) -> Any:
    """A random network of a family. width: of the vocabulary; its last id but one stands for images."""
    import transformers

    torch.manual_seed(seed)
    said = {key: dict(value) if isinstance(value, dict) else value for key, value in SEEING[name].items()}
    said["text_config"].update(vocab_size=width, eos_token_id=end)
    config = transformers.AutoConfig.for_model(name, **said)
    known = "image_token_index" if hasattr(config, "image_token_index") else "image_token_id"
    setattr(config, known, width - 2)
    if name in GRIDS:
        config.vision_start_token_id = config.image_start_token_id = width - 3
        config.vision_end_token_id = config.image_end_token_id = config.video_token_id = width - 4
    return spread(transformers.AutoModelForImageTextToText.from_config(config).eval())


def features(
    name: str, model: Any, before: Sequence[int], images: int, after: Sequence[int], seed: int
) -> dict[str, Any]:
    """A processor's features of text, random images, and text."""
    drawn = torch.Generator().manual_seed(seed)
    config = model.config
    token = getattr(config, "image_token_index", None) or config.image_token_id
    edges = ([config.vision_start_token_id], [config.vision_end_token_id]) if name in GRIDS else ([], [])
    ids = [*before, *[i for _ in range(images) for i in (*edges[0], *[token] * PLACES.get(name, 4), *edges[1])], *after]
    input_ids = torch.tensor([ids])
    made: dict[str, Any] = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
    if name in GRIDS:
        made["mm_token_type_ids"] = (input_ids == token).long()
    if name in ("gemma3", "paligemma"):
        made["token_type_ids"] = (input_ids == token).long() if name == "gemma3" else torch.zeros_like(input_ids)
    if not images:
        return made
    if name in GRIDS:
        made["image_grid_thw"] = torch.tensor([[1, 4, 4]] * images)
        made["pixel_values"] = torch.randn((16 * images, 96), generator=drawn)
    elif name in ("idefics3", "smolvlm"):
        made["pixel_values"] = torch.randn((1, images, 3, 8, 8), generator=drawn)
    else:
        made["pixel_values"] = torch.randn((images, 3, 8, 8), generator=drawn)
    if name == "mistral3":
        made["image_sizes"] = torch.tensor([[8, 8]] * images)
    return made
