"""`make_job`: a job for the methods of `constrain.sampling`, from the arguments of `generate`."""

from __future__ import annotations

import time
from typing import Any

from constrain.errors import ConstrainError
from constrain.generation.handles import for_call, handle_of
from constrain.generation.request.arguments import (
    CONSTRAINTS,
    check_language,
    check_request,
    check_settings,
    check_tokenizer,
    compile_for,
    the_constraint,
)
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.run import Run, Terms
from constrain.sampling.core.job import Clock, Job
from constrain.sampling.methods.lcd import lcd


def make_job(
    model: Any,
    prompt: Any,
    *,
    tokenizer: Any = None,
    n: int = 1,
    max_tokens: int = 512,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    **constraint: Any,
) -> Job:
    """A job with n rows for each prompt: for `constrain.sampling.compare`, or to run a method by hand.

    constraint: at most one of schema, regex, grammar, choices, type, constraint; all arguments are those of `generate`.
    Raises ConstrainError for whatever is wrong with them.
    """
    unknown = sorted(constraint.keys() - set(CONSTRAINTS))
    if unknown:
        raise ConstrainError(f"make_job has no argument {unknown[0]!r}", fix=f"name one of: {', '.join(CONSTRAINTS)}")
    settings = check_settings(max_tokens, temperature, top_k, top_p)
    check_request(n, seed, False)
    constraint = the_constraint({name: constraint.get(name) for name in CONSTRAINTS})
    prompts = parse_prompts(prompt)
    check_tokenizer(tokenizer)
    check_language(constraint, None)
    handle = for_call(handle_of(model, tokenizer))
    compiled = None if constraint is None else compile_for(constraint, handle)
    rows = [ids for ids in token_ids(prompts, handle) for _ in range(n)]
    terms = [Terms(compiled, getattr(constraint, "constraint", constraint), max_tokens)] * len(rows)
    return Run(handle, rows, terms, settings, lcd, seed, Clock(), time.perf_counter()).job(with_key=True)
