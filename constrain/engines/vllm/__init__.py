"""vLLM: a backend of structured outputs named "constrain", and a drafter.

    vllm serve MODEL --additional-config '{"constrain": {}}'

The idea: vLLM loads the entry point `vllm.general_plugins` in each of its processes. `register` lets the parts of an
engine look, when they start, whether it asks for the backend. One that asks makes it when it starts, with warm kernels;
requests are checked where they arrive, and a faulty constraint is an HTTP 400 with our message. Engines that do not ask
for it are not touched, whatever version of vLLM they are of.

    versions.py      the versions that are tested, and what of vLLM is relied upon
    options.py       how an engine asks for the backend
    grammar.py       one request: accept, roll back, fill
    backend.py       one engine: its rows, over what `engines/requests` shares between engines
    hooks.py         where vLLM is changed
    patches.py       how
    recording.py     how a request asks for log p and log Z, or for all log-probabilities
    runners.py       log p and log Z from the place where vLLM applies the mask
    drafter.py       drafts for its speculative decoding
    speculator.py    the same under its V2 model runner
    chains.py        one request's draft: the surest guess at each place
    model.py         a `vllm.LLM` behind `constrain.generate`: logits, token by token
    masked.py        whole sequences with their weights, in the engine
    proofs.py        a middleware of its server, which adds proofs to answers

Modules import vLLM where they are called.

The page docs/howto/vllm.md says how to use it.
"""

from __future__ import annotations

from constrain.extras import require

__all__ = ["register"]


def register() -> None:
    """Make the backend "constrain" known to vLLM in this process. vLLM calls it; a second call changes nothing.

    Where vLLM lacks what the backend relies upon, an engine that asks for it does not start, and says what is missing.

    Raises:
        MissingExtraError: vLLM is not installed.

    Example:
        >>> from constrain.engines.vllm import register
        >>> register()  # doctest: +SKIP
    """
    require("vllm", "constrain.engines.vllm.register")
    from constrain.engines.vllm import hooks

    hooks.install()
