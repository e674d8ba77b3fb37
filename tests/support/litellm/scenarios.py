"""Calls through the handler against a running Gatehouse. Prints JSON for the test that started it."""

import asyncio
import json
import os
import re
import sys
import threading
from decimal import Decimal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs"))
from proxy import Chunk, Failed, Proxy, answer, key, load  # noqa: E402

FOLDER, SCENARIO, SUBJECT = sys.argv[1:4]
config = os.path.join(FOLDER, "config.yaml")
with open(config) as file:
    callback = re.search(r"^  callbacks: (\S+)$", file.read(), re.MULTILINE)[1]
gatehouse_litellm_handler = load(callback, FOLDER)
Handler = type(gatehouse_litellm_handler)
Handler.async_pre_call_hook.__globals__["PAUSE_SECONDS"] = 0.01
CUSTOMER = key(user_id=SUBJECT)
#: With its role and names 100 bytes, which are 100 tokens if each has one byte.
PROMPT = [{"role": "user", "content": "x" * 85}]
SMALL = {"model": "small", "messages": PROMPT, "max_tokens": 400}


def handler_of(**settings):
    return Handler(**{"bytes_per_token": 1, "abort_seconds": 0, "timeout": 60, **settings})


def model(prompt_tokens, completion_tokens, after=None):
    async def attempt(data):
        if after is not None:
            await after()
        return answer(prompt_tokens, completion_tokens)

    return attempt


async def failing(data):
    raise Failed("the model is overloaded")


async def outcome(call):
    """What a client sees."""
    try:
        await call
        return 200
    except Failed:
        return 500
    except Exception as error:
        headers = error.headers or {}
        return [error.status_code, error.type, error.detail, headers.get("Retry-After")]


async def chunks(*parts, fails=False, waits=None):
    for part in parts:
        yield part
    if waits is not None:
        await waits.wait()
    if fails:
        raise Failed("the stream broke")


async def guide():
    """With the handler of config.yaml: a call that fits into 5,000 tokens, and one that doesn't."""
    proxy, team = Proxy(gatehouse_litellm_handler), key(team_id=SUBJECT)
    fits = await outcome(proxy.call({**SMALL, "max_tokens": 4_000}, model(90, 300), key=team))
    await proxy.settled()
    return [fits, await outcome(proxy.call({**SMALL, "max_tokens": 5_000}, model(90, 300), key=team))]


async def budget():
    """20 calls at the same time, of which each may use 500 tokens and all wait for each other."""
    proxy = Proxy(handler_of())
    waiting, go = 0, asyncio.Event()

    async def admitted():
        nonlocal waiting
        waiting += 1
        await go.wait()

    async def one():
        return await outcome(proxy.call(SMALL, model(90, 300, admitted), key=CUSTOMER, response_cost=0.00069))

    calls = [asyncio.ensure_future(one()) for _ in range(20)]
    while sum(call.done() for call in calls) + waiting < 20:
        await asyncio.wait(calls, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
    go.set()
    outcomes = await asyncio.gather(*calls)
    await proxy.settled()
    return {"admitted": waiting, "outcomes": outcomes}


async def failures():
    """A call that fails, and one that succeeds at the third attempt."""
    proxy = Proxy(handler_of())
    first = await outcome(proxy.call(SMALL, failing, key=CUSTOMER))
    attempts = [failing, failing, model(90, 300)]
    second = await outcome(proxy.call(SMALL, attempts, key=CUSTOMER, response_cost=1.23e-05))
    await proxy.settled()
    return [first, second]


async def streams():
    """A whole stream, one that breaks, and one whose client goes away."""
    proxy = Proxy(handler_of())
    text = Chunk("x" * 30)
    whole = [each.text async for each in proxy.stream(SMALL, chunks(text, Chunk("", (90, 30))), key=CUSTOMER)]

    async def broken(*parts):
        async for _ in proxy.stream(SMALL, chunks(*parts, fails=True), key=CUSTOMER):
            pass

    outcomes = [await outcome(broken(text, text)), await outcome(broken())]

    has_chunk = asyncio.Event()

    async def aborted():
        async for _ in proxy.stream(SMALL, chunks(text, waits=asyncio.Event()), key=CUSTOMER):
            has_chunk.set()

    client = asyncio.ensure_future(aborted())
    await has_chunk.wait()
    client.cancel()
    await asyncio.wait([client])
    await proxy.settled()
    closed = proxy.stream(SMALL, chunks(text, text), key=CUSTOMER)
    await closed.__anext__()
    await closed.aclose()
    while proxy.handler._calls:
        await asyncio.sleep(0)
    await proxy.settled()
    return [len(whole), *outcomes]


async def leaves():
    """Holds that come too late for a client that left or a call, and a stream that LiteLLM reports."""
    proxy = Proxy(handler_of(abort_seconds=3_600))
    hold, has_begun, go = proxy.handler._gatehouse.hold, asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(*args, **terms):
        loop.call_soon_threadsafe(has_begun.set)
        go.wait()
        return hold(*args, **terms)

    proxy.handler._gatehouse.hold = slow
    client = asyncio.ensure_future(proxy.call(SMALL, model(90, 300), key=CUSTOMER))
    await has_begun.wait()
    client.cancel()
    await asyncio.wait([client])
    proxy.handler._set["timeout"] = 0.01
    late = await outcome(proxy.call(SMALL, model(90, 300), key=CUSTOMER))
    proxy.handler._set["timeout"] = 60
    go.set()
    await proxy.settled()
    data, kwargs = await proxy.admit(SMALL, CUSTOMER, "acompletion", {"response_cost": 0.000104})
    stream = proxy.handler.async_post_call_streaming_iterator_hook(CUSTOMER, chunks(Chunk("x")), data)
    await stream.__anext__()
    await stream.aclose()
    await proxy.fail(data, Failed(), CUSTOMER)
    proxy.log(kwargs, answer(90, 7))
    while proxy.handler._calls or len(proxy.handler._tasks) > 1:
        await asyncio.sleep(0)
    return [late, len(proxy.handler._calls), len(proxy.handler._aborted)]


async def repeats():
    """Settlements whose responses are lost, events that come twice, and forged ones."""
    proxy = Proxy(handler_of())
    settle, lost = proxy.handler._gatehouse.settle, []
    error = sys.modules["gatehouse"].GatehouseError

    def losing(*args):
        result = settle(*args)
        if len(lost) < 2:
            lost.append(result["hold"]["status"])
            raise error("no response", "timeout")
        return result

    proxy.handler._gatehouse.settle = losing
    data, kwargs = await proxy.admit(SMALL, CUSTOMER, "acompletion", {"response_cost": 0.0000123})
    forged = {"metadata": {"gatehouse_call": "guessed"}, "litellm_call_id": data["litellm_call_id"]}
    await proxy.fail(forged, Failed(), CUSTOMER)  # Requests that nobody admitted end no call.
    proxy.log({"litellm_params": forged, "litellm_call_id": data["litellm_call_id"]}, answer(1, 1))
    await proxy.settled()
    for _ in range(2):
        proxy.log(kwargs, answer(90, 300))
        await proxy.settled()
    await proxy.fail(data, Failed(), CUSTOMER)
    await proxy.settled()
    return lost


async def denials():
    """Unknown and missing customers, other calls, and what a client may see of a Gatehouse that is away."""
    proxy = Proxy(handler_of(subject="user,user_id,metadata.customer", subjects=json.dumps({"alias": SUBJECT})))
    nobody = key(user_id=None)

    async def call(body, **more):
        return await outcome(proxy.call({**SMALL, **body}, model(10, 10), response_cost=0, **more))

    outcomes = {
        "unknown": await call({}, key=key(user_id="nobody")),
        "missing": await call({}, key=nobody),
        "alias": await call({"user": "alias"}, key=nobody),
        "metadata": await call({}, key=key(user_id=None, metadata={"customer": SUBJECT})),
        "files": await call({}, key=nobody, call_type="alist_files"),
        "forged": await call({"metadata": {"gatehouse_call": "guessed"}}, key=CUSTOMER),
        "messages": await call({"metadata": {"user_id": "x"}}, key=CUSTOMER, call_type="anthropic_messages"),
        "responses": await call({"input": "x"}, key=CUSTOMER, call_type="aresponses"),
        "cached": await call({}, key=CUSTOMER, cache_hit=True),
    }
    await proxy.settled()
    return outcomes


async def away():
    """Fails closed, or open if it is set; what was served then is recorded later."""
    os.environ["GATEHOUSE_URL"], real = "http://127.0.0.1:1", os.environ["GATEHOUSE_URL"]
    closed = Proxy(handler_of())
    outcomes = [await outcome(closed.call(SMALL, model(90, 300), key=CUSTOMER))]
    opened = handler_of(fail_open=True)
    os.environ["GATEHOUSE_URL"] = real
    again = handler_of(fail_open=True)
    opened._meter = again._meter  # Gatehouse is back.
    proxy = Proxy(opened)
    outcomes.append(await outcome(proxy.call(SMALL, model(90, 300), key=CUSTOMER, response_cost=0.5)))
    await proxy.settled()
    os.environ["GATEHOUSE_OPERATOR_TOKEN"] = "wrong"
    wrong = Proxy(handler_of(fail_open=True))
    outcomes.append(await outcome(wrong.call(SMALL, model(90, 300), key=CUSTOMER)))
    return [*outcomes, again._meter.flush()]


async def amounts():
    """What is held and recorded of unusual calls."""
    held, settled = [], []
    handler = handler_of(micro_dollars_per_token=2.5, max_tokens=100, cap_tokens=True, media_tokens=7)
    hold, settle = handler._gatehouse.hold, handler._gatehouse.settle

    def quantities(usage):
        return [
            [each["metric"], each["properties"].get("type"), f"{Decimal(each['quantity']).normalize():f}"]
            for each in usage
        ]

    def holding(usage, **terms):
        held.append(quantities(usage))
        return hold(usage, **terms)

    def settling(id, usage):
        settled.append(quantities(usage))
        return settle(id, usage)

    handler._gatehouse.hold, handler._gatehouse.settle = holding, settling
    proxy, sent = Proxy(handler), []

    async def call(body, cost, call_type="acompletion", counts=(9, 3)):
        async def attempt(data):
            sent.append(data.get("max_tokens") or data.get("max_output_tokens"))
            return answer(*counts)

        await proxy.call(body, attempt, key=CUSTOMER, call_type=call_type, response_cost=cost)
        await proxy.settled()

    await call({"model": "unknown", "messages": [{"role": "user", "content": "abc"}], "n": 3}, None)
    await call({"model": "small", "input": [1, 2, 3]}, 2e-08, "aembedding", (3, 0))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9_000}}
    await call({"model": "small", "input": [image], "max_output_tokens": 5}, 0.1 + 0.2, "aresponses")
    await call({"prompt": "abc", "max_tokens": 5, "max_completion_tokens": 6}, 7, "text_completion")
    return {"held": held, "settled": settled, "sent": sent}


print(json.dumps(asyncio.run(asyncio.wait_for(globals()[SCENARIO](), 300))))
