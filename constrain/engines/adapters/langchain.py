"""LangChain: a chat model whose structured outputs and tool calls are constrained.

    chat = ChatConstrain(model=model, options={"max_tokens": 200})
    chat.with_structured_output(Person).invoke("Who wrote it?")     →  a Person
    chat.bind_tools([weather], tool_choice="any").invoke("Bern?")   →  AIMessage.tool_calls

The idea: LangChain's arguments become arguments of `generate`. A schema is `type=` or `schema=`, so its parser meets
only members of it. Tools are `tools=`, so the calls name tools that exist, with arguments of their schemas. An output
that was cut off is an error of the parser, and never a value.

Versions tested: langchain-core 1.7.
"""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from constrain.chat.calls import CallEnded, Content, Event, Thought, ToolCall, tools
from constrain.errors import ConstrainError
from constrain.extras import require
from constrain.generation import Generation, Prompt, agenerate, astream, generate
from constrain.generation.handles import TextWriter
from constrain.languages.schema.read.inputs import schema_of_type

require("langchain", "constrain.engines.adapters.langchain")

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.output_parsers.transform import BaseCumulativeTransformOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from langchain_core.utils.json import parse_partial_json
from pydantic import Field, TypeAdapter

METHODS = ("json_schema", "json_mode", "function_calling")
UNBOUND = ("ls_structured_output_format", "strict")  # what others bind and says nothing here: a schema always holds


class ChatConstrain(BaseChatModel):
    """A local model as a chat model of LangChain.

    Attributes:
        model: The model, as `constrain.generate` takes it. Its tokenizer has a chat template.
        options: Other arguments of `generate`, such as `max_tokens`, `temperature`, `seed` or `tokenizer`, and of a
            `Prompt`, such as `healing`. What `invoke` and `bind` are given goes before them.
        tool_options: Arguments of `constrain.tools`, such as `format` or `thinking`, where the format is not the one
            that the chat template names.

    Raises:
        MissingExtraError: langchain-core is not installed.

    `ChatConstrain(model=model).with_structured_output(Person).invoke("...")`; docs/howto/adapters.md has more.
    """

    model: Any = Field(repr=False, exclude=True)
    options: dict[str, Any] = Field(default_factory=dict)
    tool_options: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "constrain"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        name = self.model if isinstance(self.model, str) else getattr(self.model, "name_or_path", None)
        return {"model_name": name or type(self.model).__name__, **self.options, **self.tool_options}

    # -- what is bound -------------------------------------------------------------------------------------------------

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """A chat model that may call tools.

        Args:
            tools: Tools of LangChain, callables, pydantic models or OpenAI's JSON.
            tool_choice: None, False or "auto": text or calls. "any", "required" or True: calls. "none": text. The name
                of a tool, or OpenAI's object: a call of it.
            kwargs: `parallel_tool_calls`, and other arguments of `generate`.

        Returns:
            The runnable. Its messages have `tool_calls`.
        """
        choice = {None: "auto", False: "auto", True: "required", "any": "required"}
        chosen = tool_choice if isinstance(tool_choice, Mapping) else choice.get(tool_choice, tool_choice)
        return self.bind(tools=[_tool(tool) for tool in tools], tool_choice=chosen, **kwargs)

    def with_structured_output(
        self, schema: Any, *, method: str = "json_schema", include_raw: bool = False, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """A chat model whose output is a value.

        Args:
            schema: A pydantic model, a TypedDict or another type, or a JSON Schema or OpenAI's function as a dict.
            method: "json_schema": the text is JSON of the schema. "json_mode": the same, which is more than it asks.
                "function_calling": a call of a tool with these arguments, in the model's own format.
            include_raw: Give a dict with "raw", the message; "parsed", the value; and "parsing_error".
            kwargs: Other arguments of `generate`.

        Returns:
            The runnable. It gives an instance of a pydantic model, and a dict for a TypedDict or a dict.

        Raises:
            ConstrainError: There is no such method.
        """
        if method not in METHODS:
            raise ConstrainError(
                f"there is no method {method!r:.60}", place="method", fix=f"use {', '.join(map(repr, METHODS))}"
            )
        kwargs = {name: value for name, value in kwargs.items() if name not in UNBOUND}
        if method == "function_calling":
            bound = self.bind_tools([schema], tool_choice="required", parallel_tool_calls=False, **kwargs)
            parser = ValueParser(adapter=_adapter(schema), of_call=True)
        else:
            asked = {"schema": _json_schema(schema)} if isinstance(schema, Mapping) else {"type": schema}
            bound = self.bind(**asked, **kwargs)
            parser = ValueParser(adapter=_adapter(schema))
        if not include_raw:
            return bound | parser
        parsed = RunnablePassthrough.assign(parsed=_raw | parser, parsing_error=lambda _: None)
        failed = RunnablePassthrough.assign(parsed=lambda _: None)
        return RunnableMap(raw=bound) | parsed.with_fallbacks([failed], exception_key="parsing_error")

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        arguments = self._arguments(stop, kwargs)
        return _result(generate(self.model, Prompt.of(chat_of(messages), arguments), **arguments))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        arguments = self._arguments(stop, kwargs)
        return _result(await agenerate(self.model, Prompt.of(chat_of(messages), arguments), **arguments))

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[Any]:
        arguments = self._arguments(stop, kwargs)
        stream: Any = generate(self.model, Prompt.of(chat_of(messages), arguments), **arguments, stream=True)
        for piece in stream.events() if _calls(arguments) else stream:
            chunk = _chunk(piece)
            if chunk is not None:
                if run_manager:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        yield _last(stream.result)

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        arguments = self._arguments(stop, kwargs)
        stream = astream(self.model, Prompt.of(chat_of(messages), arguments), **arguments)
        async for piece in stream.events() if _calls(arguments) else stream:
            chunk = _chunk(piece)
            if chunk is not None:
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
        yield _last(await stream.result())

    def _arguments(self, stop: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `generate`: the model's options, then what was bound or given."""
        arguments = {**self.options, **{name: value for name, value in given.items() if name not in UNBOUND}}
        if stop is not None:
            arguments["stop"] = stop
        parallel = arguments.pop("parallel_tool_calls", None)
        options = dict(self.tool_options) if parallel is None else {**self.tool_options, "parallel": parallel}
        if options and isinstance(self.model, TextWriter):
            options.setdefault("format", self.model.format)
        if arguments.get("tools") and options:
            choice = arguments.pop("tool_choice", "auto")
            name = choice["function"]["name"] if isinstance(choice, Mapping) else choice
            options.setdefault("tokenizer", arguments.get("tokenizer") or getattr(self.model, "tokenizer", None))
            arguments["constraint"] = tools(arguments.pop("tools"), choice=name, **options)
        return arguments


class ValueParser(BaseCumulativeTransformOutputParser[Any]):
    """Read the value of a message. Raises OutputParserException: the output was cut off, or is no member.

    Attributes:
        adapter: What validates the value; None: it stays JSON.
        of_call: The value is the arguments of the call.
    """

    adapter: Any = Field(default=None, exclude=True)
    of_call: bool = False

    def parse(self, text: str) -> Any:
        """The value of a JSON text."""
        try:
            return json.loads(text) if self.adapter is None else self.adapter.validate_json(text)
        except ValueError as error:
            raise OutputParserException(f"the output is no value of the schema: {error}", llm_output=text) from error

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The value of a message; of one that is still written, what there is of a value without a type."""
        message = result[0].message
        reason = message.response_metadata.get("finish_reason")
        if reason is None and partial:
            return None if self.of_call or self.adapter is not None else _so_far(message.text)
        if reason != "stop":
            raise OutputParserException(
                f"the output is not complete: finish_reason is {reason!r}; raise max_tokens, or pass complete=True",
                llm_output=message.text,
            )
        return self.parse(json.dumps(message.tool_calls[0]["args"]) if self.of_call else message.text)


def _so_far(text: str) -> Any:
    """The value of the beginning of a JSON text; None if it has none yet."""
    try:
        return parse_partial_json(text)
    except ValueError:
        return None


def _raw(given: dict[str, Any]) -> Any:
    return given["raw"]


def _adapter(schema: Any) -> Any:
    return None if isinstance(schema, Mapping) else TypeAdapter(schema)


def _tool(given: Any) -> dict[str, Any]:
    """A tool as OpenAI's JSON; LangChain's own reading of a type leaves out what a TypedDict's fields are annotated."""
    if not isinstance(given, type):
        return convert_to_openai_tool(given)
    parameters, _ = schema_of_type(given)
    about = {"description": inspect.cleandoc(given.__doc__)} if given.__doc__ else {}
    return {"type": "function", "function": {"name": given.__name__, **about, "parameters": parameters}}


def _json_schema(schema: Mapping[str, Any]) -> Any:
    """A JSON Schema as it is; that of the parameters of an OpenAI function."""
    is_function = isinstance(schema.get("parameters"), Mapping) or isinstance(schema.get("function"), Mapping)
    return convert_to_json_schema(dict(schema)) if is_function else schema


# -- messages ----------------------------------------------------------------------------------------------------------


def chat_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages of LangChain as messages that chat templates read.

    Args:
        messages: The messages.

    Returns:
        Dicts with "role" and "content"; calls have their arguments as objects.

    Raises:
        ConstrainError: A message has content other than text; with its place.
    """
    chat = convert_to_openai_messages(list(messages))
    for place, message in enumerate(chat):
        if not isinstance(message.get("content"), str):
            raise ConstrainError(
                "a message has content other than text, which local models are not given here",
                place=f"messages[{place}].content: {message.get('content')!r:.60}",
                fix="pass text, or call constrain.generate with what the model takes",
            )
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return chat


def _calls(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("tools")) or hasattr(arguments.get("constraint"), "reader")


def _facts(turn: Generation[Any]) -> dict[str, Any]:
    """The metadata of a message: all but its content."""
    facts = {"finish_reason": turn.finish_reason, "method": turn.stats.method, "output_tokens": turn.stats.tokens}
    return facts if turn.fault is None else {**facts, "fault": turn.fault}


def _result(turn: Generation[Any]) -> Any:
    thoughts = {} if turn.thinking is None else {"reasoning_content": turn.thinking}
    calls = [{"type": "tool_call", "name": call.name, "args": call.values, "id": _id(call)} for call in turn.tool_calls]
    message = AIMessage(
        content=turn.content, tool_calls=calls, additional_kwargs=thoughts, response_metadata=_facts(turn)
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _id(call: ToolCall) -> str:
    """The id of a call, which LangChain needs to tell results apart; a new one where the text has none."""
    return call.id or f"call_{uuid.uuid4().hex}"


def _chunk(piece: str | Event) -> Any:
    """A piece of a message; None: nothing that LangChain has a place for.

    A call comes whole, when it has ended: what a model writes of arguments is not JSON in each format, and of a call
    that is cut off LangChain would make one with fewer arguments.
    """
    message: Any = None
    if isinstance(piece, str):
        message = AIMessageChunk(content=piece)
    elif isinstance(piece, Content):
        message = AIMessageChunk(content=piece.text)
    elif isinstance(piece, Thought):
        message = AIMessageChunk(content="", additional_kwargs={"reasoning_content": piece.text})
    elif isinstance(piece, CallEnded):
        args = json.dumps(piece.call.values, ensure_ascii=False)
        call = {"type": "tool_call_chunk", "name": piece.call.name, "args": args, "id": _id(piece.call)}
        message = AIMessageChunk(content="", tool_call_chunks=[{**call, "index": piece.number}])
    return None if message is None else ChatGenerationChunk(message=message)


def _last(turn: Generation[Any]) -> Any:
    """The last piece, which says how the output ended."""
    return ChatGenerationChunk(
        message=AIMessageChunk(content="", response_metadata=_facts(turn), chunk_position="last")
    )
