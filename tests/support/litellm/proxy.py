"""Calls the handler as LiteLLM's proxy does, with a model that is a function.

What is taken from LiteLLM: which hooks are called when and with what, the fields of keys, metadata,
chunks and usage, that a file in `callbacks` is loaded by its path, that failed attempts are logged
before a retry, and that callbacks run in the background for at most 20 seconds.
"""

import asyncio
import importlib.util
import types
import uuid

CALLBACK_SECONDS = 20.0


def load(callback, folder):
    """Loads a handler such as `gatehouse_litellm.handler`. The module isn't put in sys.modules."""
    module_name, instance_name = callback.rsplit(".", 1)
    spec = importlib.util.spec_from_file_location(module_name, f"{folder}/{module_name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, instance_name)


def key(**fields):
    """A key that LiteLLM has verified."""
    empty = dict.fromkeys(("user_id", "team_id", "org_id", "key_alias", "end_user_id"))
    return types.SimpleNamespace(**{**empty, "metadata": {}, "team_metadata": {}, **fields})


def answer(prompt_tokens, completion_tokens):
    """A response of a model. LiteLLM's are objects."""
    usage = types.SimpleNamespace(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
    )
    return types.SimpleNamespace(id=f"chatcmpl-{uuid.uuid4()}", usage=usage)


class Chunk:
    """Part of a stream: LiteLLM's are models of pydantic."""

    def __init__(self, text, usage=None):
        self.text, self.usage = text, usage

    def model_dump_json(self):
        usage = "null" if self.usage is None else (
            f'{{"completion_tokens":{self.usage[1]},"prompt_tokens":{self.usage[0]}}}'
        )
        delta = f'{{"content":"{self.text}","role":"assistant"}}'
        return f'{{"id":"chatcmpl-1","choices":[{{"delta":{delta}}}],"usage":{usage}}}'


class Failed(Exception):
    """A model's error."""


class Proxy:
    def __init__(self, handler):
        self.handler = handler
        self.tasks = set()

    async def call(self, body, model, *, key=key(user_id="cus_1"), call_type="acompletion", **logged):
        """Responds to a request. `model` is called for each attempt; its responses are logged.

        `logged` are further fields that LiteLLM logs, such as `response_cost`.
        """
        data, kwargs = await self.admit(body, key, call_type, logged)
        try:
            attempts = model if isinstance(model, list) else [model]
            for place, attempt in enumerate(attempts):
                try:
                    response = await attempt(data)
                    break
                except Failed as error:
                    await self.handler.async_log_failure_event(kwargs, error, None, None)
                    if place == len(attempts) - 1:
                        raise
        except Failed as error:
            await self.fail(data, error, key)
            raise
        self.log(kwargs, response)
        return response

    async def stream(self, body, chunks, *, key=key(user_id="cus_1"), **logged):
        """Streams the chunks of an async generator. The last one with usage is logged."""
        data, kwargs = await self.admit({**body, "stream": True}, key, "acompletion", logged)

        async def model():
            used = None
            async for chunk in chunks:
                used = chunk.usage or used
                yield chunk
            self.log(kwargs, answer(*used))

        async def wrapped(parts):
            async for part in parts:
                yield part

        hook = self.handler.async_post_call_streaming_iterator_hook
        try:
            async for chunk in wrapped(hook(key, model(), data)):
                yield chunk
        except Exception as error:
            await self.fail(data, error, key)
            raise

    async def admit(self, body, key, call_type, logged):
        own = "litellm_metadata" if call_type in ("aresponses", "anthropic_messages") else "metadata"
        user = {"user_api_key_user_id": key.user_id, "user_api_key_team_id": key.team_id}
        data = {**body, own: {**body.get(own, {}), **user}, "litellm_call_id": str(uuid.uuid4())}
        kwargs = {"model": data.get("model"), "litellm_call_id": data["litellm_call_id"]}
        if "async_pre_call_hook" in vars(type(self.handler)):
            try:
                data = await self.handler.async_pre_call_hook(
                    user_api_key_dict=key, cache=None, data=data, call_type=call_type
                )
            except Exception as error:
                await self.fail(data, error, key)
                raise
        params = {name: data.get(name) for name in ("metadata", "litellm_metadata")}
        return data, {**kwargs, "litellm_params": params, "stream": data.get("stream"), **logged}

    async def fail(self, data, error, key):
        await self.handler.async_post_call_failure_hook(
            request_data=data, user_api_key_dict=key, original_exception=error, traceback_str=None
        )

    def log(self, kwargs, response):
        """LiteLLM's worker for callbacks."""
        event = self.handler.async_log_success_event(kwargs, response, None, None)
        task = asyncio.ensure_future(asyncio.wait_for(event, CALLBACK_SECONDS))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def settled(self):
        """Waits until no work is left, also the handler's own."""
        while work := [*self.tasks, *self.handler._tasks]:
            await asyncio.gather(*work)
            await asyncio.sleep(0)
