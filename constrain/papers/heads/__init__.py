"""Draft heads for models of transformers: small networks on the target's hidden states, of several architectures.

takes: hidden states and tokens of a text. gives: logits of the tokens that follow, for `constrain.speculative.Heads`
start reading at: adapter.py (what all have in common), own.py (ours), then medusa.py, hydra.py, eagle.py, eagle3.py,
fspad.py, falcon.py, clover.py, chimera.py, kangaroo.py; pseudo.py, ppd.py, transfer.py (inside the target's forward);
load.py reads public checkpoints; acceptance.py, online.py and online_model.py are drafters, judge.py is for a verifier
"""

from constrain.papers.heads.acceptance import AcceptanceHead, StoppedModel
from constrain.papers.heads.adapter import HeadsAdapter
from constrain.papers.heads.chimera import Chimera
from constrain.papers.heads.clover import Clover
from constrain.papers.heads.eagle import Eagle
from constrain.papers.heads.eagle3 import Eagle3
from constrain.papers.heads.falcon import Falcon
from constrain.papers.heads.fspad import FSPAD
from constrain.papers.heads.hydra import Hydra
from constrain.papers.heads.judge import JudgeHead
from constrain.papers.heads.kangaroo import KangarooAdapter
from constrain.papers.heads.load import load_heads
from constrain.papers.heads.medusa import Medusa
from constrain.papers.heads.online import OnlineHeads
from constrain.papers.heads.online_model import OnlineModel
from constrain.papers.heads.own import DraftHeads
from constrain.papers.heads.ppd import PromptTokens
from constrain.papers.heads.transfer import HiddenTransfer

__all__ = [
    "FSPAD",
    "AcceptanceHead",
    "Chimera",
    "Clover",
    "DraftHeads",
    "Eagle",
    "Eagle3",
    "Falcon",
    "HeadsAdapter",
    "HiddenTransfer",
    "Hydra",
    "JudgeHead",
    "KangarooAdapter",
    "Medusa",
    "OnlineHeads",
    "OnlineModel",
    "PromptTokens",
    "StoppedModel",
    "load_heads",
]
