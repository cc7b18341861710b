"""dParallel's loss in scripts/train_diffusion.py: by its formula, and that it makes a model sure of more at once."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))


def tiny() -> Any:
    from train_diffusion import Denoiser

    torch.manual_seed(2)
    return Denoiser(width=16, layers=1, length=7)


@pytest.mark.parametrize("certainty", [0.0, 2.0])
def test_the_loss_by_its_formula(certainty: float) -> None:
    """Cross-entropy of both halves, and the entropy at temperature 0.5 of what is predicted right."""
    from train_diffusion import MASK, certain_loss

    model = tiny()
    torch.manual_seed(0)
    ids = model(torch.full((3, 7), MASK)).argmax(-1)  # so that some predictions are right
    ids[:, ::3] = torch.arange(9).view(3, 3)
    torch.manual_seed(5)
    found = float(certain_loss(model, ids, certainty).detach())
    torch.manual_seed(5)
    half = torch.rand(ids.shape) < 0.5
    expected, right = 0.0, 0
    for masked in (half, ~half):
        losses, entropies = [], []
        logits = model(torch.where(masked & (torch.arange(7) > 0), MASK, ids)).detach().double()
        for row in range(3):
            for place in range(1, 7):
                if masked[row, place]:
                    losses.append(-float(logits[row, place].log_softmax(-1)[ids[row, place]]))
                    p = (2 * logits[row, place]).softmax(-1).tolist()
                    if max(range(97), key=p.__getitem__) == ids[row, place]:
                        entropies.append(-math.fsum(each * math.log(each) for each in p))
        right += len(entropies)
        expected += sum(losses) / len(losses) + certainty * sum(entropies) / max(1, len(entropies))
    assert right > 2
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_model_grows_sure() -> None:
    """On its own texts a few steps lower the entropy of what is predicted right, beyond what cross-entropy does."""
    from train_diffusion import EOS, MASK, certain_loss, own_texts

    sure = {}
    for certainty in (0.0, 2.0):
        model = tiny()
        torch.manual_seed(1)
        texts = own_texts(model, 6, 6)
        assert texts.shape == (6, 7)
        assert not (texts == MASK).any()
        assert texts[:3, 0].tolist() == [ord(kind) - 32 for kind in "jas"]
        assert int(texts.max()) <= EOS
        optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for _ in range(30):
            optimiser.zero_grad()
            certain_loss(model, texts, certainty).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        masked = texts.clone()
        masked[:, 1:] = MASK
        log_p = model(masked)[:, 1:].detach().log_softmax(-1)
        sure[certainty] = float(-(log_p.exp() * log_p).sum(-1).mean())
    assert sure[2.0] < sure[0.0] - 0.1, sure
