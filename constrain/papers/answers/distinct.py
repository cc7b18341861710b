"""Outputs that all differ: each one is sampled under the constraint less the texts that were written before.

The idea: the language without finitely many texts is the intersection with a regular language, the complement of these
texts. So nothing is thrown away and nothing is asked after the fact: masks know that `red` is used up, and a prefix
that leads to used texts only is not begun.

Distribution: the j-th output is of the method's distribution for p conditioned on L without the texts x₁ … xⱼ₋₁. For
exact methods that is sampling without replacement, P(x₁, x₂, …) = π(x₁) · π(x₂) / (1 − π(x₁)) · …, by texts: every
token sequence that spells a text goes with it. Outputs are not independent. Texts differ, not values: `1` and ` 1` are
two texts.

In-context navigation (ICN, as the project's notes name it; the paper's own text was not at hand): with `explored=` the
prompt of each output is made of the texts before it, so that the model knows where it has been, and the constraint
keeps what it repeats all the same. The j-th output then is of the distribution after its own prompt.
Measured with SmolLM2 (eight names of colours): shown results alone repeat themselves, 4 of 8 differ; `distinct` has 8
of 8 with them and without, log p −23.4 and −22.2 a text after the plain prompt. Showing them does not pay there (record
2026-11-28-papers).

Cost: one call of `generate` an output, its constraint compiled anew (states are made when they are reached).
Limit: the constraint is regular, or a grammar under lexer="dynamic" (a schema is one): what `&` takes. Constraints that
mention tokens, and compiled ones of another engine, are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.generation.front import generate
from constrain.generation.request.arguments import CONSTRAINTS, the_constraint
from constrain.generation.request.signature import ModelLike, PromptLike
from constrain.generation.result import Generations
from constrain.languages.automata.syntax import complement, literals
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Regular
from constrain.sampling.core.draw import mixed
from constrain.sampling.core.sampler import check_count


def listed(prompt: Any, texts: Sequence[str]) -> str:
    """A text prompt behind the outputs so far, each on a line of its own behind the prompt, as examples.

    Args:
        prompt: A text.
        texts: The outputs so far.

    Example:
        >>> from constrain.papers.answers.distinct import listed
        >>> listed("A colour: ", ["red"])
        'A colour: red\\nA colour: '
    """
    return "".join(f"{prompt}{text}\n" for text in texts) + str(prompt)


def distinct(
    model: ModelLike,
    prompt: PromptLike,
    n: int,
    *,
    explored: Callable[[Any, Sequence[str]], PromptLike] | None = None,
    seed: int | None = None,
    **options: Any,
) -> Generations[Any]:
    """Generate n different texts for one prompt.

    Args:
        model: What `generate` takes.
        prompt: One prompt.
        n: Outputs at most: there are fewer if the language has no more texts.
        explored: (prompt, texts so far) → the prompt of the next output; `listed` is one. None: the prompt as it is.
        seed: Makes the outputs repeatable.
        options: Of `generate`, one constraint among them; not `n` and `stream`.

    Returns:
        The outputs in the order in which they were sampled. An output that is not complete ends them: what comes after
        it could be the same.

    Raises:
        ConstrainError: There is no constraint, texts cannot be taken out of it, or what `generate` raises.

    Example:
        >>> import constrain
        >>> from constrain.papers import distinct
        >>> outputs = distinct(constrain.reference.load(), "A colour: ", 5, choices=["red", "green"], seed=1)
        >>> sorted(output.text for output in outputs)
        ['green', 'red']
    """
    check_count("n", n)
    for name in ("n", "stream", "tools"):
        if name in options:
            raise ConstrainError(f"distinct has no argument {name}", fix="leave it out")
    language = the_constraint({name: options.pop(name, None) for name in CONSTRAINTS})
    if not isinstance(language, Constraint):
        raise ConstrainError(
            "distinct takes texts out of a constraint, and none of this library was given",
            fix="pass schema=, regex=, grammar=, choices=, type= or constraint=, not compiled",
        )
    outputs: Generations[Any] = Generations()
    written: list[str] = []
    for number in range(n):
        left = language if not written else language & Regular(complement(literals(written)), f"not {written!r:.60}")
        try:
            left.to_grammar()
        except UnsatisfiableError:
            if not written:
                raise
            break
        asked = prompt if explored is None or not written else explored(prompt, tuple(written))
        output = generate(model, asked, constraint=left, seed=None if seed is None else mixed(seed, number), **options)
        outputs.append(output)
        if output.finish_reason != "stop":
            break
        written.append(output.text)
    return outputs
