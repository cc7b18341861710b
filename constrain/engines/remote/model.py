"""`constrain.remote`: a model behind a server that speaks OpenAI's protocol, for `generate`, `map` and `converse`.

    model = constrain.remote("http://localhost:8000/v1")
    constrain.generate(model, "Ada Lovelace died at 36.", type=Person).unwrap()

The idea: the server is told the constraint in the form that it takes (servers.py), and trusted with nothing that can be
checked: what comes back is read by the whole constraint, and what it refuses is asked for again with the reason
(call.py). A server gives texts and no logits, so what needs logits is refused with what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.engines.remote.servers import SERVERS, Server, server_of
from constrain.errors import ConstrainError, did_you_mean
from constrain.extras import require
from constrain.generation.handles import TextWriter
from constrain.generation.request.request import Request
from constrain.languages.constraints.report import ReportLine
from constrain.sampling.core.job import Clock
from constrain.sampling.core.sampler import check_count

if TYPE_CHECKING:
    from openai import OpenAI

    from constrain.engines.remote.call import RemoteCall

FIXES = {
    400: 'read what it says; server="unconstrained" sends no constraint',
    401: "pass api_key=",
    403: "pass api_key= of an account that may use the model",
    429: "wait, or ask for less at once: at_once=1",
}


class Facts(NamedTuple):
    """A server as it was found: its kind, the name of the model, the names of all its models."""

    server: Server
    name: str
    names: list[str]


@dataclass(eq=False, repr=False)
class Remote(TextWriter):
    """A model behind a server. Made by `remote`.

    Attributes:
        client: An `openai.OpenAI`.
        name: The name of the model; None: the only one that the server has.
        server: The kind of the server; None: as it says itself.
        retries: How often an answer is asked for again.
        at_once: How many requests are under way at most.
        extra: More fields of each request.
    """

    client: OpenAI
    name: str | None
    server: Server | None
    retries: int
    at_once: int = 16
    extra: Mapping[str, Any] = field(default_factory=dict)
    _facts: Facts | None = None
    _lock: Any = field(default_factory=Lock)

    def __repr__(self) -> str:
        return f"remote({self.url!r}, {self.name if self._facts is None else self._facts.name!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return str(self.client.base_url)

    @property
    def facts(self) -> Facts:
        """The server as it was found, which is asked once. Raises ConstrainError: it is not there, or has no model."""
        with self._lock:
            if self._facts is None:
                self._facts = self._found()
            return self._facts

    def _found(self) -> Facts:
        if self.name is not None and self.server is not None:
            return Facts(self.server, self.name, [])
        owners = {model.id: model.owned_by for model in self._models()}
        names = list(owners)
        if self.name is None and len(names) != 1:
            fix = f"name one: {', '.join(names[:20])}"
            raise ConstrainError(f"{self.url} has {len(names)} models", place="model", fix=fix)
        name = self.name or names[0]
        owner = owners.get(name) or next(iter(owners.values()), "")
        return Facts(self.server or server_of(owner, self.url), name, names)

    def _models(self) -> list[Any]:
        """The models of the server; none where it does not say."""
        from openai import APIStatusError

        try:
            with self.asking():
                return list(self.client.models.list().data or [])
        except ConstrainError as error:
            if isinstance(error.__cause__, APIStatusError) and error.__cause__.status_code not in (401, 403):
                return []
            raise

    def call(self, request: Request, clock: Clock) -> RemoteCall:
        """The call of a request, ready to run. Raises ConstrainError: what it asks needs logits, or cannot be sent."""
        from constrain.engines.remote.call import RemoteCall

        return RemoteCall(self, request, clock)

    def report(self, **options: Any) -> list[ReportLine]:
        """Tell what of a request is left to the server, and what is checked here.

        Args:
            options: Arguments of `generate`: the constraint, lengths, what shapes the distribution.

        Returns:
            A line for each keyword and each field: "trusted": the server alone knows; "residual": checked here on the
            finished text, whatever the server does; "annotation": nobody enforces it.

        Raises:
            ConstrainError: What `generate` raises.
        """
        return self.call(Request.of("x", options, door="report"), Clock()).report()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Turn faults of the server into errors that name it."""
        import openai

        names = [] if self._facts is None else self._facts.names
        try:
            yield
        except openai.APIStatusError as error:
            fix = FIXES.get(error.status_code, "the server's log says more")
            if error.status_code == 404:
                known = f"its models are {', '.join(names[:20])}" if names else "its address may have to end in /v1"
                fix = did_you_mean(self.name, names, known)
            said = f"the server answers {error.status_code}: {error.message:.300}"
            raise ConstrainError(said, place=self.url, fix=fix) from error
        except Exception as error:
            # openai 2 leaves the faults of streams to httpx
            if isinstance(error, openai.APIConnectionError) or type(error).__module__.startswith("httpx"):
                said, fix = "the connection to the server fails", "start it, or check the address"
            elif isinstance(error, openai.APIError | ValueError) and not isinstance(error, ConstrainError):
                said, fix = "the server's answer cannot be read", "check the address"  # no JSON, or another protocol
            else:
                raise
            raise ConstrainError(f"{said}: {error.__cause__ or error!s:.300}", place=self.url, fix=fix) from error


def remote(
    url: str | None = None,
    model: str | None = None,
    *,
    server: str | None = None,
    api_key: str | None = None,
    retries: int = 2,
    at_once: int = 16,
    extra: Mapping[str, Any] | None = None,
    client: OpenAI | None = None,
) -> Remote:
    """A model behind a server that speaks OpenAI's protocol: vLLM, SGLang, llama.cpp, Ollama, hosted ones.

    The server is sent the constraint in the form that it takes. What comes back is checked by the whole constraint
    here, and what that refuses is asked for again, with the reason. `generate`, `map`, `converse`, `agenerate` and
    `astream` take the model; options that need logits are refused (docs/howto/remote.md).

    Args:
        url: The address, such as "http://localhost:8000/v1"; None: OpenAI's, or that of `client`.
        model: The name of the model; None: the only one that the server has.
        server: The kind of the server: "openai", "vllm", "sglang", "llama.cpp", "ollama"; "compatible": it takes
            `response_format` and nothing else; "unconstrained": it is sent no constraint, and told a schema in the
            prompt. None: as it says itself.
        api_key: The key. None: that of the environment (OPENAI_API_KEY), if there is no `url`: an address that you name
            is not sent it.
        retries: How often an answer that a check refuses is asked for again; `constrain.sampling.Retried` goes first.
        at_once: The number of requests that are under way at the same time at most, of lists, `map` and tasks.
        extra: More fields of each request, such as `{"chat_template_kwargs": {"enable_thinking": False}}`.
        client: An `openai.OpenAI` of your own, with its time limits and its own retries of failed connections.

    Returns:
        The model. Nothing is sent before it is used; then it is asked once what it is.

    Raises:
        MissingExtraError: The package openai is not installed.
        ConstrainError: There is no such kind of server, or an argument is wrong.

    Example:
        >>> import constrain
        >>> constrain.remote("http://localhost:8000/v1", "Qwen/Qwen3-8B")  # doctest: +SKIP
        remote('http://localhost:8000/v1/', 'Qwen/Qwen3-8B')
    """
    require("remote", "constrain.remote")
    from openai import OpenAI, OpenAIError

    check_count("retries", retries, 0)
    check_count("at_once", at_once)
    for name, given in (("url", url), ("model", model), ("api_key", api_key)):
        if not isinstance(given, (str, NoneType)):
            raise ConstrainError(f"{name} is a str, not {given!r:.60}", place=name)
    if not isinstance(extra, (Mapping, NoneType)):
        raise ConstrainError(f"extra has fields of a request, and is {extra!r:.60}", place="extra", fix="pass a dict")
    if not isinstance(client, (OpenAI, NoneType)):
        raise ConstrainError(f"client is no openai.OpenAI: {client!r:.60}", place="client", fix="pass url= instead")
    if client is not None and (url is not None or api_key is not None):
        raise ConstrainError("client has its own address and key", place="client", fix="leave out url and api_key")
    if client is None:
        key = api_key if api_key is not None or url is None else "none"
        try:
            client = OpenAI(base_url=url, api_key=key)
        except OpenAIError as error:
            raise ConstrainError(f"{error!s:.200}", place="api_key", fix="pass api_key=, or url=") from error
        except Exception as error:  # of the library below, httpx or httpx2
            if not (isinstance(error, ValueError) or type(error).__module__.startswith("httpx")):
                raise
            raise ConstrainError(f"{url!r:.200} is no address: {error!s:.100}", place="url") from error
    kind = None if server is None else SERVERS.named(server)
    return Remote(client, model, kind, retries, at_once, dict(extra or {}))
