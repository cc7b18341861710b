"""Some layers of a model as its own draft model (self-speculative decoding).

takes: a model handle
gives: the model without some layers, `SelfDraft` (layers left out, found by a search), `EarlyExit` (the first layers,
from the target's own keys and values), `Hydragen` (all layers, and what samples share read once)
start reading at: skip.py (a model with other layers), then selfdraft.py; earlyexit.py and shallow.py share the target's
memory
"""
