"""Ranking by first tokens, from the logits after the prompt alone (FIRST: its decoding, without its training).

Not measured beside lists that a model writes.

A prompt lists passages as "[A] …", "[B] …" and asks for the best one. The model's next token is a label, and its logits
order all labels, so a ranking takes one forward pass instead of a generated list (Reddy et al. 2024, "FIRST: faster
improved listwise reranking with single token decoding", arXiv 2406.15657, section 3). The paper's other half, a loss
that teaches a model to rank by its first token, is not here.

Distribution: none is sampled. Cost: one forward pass of the prompt, whatever the number of labels.
Limit: labels are told apart by their first tokens; labels that share one are an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from constrain.errors import ConstrainError
from constrain.generation.handles import handle_of
from constrain.generation.request.arguments import check_tokenizer
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.request.signature import ModelLike, PromptLike
from constrain.reports.answers.score import Score, Scores, cut, options_of
from constrain.sampling.core.step import score as log_probs


def rank(model: ModelLike, prompt: PromptLike, labels: Sequence[str], *, tokenizer: object = None) -> Scores:
    """Rank labels by the log-probabilities of their first tokens, from one forward pass of the prompt.

    Args:
        model: What `generate` takes.
        prompt: One prompt, which ends where a label is due.
        labels: The texts that the model would write next; each begins with another token.
        tokenizer: Of transformers; None: found by the model's name.

    Returns:
        The labels from the likeliest to the unlikeliest; `tokens` is the first token of each, `logprob` its own.

    Raises:
        ConstrainError: Two labels begin with the same token, a label is empty, or several prompts were given.

    Source:
        Reddy et al. 2024, arXiv 2406.15657, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers import rank
        >>> order = rank(constrain.reference.load(), '{"size": ', ["7", "[", "true"])
        >>> len(order), order.forwards, order[0].logprob >= order[1].logprob >= order[2].logprob
        (3, 1, True)
    """
    options = options_of(labels)
    check_tokenizer(tokenizer)
    prompts = parse_prompts(prompt)
    if not prompts.single:
        raise ConstrainError("rank takes one prompt", fix="call it once for each prompt")
    handle = handle_of(model, tokenizer)
    first: dict[int, str] = {}
    for place, option in enumerate(options):
        tokens = cut(handle, option.text, place)
        if not tokens:
            raise ConstrainError("a label is empty", place=f"option {place}")
        if tokens[0] in first:
            raise ConstrainError(
                f"two labels begin with the same token: {first[tokens[0]]!r:.60} and {option.text!r:.60}",
                place=f"option {place}",
                fix="use labels that differ at once, such as A, B, C, or score them as a whole: constrain.score",
            )
        first[tokens[0]] = option.text
    _, (logits,) = handle.start(token_ids(prompts, handle), [1])
    logprobs = log_probs(logits.expand(len(first), -1), list(first), temperature=1)
    scores = [Score(text, text, (token,), log_p) for (token, text), log_p in zip(first.items(), logprobs, strict=True)]
    return Scores(sorted(scores, key=lambda score: -score.logprob), forwards=1)
