"""Public checkpoints of draft heads: which architecture a folder has, and its weights.

A folder has `config.json` (PPD: that of PEFT) and one file of weights (Chimera: three), as their authors publish them.
The names of the tensors tell the architecture. What a file has and no architecture reads is an error, never left out:
embeddings of the target, rotary tables and masks alone are known to be copies of what the target has.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.papers.heads.adapter import HeadsAdapter
from constrain.papers.heads.chimera import Chimera
from constrain.papers.heads.clover import Clover
from constrain.papers.heads.eagle import Eagle
from constrain.papers.heads.eagle3 import Eagle3
from constrain.papers.heads.falcon import Falcon
from constrain.papers.heads.fspad import FSPAD
from constrain.papers.heads.hydra import Hydra
from constrain.papers.heads.kangaroo import KangarooAdapter
from constrain.papers.heads.medusa import Medusa
from constrain.papers.heads.ppd import PromptTokens

FILES = (
    "medusa_lm_head.safetensors", "medusa_lm_head.pt", "hydra_lm_head.pt", "model.safetensors", "pytorch_model.bin",
    "adapter_model.safetensors", "adapter_model.bin",
)  # fmt: skip
CHIMERA = ("trimlp", "fast_layer1", "chimera_head")  # files of its own, in a folder
COPIES = re.compile(r"(.*\.)?(embed_tokens\.weight|rotary_emb\.inv_freq|position_ids)$")

BLOCK = re.compile(r"medusa_head\.(\d+)\.(\d+)\.linear\.weight$")


def load_heads(folder: str | Path, model: Any, **options: Any) -> HeadsAdapter:
    """Load draft heads that others have trained.

    Medusa, Hydra (prefix-MLP heads), EAGLE, EAGLE-2, EAGLE-3, FSPAD, Falcon, Clover-2, Chimera, Kangaroo (its adapter)
    or PPD.

    Args:
        folder: A local folder with `config.json` and the weights (safetensors, or a file of torch, which is read
            without running code of it).
        model: The target that they were trained for; anything that `HFModel.of` takes.
        **options: Of the architecture's class, `depth` for example.

    Returns:
        The heads, for `constrain.speculative.Heads`.

    Raises:
        ConstrainError: No weights are found, their names are of no known architecture, or they do not fit the target.

    Example:
        >>> import constrain
        >>> try:
        ...     load_heads("no-such-folder", constrain.reference.load())
        ... except constrain.ConstrainError as error:
        ...     print(error.message)
        no-such-folder has no file of draft heads
    """
    folder = Path(folder)
    tensors = _tensors(folder)
    config: dict[str, Any] = {}
    for name in ("config.json", "adapter_config.json"):
        if (folder / name).exists():
            config |= json.loads((folder / name).read_text(encoding="utf-8"))
    if any(name.startswith("medusa_head.") for name in tensors) or "0.0.linear.weight" in tensors:
        heads, tensors = _medusa(tensors, model, options)
    elif any(name.startswith("hydra_mlp.") for name in tensors):
        heads = _hydra(tensors, config, model, options)
    elif "midlayer.self_attn.q_proj.weight" in tensors:
        heads = _eagle3(tensors, config, model, options)
    elif any(name.startswith("clover_head_mlp.") for name in tensors):
        heads, tensors = _clover(tensors, config, model, options)
    elif "trimlp.0.linear.weight" in tensors:
        depth = sum(name.startswith("chimera_head.") for name in tensors)
        heads = Chimera(model, depth=depth, config=config if "num_attention_heads" in config else None, **options)
    elif "prompt_embeddings" in tensors:
        heads = _prompts(tensors, config, model, options)
    elif "fc.fc.weight" in tensors:
        heads = FSPAD(model, config=config or None, bias="fc.fc.bias" in tensors, **options)
    elif "lstm.weight_ih_l0" in tensors:
        known = {"block": config["k_mask"]} if "k_mask" in config else {}
        heads = Falcon(model, config=config or None, **{**known, **options})
    elif "norm.weight" in tensors and "layers.0.input_layernorm.weight" in tensors:
        heads = KangarooAdapter(model, config=config or None, **options)
    elif "fc.weight" in tensors and "layers.0.self_attn.q_proj.weight" in tensors:
        heads = Eagle(model, config=config or None, bias="fc.bias" in tensors, **options)
    else:
        some = ", ".join(sorted(tensors)[:4])
        raise ConstrainError(f"the names of the tensors in {folder} are of no known architecture: {some}, …")
    return _filled(heads, tensors, folder)


def _tensors(folder: Path) -> dict[str, torch.Tensor]:
    if all((folder / f"{part}.pt").exists() for part in CHIMERA):
        parts = {part: torch.load(folder / f"{part}.pt", map_location="cpu", weights_only=True) for part in CHIMERA}
        return {f"{part}.{name}": each for part, tensors in parts.items() for name, each in tensors.items()}
    for name in FILES:
        if not (folder / name).exists():
            continue
        if name.endswith(".safetensors"):
            from safetensors.torch import load_file

            return load_file(folder / name)
        found: dict[str, torch.Tensor] = torch.load(folder / name, map_location="cpu", weights_only=True)
        return found
    raise ConstrainError(f"{folder} has no file of draft heads", fix=f"it should have one of {', '.join(FILES)}")


def _medusa(
    tensors: dict[str, torch.Tensor], model: Any, options: dict[str, Any]
) -> tuple[HeadsAdapter, dict[str, torch.Tensor]]:
    """Names begin with the number of the head, or with `medusa_head.` before it."""
    named = {f"medusa_head.{name.removeprefix('medusa_head.')}": each for name, each in tensors.items()}
    places = [(int(each[1]), int(each[2])) for name in named if (each := BLOCK.match(name))]
    depth, layers = (1 + max(column) for column in zip(*places, strict=True))
    return Medusa(model, depth=depth, layers=layers, **options), named


def _hydra(tensors: dict[str, torch.Tensor], config: dict[str, Any], model: Any, options: dict[str, Any]) -> Hydra:
    depth = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("hydra_mlp."))
    blocks = {name.split(".")[2] for name in tensors if name.startswith("hydra_mlp.0.")}
    known = config if "num_attention_heads" in config else None
    return Hydra(model, depth=depth, layers=len(blocks), config=known, **options)


def _clover(
    tensors: dict[str, torch.Tensor], config: dict[str, Any], model: Any, options: dict[str, Any]
) -> tuple[HeadsAdapter, dict[str, torch.Tensor]]:
    """Without the target's head, which the file has as the embedding, too."""
    layers = {name.split(".")[1] for name in tensors if name.startswith("layers.")}
    heads = Clover(model, layers=len(layers), config=config or None, **options)
    for name in ("lm_head.weight", "clover_embed_tokens.weight"):
        if name in tensors and not torch.allclose(tensors[name].to(heads._target[1].weight), heads._target[1].weight):
            raise ConstrainError(f"{name} is not the head of this target", place="draft heads")
    return heads, {n: each for n, each in tensors.items() if n not in ("lm_head.weight", "clover_embed_tokens.weight")}


def _prompts(
    tensors: dict[str, torch.Tensor], config: dict[str, Any], model: Any, options: dict[str, Any]
) -> PromptTokens:
    """Raises ConstrainError: the file is of prompts that PPD's own code does not generate with, or of none of PPD's."""
    plain = {"num_special_tokens": len(tensors["prompt_embeddings"]), "virtual_tokens_per_special_token": 1}
    plain |= {"num_exits": 1, "use_custom_lm_head": False, "use_prefix_tuning": False}
    other = [name for name, value in plain.items() if config.get(name, 1 if name == "num_exits" else False) != value]
    if other:
        raise ConstrainError(f"prompt tokens with this {other[0]} are not supported: {config.get(other[0])}")
    return PromptTokens(model, depth=len(tensors["prompt_embeddings"]), **options)


def _eagle3(tensors: dict[str, torch.Tensor], config: dict[str, Any], model: Any, options: dict[str, Any]) -> Eagle3:
    offsets = tensors.get("d2t")
    ids = None if offsets is None else offsets + torch.arange(len(offsets))
    layers = config.get("eagle_aux_hidden_state_layer_ids")  # as vLLM reads it; files without have the paper's
    if layers:
        options = {"layers": tuple(layers), **options}
    return Eagle3(model, config=config or None, vocabulary=ids, **options)


def _filled(heads: HeadsAdapter, tensors: dict[str, torch.Tensor], folder: Path) -> HeadsAdapter:
    """Heads with these weights. Raises ConstrainError: some are missing, left over, or of another shape."""
    own = heads.state_dict()
    # Embeddings in the file are those of the target: EAGLE reads them from there and does not train them.
    left = [name for name in tensors if name not in own and not COPIES.match(name)]
    missing = [name for name in own if name not in tensors and name not in ("d2t", "t2d")]
    wrong = [name for name, each in own.items() if name in tensors and tensors[name].shape != each.shape]
    for names, fault in ((left, "has tensors that are not read"), (missing, "lacks tensors"), (wrong, "does not fit")):
        if names:
            raise ConstrainError(f"{folder} {fault}: {', '.join(sorted(names)[:4])}", place="draft heads")
    heads.load_state_dict({name: tensors[name] for name in own if name in tensors}, strict=False)
    return heads.eval()
