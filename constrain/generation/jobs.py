"""`make_job`: a job for the methods of `constrain.sampling`, from the arguments of `generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constrain.generation.call import rows_of
from constrain.generation.handles import for_call, handle_of
from constrain.generation.request.request import Request
from constrain.generation.request.signature import AnyOptions, ModelLike, PromptLike, PromptsLike
from constrain.generation.run import Run
from constrain.sampling.core.job import Clock, Job

if TYPE_CHECKING:
    from typing_extensions import Unpack

WITHOUT = ("method", "draft", "processors", "stream", "stop", "complete", "tools", "tool_choice")


def make_job(model: ModelLike, prompt: PromptLike | PromptsLike, *, n: int = 1, **options: Unpack[AnyOptions]) -> Job:
    """A job with n rows for each prompt, to run a method of `constrain.sampling` by hand.

    options: a constraint, lengths, the shape of the distribution and the seed (0 by default), as for `generate`;
    nothing that says how outputs are sampled. Raises ConstrainError for whatever is wrong with them.
    """
    request = Request.of(prompt, {"n": n, **options}, door="make_job", without=WITHOUT)
    handle, clock = for_call(handle_of(model, request.tokenizer)), Clock()
    return Run(request, rows_of(request, handle, clock), handle, request.seed or 0, clock).job(with_key=True)
