"""Holds room in your customers' budgets before LiteLLM calls a model, and settles what was used.

Copy this file and gatehouse.py into the folder of the config.yaml of LiteLLM's proxy, set
GATEHOUSE_URL and GATEHOUSE_OPERATOR_TOKEN (scope usage:write), and add the handler:

    litellm_settings:
      callbacks: gatehouse_litellm.handler

Don't use LiteLLM's callback `openmeter` for the same calls: their usage would count twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import secrets
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

# LiteLLM loads this file by its path, which doesn't make the folder importable.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from gatehouse import Gatehouse, GatehouseError, Meter  # noqa: E402

#: With their defaults. Each is also a variable, such as GATEHOUSE_LITELLM_FAIL_OPEN.
SETTINGS = {
    "product": "models",  # Its metrics are `tokens` and `micro_dollars`.
    "subject": "user_id,team_id",  # Which field names the customer. The first that is set counts.
    "subjects": "{}",  # JSON: the id of an organization or API key, or an external id, by subject.
    "max_tokens": 4_096,  # Held for the output of a call that sets no maximum.
    "cap_tokens": False,  # True sets that maximum for such calls, so that none uses more.
    "bytes_per_token": 3.0,  # Of a prompt. With 1, no text has more tokens than are held.
    "media_tokens": 2_000,  # Held for each image, sound or file in a prompt.
    "micro_dollars_per_token": 0.0,  # For models whose price LiteLLM doesn't know.
    "hold_seconds": 600,  # After which a hold ends by itself. It can be settled for 35 days.
    "on_expiry": "release",  # Or "record", which then records all that was held.
    "timeout": 3.0,  # Seconds to wait for Gatehouse before a call.
    "fail_open": False,  # True serves calls while Gatehouse is away, and records them later.
    "spool": "",  # A folder in which their records survive a restart.
    "abort_seconds": 5.0,  # How long to wait for LiteLLM's numbers of an aborted stream.
    "settle_seconds": 600.0,  # How long to repeat a settlement without a response.
    "threads": 32,  # The most requests to Gatehouse at the same time.
}
PREFIX = "GATEHOUSE_LITELLM_"
#: The calls that generate text, and all that use a model. Others, such as listing files, pass.
GENERATING = {"completion", "text_completion", "responses", "anthropic_messages"}
GENERATING |= {"generate_content", "generate_content_stream"}
CALLS = GENERATING | {"embedding", "embeddings", "rerank", "moderation", "image_generation"}
CALLS |= {"image_edit", "transcription", "audio_transcription", "speech"}
PROMPT = ("messages", "input", "prompt", "contents", "system", "instructions")
PROMPT += ("tools", "functions", "query", "documents")
MEDIA = {"image_url", "input_audio", "inline_data", "file", "file_data", "source"}
#: In the JSON of a chunk.
TEXT = re.compile(
    '"(?:content|text|thinking|reasoning_content|arguments|partial_json|delta)": ?'
    r'"((?:[^"\\]|\\.)*)"'
)
COUNT = re.compile(r'"(prompt|input|completion|output)_tokens": ?(\d+)')
REJECTIONS = {"limit_exceeded": 429, "hold_limit_reached": 429, "validation_failed": 400}
REJECTIONS |= {"organization_suspended": 403, "key_inactive": 403}
#: Holds a secret of this process in the metadata of a call, as clients choose litellm_call_id.
SECRET = "gatehouse_call"
FORGOTTEN_SECONDS = 24 * 3600
PAUSE_SECONDS = 0.5

_logger = logging.getLogger("gatehouse")


class Call(NamedTuple):
    hold_id: str | None  # None if Gatehouse was out of reach.
    target: dict[str, str]
    model: str | None
    prompt: int
    output: int
    started: float


class GatehouseHandler(CustomLogger):
    # LiteLLM only calls hooks that the class of a handler has itself.

    def __init__(self, **settings: Any) -> None:
        """Creates a handler. Raises ValueError for unknown and for invalid settings."""
        super().__init__()
        found = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
        given = {name[len(PREFIX) :].lower(): value for name, value in found.items()} | settings
        if unknown := sorted(given.keys() - SETTINGS.keys()):
            raise ValueError(f"unknown settings: {', '.join(unknown)}")
        self._set = {name: _parse(each, given.get(name, each)) for name, each in SETTINGS.items()}
        self._subjects = json.loads(self._set["subjects"])
        self._sources = self._set["subject"].replace(" ", "").split(",")
        self._gatehouse = Gatehouse(timeout=self._set["timeout"])
        token, spool = os.environ.get("GATEHOUSE_OPERATOR_TOKEN"), self._set["spool"] or None
        self._meter = Meter(operator_token=token, spool=spool) if self._set["fail_open"] else None
        self._executor = ThreadPoolExecutor(self._set["threads"], "gatehouse")
        self._calls: dict[str, Call] = {}  # By secret.
        self._aborted: set[str] = set()
        self._tasks: set[asyncio.Future[Any]] = set()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Holds what a call may use. Raises HTTPException if there is no room."""
        for metadata in _metadata(data):
            metadata.pop(SECRET, None)  # Clients can send it.
        kind = call_type if call_type in CALLS else call_type.removeprefix("a")
        if kind not in CALLS:
            return data
        target = self._target(user_api_key_dict, data)
        prompt = max(1, math.ceil(sum(self._tokens(data.get(name)) for name in PROMPT)))
        output = self._output(data, kind) if kind in GENERATING else 0
        call = Call(None, target, data.get("model"), prompt, output, time.monotonic())
        terms = {"expires_in": self._set["hold_seconds"], "on_expiry": self._set["on_expiry"]}
        try:
            hold_id = await self._hold(self._usage(call, prompt, output), **target, **terms)
            call = call._replace(hold_id=hold_id)
        except GatehouseError as error:
            if any(str(each.get("path")).endswith("Id") for each in error.details):
                message = f"Unknown customer: {', '.join(target.values())}."
                raise _rejection(403, "subject_unknown", message) from error
            if error.code in REJECTIONS:
                raise _rejection(REJECTIONS[error.code], error.code, error) from error
            _logger.error("no hold: %s (%s)", error, error.code)
            if self._meter is None or not _is_away(error):
                message = "The budget can't be checked. Try again later."
                raise _rejection(503, "budget_unavailable", message) from error
        self._forget()
        secret = secrets.token_urlsafe(16)
        self._calls[secret] = call
        _own_metadata(data, kind)[SECRET] = secret
        return data

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Settles a call, also one that was streamed, with its tokens and cost."""
        call = self._take(self._secret(kwargs.get("litellm_params") or {}) or self._secret(kwargs))
        if call is None:
            return  # It was not held, or is settled.
        if kwargs.get("cache_hit"):  # No model was used.
            return self._spawn(self._end(call, None))
        log, used = kwargs.get("standard_logging_object"), _get(response_obj, "usage")
        counts = []
        for name, other in (("prompt", "input"), ("completion", "output")):
            name, other = f"{name}_tokens", f"{other}_tokens"
            found = (_get(used, name), _get(used, other), _get(log, name), 0)
            counts.append(next(int(count) for count in found if count is not None))
        cost = kwargs.get("response_cost")
        self._spawn(self._end(call, self._usage(call, *counts, cost)))

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """Releases a call that failed.

        async_log_failure_event isn't the end of a call: retries and fallbacks can follow.
        """
        secret = self._secret(request_data)
        if secret not in self._aborted and (call := self._take(secret)) is not None:
            self._spawn(self._end(call, None))

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Settles a stream that breaks, or whose client goes away."""
        chunks: list[Any] = []
        try:
            async for chunk in response:
                chunks.append(chunk)
                yield chunk
        except BaseException:  # Also GeneratorExit and CancelledError.
            if secret := self._secret(request_data):
                self._aborted.add(secret)
                self._spawn(self._end_aborted(secret, chunks))
            raise

    # What a call may use, and what it used

    def _target(self, key: Any, data: dict[str, Any]) -> dict[str, str]:
        for source in self._sources:
            name, _, field = source.partition(".")
            found = data.get("user") if source == "user" else getattr(key, name, None)
            if found := _get(found, field) if field else found:
                subject = str(self._subjects.get(str(found), found))
                form = re.fullmatch("(org|key)_[0-9a-f]{32}", subject)
                names = {"org": "organization_id", "key": "api_key_id"}
                return {names[form[1]] if form else "external_id": subject}
        raise _rejection(403, "subject_missing", f"No customer: set {' or '.join(self._sources)}.")

    def _tokens(self, value: Any) -> float:
        if isinstance(value, str):
            return len(value.encode(errors="replace")) / self._set["bytes_per_token"]
        if isinstance(value, dict):
            media = value.keys() & MEDIA
            rest = [each for name, each in value.items() if name not in media]
            return len(media) * self._set["media_tokens"] + self._tokens([*value, *rest])
        # Prompts can also be lists of tokens.
        is_list = isinstance(value, list)
        return sum(map(self._tokens, value)) if is_list else float(value is not None)

    def _output(self, data: dict[str, Any], kind: str) -> int:
        def numbers(*names: str) -> list[int]:
            return [data[name] for name in names if type(data.get(name)) is int and data[name] > 0]

        asked = numbers("max_tokens", "max_completion_tokens", "max_output_tokens")
        limit = max(asked, default=self._set["max_tokens"])
        if not asked and self._set["cap_tokens"]:
            data["max_output_tokens" if kind == "responses" else "max_tokens"] = limit
        return limit * max(numbers("n", "best_of"), default=1)

    def _usage(
        self, call: Call, prompt: int, output: int, cost: Any = None
    ) -> list[dict[str, Any]]:
        """Returns usage to hold or to settle. An unknown cost is computed with LiteLLM's prices."""
        try:
            if cost is None:
                counts = {"prompt_tokens": prompt, "completion_tokens": output}
                cost = math.fsum(litellm.cost_per_token(model=call.model, **counts))
            # Exact from the number's shortest decimal on: 1.23e-05 dollars are 12.3 micro-dollars.
            exact = (Decimal(str(cost)) * 1_000_000).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        except Exception:  # LiteLLM doesn't know the model.
            exact = Decimal(str(self._set["micro_dollars_per_token"])) * (prompt + output)
        model = {"model": call.model} if call.model else {}
        records = [
            {"metric": "tokens", "quantity": prompt, "properties": {**model, "type": "input"}},
            {"metric": "tokens", "quantity": output, "properties": {**model, "type": "output"}},
            {"metric": "micro_dollars", "quantity": exact, "properties": model},
        ]
        product = self._set["product"]
        return [{"product": product, **each} for each in records if each["quantity"] > 0]

    async def _hold(self, usage: list[dict[str, Any]], **terms: Any) -> str:
        """Returns the id of a hold, and releases one that nobody waits for any more."""
        holding = self._executor.submit(self._gatehouse.hold, usage, **terms)
        try:
            # Cancels the request if no thread has begun it.
            held = await asyncio.wait_for(asyncio.wrap_future(holding), self._set["timeout"])
            return str(held["hold"]["id"])
        except (asyncio.CancelledError, asyncio.TimeoutError) as error:
            self._spawn(self._release(holding))
            if isinstance(error, asyncio.CancelledError):
                raise  # The client went away.
            raise GatehouseError("Gatehouse takes too long", "timeout") from error

    # How a call ends

    async def _end(self, call: Call, usage: list[dict[str, Any]] | None) -> None:
        """Settles a hold, or releases it without usage. Repeats that until Gatehouse responds."""
        if call.hold_id is None and self._meter is not None:
            for each in usage or []:
                self._meter.record(**each, **call.target)
            return
        gatehouse, id = self._gatehouse, call.hold_id
        last, pause = time.monotonic() + self._set["settle_seconds"], PAUSE_SECONDS
        while True:
            try:
                if usage is None:
                    ending = self._executor.submit(gatehouse.release, id)
                else:
                    ending = self._executor.submit(gatehouse.settle, id, usage)
                await asyncio.wrap_future(ending)
                return
            except Exception as error:
                if not _is_away(error) or time.monotonic() + pause > last:
                    return _logger.error("%s doesn't end with %s: %s", id, usage, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _end_aborted(self, secret: str, chunks: list[Any]) -> None:
        await asyncio.sleep(self._set["abort_seconds"])
        if (call := self._take(secret)) is None:
            return  # LiteLLM had the numbers.
        if not chunks:
            return await self._end(call, None)
        text = "\n".join(map(_text, chunks))
        prompt = call.prompt
        output = min(math.ceil(self._tokens(TEXT.findall(text))), call.output)
        for name, count in COUNT.findall(text):
            if name in ("prompt", "input"):
                prompt = int(count)
            else:
                output = max(output, int(count))
        await self._end(call, self._usage(call, prompt, output))

    async def _release(self, holding: Future[dict[str, Any]]) -> None:
        try:
            held = await asyncio.wrap_future(holding)
        except (Exception, asyncio.CancelledError):
            return  # Nothing is held.
        await self._end(Call(held["hold"]["id"], {}, None, 0, 0, 0.0), None)

    def _take(self, secret: str | None) -> Call | None:
        self._aborted.discard(secret or "")
        return self._calls.pop(secret or "", None)

    def _secret(self, data: dict[str, Any]) -> str | None:
        found = (metadata.get(SECRET) for metadata in _metadata(data))
        return next((each for each in found if isinstance(each, str) and each in self._calls), None)

    def _spawn(self, work: Any) -> None:
        """Works in the background, as LiteLLM ends slow callbacks."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self) -> None:
        """Forgets calls that never ended. Their holds have expired."""
        last = time.monotonic() - FORGOTTEN_SECONDS
        while (secret := next(iter(self._calls), None)) and self._calls[secret].started < last:
            self._take(secret)


def _parse(default: Any, value: Any) -> Any:
    if isinstance(default, bool) and str(value).lower() not in ("true", "false"):
        raise ValueError(f"neither true nor false: {value}")
    return str(value).lower() == "true" if isinstance(default, bool) else type(default)(value)


def _rejection(status: int, code: str, reason: object) -> HTTPException:
    after = math.ceil(getattr(reason, "retry_after", 0))
    headers = {"Retry-After": str(after)} if after else {}
    detail = re.sub(r" \(status \d+\)$", "", str(reason))
    rejection = HTTPException(status, detail=detail, headers=headers)
    rejection.type = code  # LiteLLM puts it into the response.
    return rejection


def _is_away(error: Exception) -> bool:
    if not isinstance(error, GatehouseError):
        return False
    if error.status is None or error.code == "unexpected_response":
        return True
    return error.status == 429 or error.status >= 500


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _metadata(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    found = (data.get(name) for name in ("metadata", "litellm_metadata"))
    return (each for each in found if isinstance(each, dict))


def _own_metadata(data: dict[str, Any], kind: str) -> dict[str, Any]:
    """Returns the metadata that LiteLLM keeps to itself. Providers have a field `metadata`, too."""
    names = ["metadata", "litellm_metadata"]
    if kind in ("responses", "anthropic_messages"):
        names.reverse()
    found = [data[name] for name in names if isinstance(data.get(name), dict)]
    own = [each for each in found if any(name.startswith("user_api_key") for name in each)]
    return (own or found or [data.setdefault(names[0], {})])[0]


def _text(chunk: Any) -> str:
    if isinstance(chunk, bytes):
        return chunk.decode(errors="replace")
    if hasattr(chunk, "model_dump_json"):
        return str(chunk.model_dump_json())
    return chunk if isinstance(chunk, str) else json.dumps(chunk, default=str)


handler = GatehouseHandler()
