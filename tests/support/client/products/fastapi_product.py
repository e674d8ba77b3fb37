"""A product with FastAPI, Starlette and an application of plain ASGI, run by uvicorn.

Each path is an application of its own, because each has other conditions.
"""

import asyncio
import json
import socket
import sys
import threading

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from gatehouse import Gatehouse, RequireKey
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

settings = json.loads(sys.argv[1])
token = settings["operatorToken"]
gatehouse = Gatehouse(url=settings["gatehouseUrl"], operator_token=token)
down = Gatehouse(url=settings["downUrl"], operator_token=token)
slow = Gatehouse(url=settings["slowUrl"], operator_token=token, timeout=0.05)
misconfigured = Gatehouse(url=settings["gatehouseUrl"], operator_token="invalid")

released = []
counts = {"waiting": 0, "gone": 0}
found = {}


def with_fastapi(handler, **options):
    app = FastAPI()
    app.add_middleware(RequireKey, gatehouse=options.pop("asked", gatehouse), **options)
    app.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "OPTIONS"])(handler)
    app.exception_handler(Exception)(lambda *_: PlainTextResponse("broken", 500))
    return app


def with_starlette(handler, **options):
    middleware = [Middleware(RequireKey, gatehouse=options.pop("asked", gatehouse), **options)]
    broken = {Exception: lambda *_: PlainTextResponse("broken", 500)}
    return Starlette(
        routes=[Route("/{path:path}", handler)], middleware=middleware, exception_handlers=broken
    )


async def plain(scope, receive, send):
    body = json.dumps(scope["state"]["gatehouse"]["apiKey"]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def who(request: Request):
    verified = request.state.gatehouse
    return JSONResponse(
        {**verified["apiKey"], "organization": verified["organization"], "limits": verified["limits"]}
    )


async def wait_first(request):
    counts["waiting"] += 1
    event = asyncio.Event()
    released.append(event)
    is_gone = False
    while not event.is_set():
        if not is_gone and await request.is_disconnected():
            is_gone = True
            counts["gone"] += 1
        await asyncio.sleep(0.01)


async def generate(request: Request):
    query = request.query_params
    name, do = query.get("name"), query.get("do")
    if do == "throw first":
        raise RuntimeError("thrown by the handler")
    if do == "wait first":
        await wait_first(request)
    if do == "throw":
        found[name] = 10
        raise RuntimeError("thrown by the handler")

    async def chunks():
        for count in range(int(query.get("chunks", 3))):
            found[name] = (count + 1) * 10
            yield "chunk\n"
        if do == "stall":
            await asyncio.sleep(3600)

    return StreamingResponse(chunks())


def tokens(quantity):
    return {"product": "models", "metric": "tokens", "quantity": quantity}


def query_of(scope):
    return Request(scope).query_params


def hold(scope, body):
    query = query_of(scope)
    if query.get("do") == "hold nothing":
        return []
    return [tokens(int(query.get("held", 100))), {"product": "jobs", "metric": "runs", "quantity": 1}]


def settle(scope, sent):
    query = query_of(scope)
    said = query.get("settle")
    if said == "throw":
        raise RuntimeError("thrown by settle")
    if said == "nonsense":
        return [tokens(float("nan"))]
    if said == "nothing":
        return []
    quantity = found.get(query.get("name"))
    return None if quantity is None else [tokens(quantity)]


client = httpx.AsyncClient(timeout=60)


async def ask_model(request: Request):
    asked = client.build_request(
        "GET",
        settings["modelUrl"],
        params=request.query_params,
        headers={"accept-encoding": "identity"},
    )
    made = await client.send(asked, stream=True)
    headers = {"content-type": made.headers["content-type"]}

    async def body():
        try:
            async for part in made.aiter_raw():
                yield part
        finally:
            await made.aclose()

    return StreamingResponse(body(), made.status_code, headers)


def settle_model(scope, sent):
    usage = sent.usage
    return usage and tokens(usage.total_tokens)


async def echo(request: Request):
    asked = await request.json()
    request.state.tokens = asked["used"]
    return {"body": asked}


async def asks_for(scope, body):
    return [tokens(json.loads(body)["max_tokens"])]


async def state(scope, receive, send):
    await JSONResponse({**counts, "found": found})(scope, receive, send)


async def release(scope, receive, send):
    while released:
        released.pop().set()
    await JSONResponse({})(scope, receive, send)


holding = {"hold": hold, "settle": settle}
apps = {
    "render": with_starlette(who, permissions=["maps:render", "maps:edit"]),
    "generate": with_fastapi(generate, **holding),
    "generate-down": with_fastapi(generate, asked=down, **holding),
    "model": with_fastapi(ask_model, hold=[tokens(1_000)], settle=settle_model),
    "echo": with_fastapi(
        echo, hold=asks_for, settle=lambda scope, sent: [tokens(scope["state"]["tokens"])]
    ),
    "plain": RequireKey(plain, gatehouse=gatehouse),
    "down-key": RequireKey(plain, gatehouse=down),
    "slow-key": RequireKey(plain, gatehouse=slow),
    "misconfigured": with_starlette(who, asked=misconfigured),
    "state": state,
    "release": release,
}


async def app(scope, receive, send):
    await apps[scope["path"].split("/")[1]](scope, receive, send)


def stop_at_the_end(server):
    sys.stdin.read()
    server.should_exit = True


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(listener.getsockname()[1], flush=True)
server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
threading.Thread(target=stop_at_the_end, args=[server], daemon=True).start()
server.run([listener])
