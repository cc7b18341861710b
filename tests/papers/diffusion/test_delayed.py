"""Kept keys and values of diffusion: the places that are read, by hand; logits by whole passes, overruled."""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy_diffusion import characters

import constrain
from constrain.errors import ConstrainError
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.delayed import Delayed

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

LENGTH = 9
NEVER = 10**6


class Small:
    """The network of the training script with random weights, in float64, over a few characters."""

    vocabulary = characters("ab-")

    def __init__(self, layers: int = 3) -> None:
        from train_diffusion import Denoiser

        torch.manual_seed(4)
        self.network = Denoiser(width=16, layers=layers, length=LENGTH).double().eval()
        for parameter in self.network.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
        self.mask_id = len(self.vocabulary) - 1
        self.read: list[list[int]] = []

    def logits(self, tokens: Any) -> np.ndarray:
        with torch.no_grad():
            return self.network(torch.tensor([list(tokens)]))[0, :, : len(self.vocabulary)].numpy()

    def logits_at(self, tokens: Any, places: Any, memory: dict[Any, Any]) -> np.ndarray:
        self.read.append(list(places))
        with torch.no_grad():
            rows = self.network.at(torch.tensor(tokens), torch.tensor(places), memory)
        return rows[:, : len(self.vocabulary)].numpy()


class Overruled:
    """Whole passes by the definition of attention; the keys and values of places that are not read are put back."""

    def __init__(self, small: Small) -> None:
        self.network, self.width = small.network, len(small.vocabulary)
        self.kept: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}

    def logits(self, tokens: list[int], read: set[int]) -> np.ndarray:
        x = self.network.embed.weight[tokens] + self.network.place.weight[: len(tokens)]
        for number, block in enumerate(self.network.blocks.layers):
            weights, bias = block.self_attn.in_proj_weight.chunk(3), block.self_attn.in_proj_bias.chunk(3)
            q, k, v = (block.norm1(x) @ w.T + b for w, b in zip(weights, bias, strict=True))
            for i in range(len(tokens)):
                if i not in read:
                    k[i], v[i] = self.kept[number, i]
                self.kept[number, i] = k[i].clone(), v[i].clone()
            size = q.shape[1] // 4
            found = []
            for head in range(4):
                part = slice(head * size, (head + 1) * size)
                found.append((q[:, part] @ k[:, part].T / size**0.5).softmax(-1) @ v[:, part])
            x = x + torch.cat(found, -1) @ block.self_attn.out_proj.weight.T + block.self_attn.out_proj.bias
            inner = (block.norm2(x) @ block.linear1.weight.T + block.linear1.bias).clamp(min=0)
            x = x + inner @ block.linear2.weight.T + block.linear2.bias
        return self.network.head(x)[:, : self.width].detach().numpy()


def steps(seed: int, mask_id: int) -> list[list[int]]:
    """A text that is set one, two or three places at a time."""
    rng = random.Random(seed)
    text = [mask_id] * LENGTH
    text[0] = 2
    places, found = rng.sample(range(1, LENGTH), LENGTH - 1), [list(text)]
    while places:
        for place in [places.pop() for _ in range(min(len(places), rng.randint(1, 3)))]:
            text[place] = rng.randrange(3)
        found.append(list(text))
    return found


@pytest.mark.parametrize("refresh, delay", [(1, 1), (NEVER, NEVER)])
def test_what_is_always_read_is_the_model(refresh: int, delay: int) -> None:
    small = Small()
    for seed in range(3):
        delayed = Delayed(small, refresh=refresh, delay=delay)
        for text in steps(seed, small.mask_id):
            np.testing.assert_allclose(delayed.logits(text), small.logits(text), atol=1e-10)
        assert delayed.places == delayed.calls * LENGTH


@pytest.mark.parametrize("delay", [1, 2])
@pytest.mark.parametrize("refresh", [2, 3, NEVER])
def test_logits_by_whole_passes(refresh: int, delay: int) -> None:
    """The places that are read are those of the definition, logits there of whole passes, and others are kept."""
    small, differs = Small(), 0.0
    for seed in range(4):
        delayed, twin, texts = Delayed(small, refresh=refresh, delay=delay), Overruled(small), steps(seed, 4)
        rows = np.zeros((LENGTH, len(small.vocabulary)))
        for call, text in enumerate(texts):
            begun = [next((c for c, each in enumerate(texts) if each[i] != 4), NEVER) for i in range(LENGTH)]
            whole = call % refresh == 0
            seen = {i for i in range(LENGTH) if whole or text[i] == 4 or call - begun[i] < delay}
            found = delayed.logits(text)
            assert set(small.read[-1]) == seen
            wanted = twin.logits(text, seen)
            rows[sorted(seen)] = wanted[sorted(seen)]
            np.testing.assert_allclose(found, rows, atol=1e-10)
            still = [i for i in seen if text[i] == 4]
            differs = max(differs, float(abs(found - small.logits(text))[still].max(initial=0)))
    assert differs > 1e-3  # the memory is one: it changes what is said


def test_another_text_begins_anew() -> None:
    small = Small()
    delayed = Delayed(small)
    for text in ([2, 4, 4], [2, 1, 4], [2, 4, 4], [2, 4, 4], [1, 0, 4], [1, 0, 4, 4]):
        delayed.logits(text)
    assert [len(read) for read in small.read] == [3, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_texts_are_members(temperature: float) -> None:
    """And with nothing kept they are those of the model."""
    small, constraint = Small(), constrain.regex("(a-|b){2,4}a?")
    for seed in range(5):
        given = {"length": LENGTH, "temperature": temperature, "seed": seed, "policy": "entropy", "steps": 4}
        out = denoise(Delayed(small, refresh=3), constraint, **given)  # type: ignore[arg-type]
        assert out.fault is None
        whole = denoise(Delayed(small, refresh=1), constraint, **given)  # type: ignore[arg-type]
        assert whole.tokens == denoise(small, constraint, **given).tokens  # type: ignore[arg-type]


def test_options() -> None:
    for name in ("refresh", "delay"):
        with pytest.raises(ConstrainError, match=name):
            Delayed(Small(), **{name: 0})
