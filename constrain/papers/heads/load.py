"""Public checkpoints of draft heads: which architecture a folder has, and its weights.

A folder has `config.json` and one file of weights, as their authors publish them. The names of the tensors tell the
architecture. What a file has and no architecture reads is an error, never left out: embeddings of the target, rotary
tables and masks alone are known to be copies of what the target has.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.papers.heads.adapter import HeadsAdapter
from constrain.papers.heads.eagle import Eagle
from constrain.papers.heads.eagle3 import Eagle3
from constrain.papers.heads.hydra import Hydra
from constrain.papers.heads.medusa import Medusa

FILES = (
    "medusa_lm_head.safetensors", "medusa_lm_head.pt", "hydra_lm_head.pt", "model.safetensors", "pytorch_model.bin",
)  # fmt: skip
COPIES = re.compile(r"(.*\.)?(embed_tokens\.weight|rotary_emb\.inv_freq|position_ids)$")

BLOCK = re.compile(r"medusa_head\.(\d+)\.(\d+)\.linear\.weight$")


def load_heads(folder: str | Path, model: Any, **options: Any) -> HeadsAdapter:
    """Load draft heads that others have trained: Medusa, Hydra (prefix-MLP heads), EAGLE, EAGLE-2 or EAGLE-3.

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
    if (folder / "config.json").exists():
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if any(name.startswith("medusa_head.") for name in tensors) or "0.0.linear.weight" in tensors:
        heads, tensors = _medusa(tensors, model, options)
    elif any(name.startswith("hydra_mlp.") for name in tensors):
        heads = _hydra(tensors, config, model, options)
    elif "midlayer.self_attn.q_proj.weight" in tensors:
        heads = _eagle3(tensors, config, model, options)
    elif "fc.weight" in tensors and "layers.0.self_attn.q_proj.weight" in tensors:
        heads = Eagle(model, config=config or None, bias="fc.bias" in tensors, **options)
    else:
        some = ", ".join(sorted(tensors)[:4])
        raise ConstrainError(f"the names of the tensors in {folder} are of no known architecture: {some}, …")
    return _filled(heads, tensors, folder)


def _tensors(folder: Path) -> dict[str, torch.Tensor]:
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
