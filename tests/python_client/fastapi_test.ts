// RequireKey of gatehouse.py with the real FastAPI and Starlette under uvicorn, and with plain ASGI, against the real program. Its
// reader of models' responses is that of the client for TypeScript.
import assert from "node:assert/strict";
import { holdCases } from "../client/hold_cases.ts";
import { keyCases } from "../client/key_cases.ts";
import { modelCases } from "../client/model_cases.ts";
import { modelBodies, wordsBytes } from "../support/client/model_bodies.ts";
import { python, pythonEnv } from "../support/client/python_meter.ts";
import {
  type ClientScene,
  eachProduct,
  type ProductCases,
  type See,
  withClientScene,
} from "../support/client/scene.ts";
import { readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { freePort } from "../support/database/sqld.ts";
import { poll } from "../support/runner/poll.ts";
import { visit } from "../support/network/visit.ts";

const guide = await readGuide("client.md");

/** Cases about what only the client for TypeScript has: `meter`, `limit`, `keyFrom`, and the header `RateLimit`. */
const others = new Set([
  "takes the key from where the product says",
  "records once for each response with a status below 400",
  "asks whether usage fits, without recording it",
  "rejects what doesn't fit into a hard limit before the handler runs, and records it afterwards",
  "checks whether anything is left if the quantity depends on the response or the handler",
  "serves customers beyond a hard limit with limit: false",
  "says that an organization records too many kinds of usage",
  "settles a hold with what the handler found once the response has ended",
]);

const ownCases: ProductCases = {
  "holds what the body of a request asks for, and settles what the handler says": holdsByBody,
  "protects an application of plain ASGI": protectsPlain,
};

async function holdsByBody(see: See, { newCustomer, usageOf }: ClientScene): Promise<void> {
  const limits = [{ productSlug: "models", metric: "tokens", per: "month", quantity: 100, mode: "hard" }];
  const customer = await newCustomer(undefined, { limits });
  const [host = "", port] = see.host.split(":");
  const post = (body: string) =>
    visit(Number(port), {
      host,
      path: "/echo",
      method: "POST",
      headers: { authorization: `Bearer ${customer.apiKey}`, "content-type": "application/json" },
      body,
    });
  const asked = { max_tokens: 100, used: 7, text: "x".repeat(300_000) };
  const { status, body } = await post(JSON.stringify(asked));
  assert.equal(status, 200, body.slice(0, 999));
  assert.deepEqual(JSON.parse(body).body, asked);
  await poll(async () => (await usageOf(customer, "tokens"))[1] === 7);
  assert.equal((await post(JSON.stringify(asked))).status, 429);
  assert.equal((await post("x".repeat(10 * 1024 * 1024 + 1))).status, 413);
  assert.deepEqual(await usageOf(customer, "tokens"), [1, 7]);
}

async function protectsPlain(see: See, { newCustomer }: ClientScene): Promise<void> {
  const customer = await newCustomer();
  assert.equal((await see("/plain")).status, 401);
  const { status, body } = await see("/plain", { authorization: `Bearer ${customer.apiKey}` });
  assert.deepEqual([status, JSON.parse(body).id], [200, customer.keyId]);
}

const ignore = isMissing("python3-fastapi");

Deno.test({
  name: "RequireKey of gatehouse.py",
  ignore,
  fn: (t) =>
    withClientScene(async (scene) => {
      const all = { ...keyCases, ...holdCases, ...modelCases, ...ownCases };
      const RequireKey = Object.fromEntries(Object.entries(all).filter(([name]) => !others.has(name)));
      await eachProduct(t, scene, { RequireKey });
    }, ["fastapi"]),
});

/** Reads each body whole, split at each byte, and cut at each byte. */
const reading = `
import json, sys
from gatehouse import SentBody

def read(*parts):
    sent = SentBody()
    for part in parts:
        sent._write(part)
    return sent.usage and sent.usage[:5]

for name, body in json.load(sys.stdin).items():
    forms = [body["text"]]
    if body["type"] != "application/json":
        plain = body["text"].replace("data: ", "data:")
        more = [chr(0xFEFF) + ': keep-alive {"' + "\\n\\n" + plain, body["text"]]
        forms = [text.replace("\\n", end) for end in ("\\n", "\\r\\n", "\\r") for text in more]
    expected = tuple(body["usage"].values())
    for form in forms:
        data = form.encode()
        for at in range(0, len(data) + 1, 1 if form is forms[-1] else 7):
            usage = read(data[:at], data[at:])
            assert usage == expected, (name, at, usage, expected)
        assert read(*(data[at : at + 1] for at in range(len(data)))) == expected, name
    data = body["text"].encode()
    cuts = [read(data[:at]) for at in range(len(data))]
    print(json.dumps([name, [cut and cut[2] for cut in cuts if cut and cut[4]][-1:]]))
for text in json.loads(sys.argv[1]):
    assert read(text.encode()) is None, text
reader = SentBody()
for part in (b'{"data":[{"x":[' + b"0.123456789," * 200_000 + b'0]}],"y":"' + b"y" * 3_000_000 + b'",',
             b'"usage":{"prompt_tokens":8}}'):
    reader._write(part)
assert reader.usage[:4] == (8, 0, 0, 8), reader.usage
reader._write(b'{"usage":{"a":"' + b"[{" * 3_000_000)
assert reader._captured is None
`;

Deno.test({
  name:
    "gatehouse.py reads the usage of a model's response, split at any byte, and estimates it if the response breaks off",
  ignore,
  fn: async () => {
    const bodies = Object.fromEntries(
      Object.entries(modelBodies).map(([name, { type, text, usage: u }]) => {
        const usage = [u.inputTokens, u.cachedTokens, u.outputTokens, u.totalTokens, u.isEstimate];
        return [name, { type, text, usage: Object.fromEntries(usage.entries()) }];
      }),
    );
    const usage = '{"prompt_tokens":5,"completion_tokens":2}';
    const none = [
      `{"a":{"b":{"usage":${usage}}}}`,
      `{"usage":[${usage}]}`,
      `{"tool_usage":${usage}}`,
      '{"usage":null,"x":{"prompt_tokens":5}}',
      '{"usage":{"prompt_tokens":"5","completion_tokens":-1,"output_tokens":1e999}}',
      `event: {"usage":${usage}}\n\n`,
      `<p>{"usage":${usage}}</p>`,
    ];
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/reading.py`, reading);
      await Deno.writeTextFile(`${folder}/none.json`, JSON.stringify(none));
      const command = `${python} reading.py "$(cat none.json)"`;
      const printed = await runLines(command, { cwd: folder, env: pythonEnv, stdin: JSON.stringify(bodies) });
      for (const line of printed.trim().split("\n")) {
        const [name, estimates] = JSON.parse(line);
        const isStream = modelBodies[name]!.type === "text/event-stream";
        if (isStream) assert.deepEqual(estimates, [Math.ceil(wordsBytes / 4)], name);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "the guide's application of FastAPI settles what its handler says",
  ignore,
  fn: () =>
    withClientScene(async (scene) => {
      const customer = await scene.newCustomer();
      const folder = await Deno.makeTempDir();
      const port = String(freePort());
      const text = guide("app.py").replace("https://auth.example.com", scene.gatehouseUrl);
      await Deno.writeTextFile(`${folder}/app.py`, text);
      const command = `${python} -m uvicorn app:app --port ${port} --log-level warning`;
      const env = { ...pythonEnv, GATEHOUSE_OPERATOR_TOKEN: scene.operatorToken };
      const server = startCommand(command, { cwd: folder, env });
      try {
        const url = `http://127.0.0.1:${port}/chat`;
        const headers = { authorization: `Bearer ${customer.apiKey}` };
        const ask = async (headers = {}) => await (await fetch(url, { headers })).text();
        await poll(() => ask().then(() => true, () => false));
        assert.match(await ask(), /"invalid_api_key"/);
        assert.equal(await ask(headers), "Hello\nCustomer\n");
        await poll(async () => (await scene.usageOf(customer, "tokens"))[1] === 2);
        assert.equal(await server.stop(), 0, server.output());
      } finally {
        await server.stop();
        await Deno.remove(folder, { recursive: true });
      }
    }, []),
});

/** Gatehouse is unavailable when the response ends, and again; rejects one settlement; and the last one follows when the process ends. */
const settling = `
import asyncio, os
from gatehouse import GatehouseError, RequireKey

class Unavailable:
    faults = {}

    def verify(self, key, **options):
        hold = {"id": key, "status": "active"}
        return {"valid": True, "apiKey": {}, "organization": {}, "limits": [], "hold": hold}

    def settle(self, hold_id, usage):
        statuses = self.faults[hold_id]
        # One write, as several threads print.
        os.write(1, f"{hold_id} {usage[0]['quantity']} {statuses[:1]}\\n".encode())
        if statuses:
            raise GatehouseError("unavailable", "unavailable", status=statuses.pop(0))

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b'{"usage":{"prompt_tokens":5}}'})

def usage(quantity):
    return [{"product": "models", "metric": "tokens", "quantity": quantity}]

gatehouse = Unavailable()
protected = RequireKey(app, gatehouse=gatehouse, hold=usage(9), settle=lambda _, sent: usage(sent.usage.total_tokens))

async def ignore(message):
    pass

for key, statuses in {"later": [503, None, 401], "rejected": [409], "at_the_end": [503]}.items():
    gatehouse.faults[key] = statuses
    headers = [(b"authorization", b"bearer " + key.encode())]
    asyncio.run(protected({"type": "http", "headers": headers}, None, ignore))
    while key == "later" and gatehouse.faults[key]:
        gatehouse.faults[key]
`;

Deno.test({
  name:
    "RequireKey of gatehouse.py settles once Gatehouse is available again, with the same usage, and when the process ends",
  ignore: isMissing("python3"),
  fn: async () => {
    const printed = await runLines(`${python} - 2>&1`, { cwd: "/", env: pythonEnv, stdin: settling });
    const lines = printed.trim().split("\n").sort();
    assert.deepEqual(lines, [
      "at_the_end 5 [503]",
      "at_the_end 5 []",
      "later 5 [401]",
      "later 5 [503]",
      "later 5 [None]",
      "later 5 []",
      "rejected 5 [409]",
      "the hold rejected wasn't settled: unavailable. Used: " +
      "[{'product': 'models', 'metric': 'tokens', 'quantity': 5}]",
    ]);
  },
});
