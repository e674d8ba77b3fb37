// What the client does with responses that aren't Gatehouse's, and with none.
import assert from "node:assert/strict";
import {
  ApiError,
  Gatehouse,
  Meter,
  type MeterProblem,
  RateLimitError,
  TimeoutError,
} from "../../packages/client/src/index.ts";

type Respond = (request: Request) => Response | Promise<Response>;

const request = { cookie: "access_token=secret" };

/** Serves responses on a free port while `act` runs. */
async function onServer(respond: Respond, act: (url: string) => Promise<void>): Promise<void> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, respond);
  try {
    await act(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

const errorOf = (options: ConstructorParameters<typeof Gatehouse>[0]) =>
  new Gatehouse(options).me(request).then(() => null, (error) => error);

const json = (value: unknown, status = 200) => () => Response.json(value, { status });
const limited = { error: { code: "rate_limited", message: "Too many requests." } };
const unexpected: readonly [name: string, respond: () => Response, status: number, message: RegExp][] = [
  ["a page", () => new Response("<html></html>"), 200, /without JSON/],
  ["a proxy's page", () => new Response("Bad gateway", { status: 502 }), 502, /502 without JSON/],
  ["no content", () => new Response(null, { status: 204 }), 204, /204/],
  ["other JSON", json({ ok: true }), 200, /the field authenticated/],
  ["null", json(null), 200, /JSON/],
  ["text instead of true", json({ authenticated: "true" }), 200, /the field authenticated/],
  ["an error of another form", json({ error: "no" }, 500), 500, /500/],
  ["an endless body", () => new Response(endless()), 200, /too long/],
];

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (body) => body.enqueue(new Uint8Array(64 * 1024)) });
}

Deno.test("a response that isn't Gatehouse's is an error", async (t) => {
  let respond: Respond;
  await onServer((request) => respond(request), async (url) => {
    for (const [name, response, status, message] of unexpected) {
      await t.step(name, async () => {
        respond = response;
        const error = await errorOf({ url });
        assert.ok(error instanceof ApiError, String(error));
        assert.deepEqual([error.name, error.code, error.status], ["ApiError", "unexpected_response", status]);
        assert.match(error.message, message);
      });
    }
    await t.step("429 is a RateLimitError", async () => {
      respond = json(limited, 429);
      const error = await errorOf({ url });
      assert.ok(error instanceof RateLimitError && error instanceof ApiError, String(error));
      assert.deepEqual([error.name, error.code, error.message], [
        "RateLimitError",
        "rate_limited",
        "Too many requests.",
      ]);
    });
  });
});

Deno.test("an error says how long to wait, if the response does", async () => {
  let headers: Record<string, string> = {};
  await onServer(() => Response.json(limited, { status: 429, headers }), async (url) => {
    const wait = async (header?: string) => {
      headers = header === undefined ? {} : { "Retry-After": header };
      return (await errorOf({ url })).retryAfterMs;
    };
    assert.equal(await wait(), null);
    assert.equal(await wait("7"), 7_000);
    assert.equal(await wait("soon"), null);
    assert.equal(await wait(new Date(0).toUTCString()), 0);
    const hourMs = 3_600_000;
    const ms = await wait(new Date(Date.now() + hourMs).toUTCString());
    assert.ok(ms > hourMs - 60_000 && ms <= hourMs, String(ms));
  });
});

Deno.test("a redirect is an error, and its target gets no request", async () => {
  const arrived: string[] = [];
  const target = (request: Request) => {
    arrived.push(request.url);
    return Response.json({ authenticated: true });
  };
  await onServer(target, async (targetUrl) => {
    for (const status of [301, 302, 303, 307, 308]) {
      await onServer(() => Response.redirect(targetUrl, status), async (url) => {
        const error = await errorOf({ url });
        assert.deepEqual([error.code, error.status], ["unexpected_response", status]);
        assert.ok(error.message.includes(targetUrl), error.message);
      });
    }
  });
  assert.deepEqual(arrived, []);
});

Deno.test("a call ends after timeoutMs, before and within the response", async () => {
  const end = Promise.withResolvers<void>();
  const start = new TextEncoder().encode("{");
  const within = () => new Response(new ReadableStream({ start: (body) => body.enqueue(start) }));
  const before = () => end.promise.then(() => new Response());
  for (const respond of [before, within]) {
    await onServer(respond, async (url) => {
      const error = await errorOf({ url, timeoutMs: 50 });
      assert.ok(error instanceof TimeoutError, String(error));
      assert.deepEqual([error.code, error.status], ["timeout", null]);
      end.resolve();
    });
  }
});

Deno.test("a call ends after timeoutMs even if a custom fetch ignores its signal", async () => {
  const never = () => new Promise<Response>(() => {});
  const endless = () => Promise.resolve(new Response(new ReadableStream()));
  for (const fetch of [never, endless]) {
    const error = await errorOf({ url: "https://auth.example.com", timeoutMs: 20, fetch });
    assert.ok(error instanceof TimeoutError, String(error));
    const problem = Promise.withResolvers<MeterProblem>();
    const options = { timeoutMs: 20, fetch, flushIntervalMs: 1, onProblem: problem.resolve };
    const meter = new Meter({ url: "https://auth.example.com", apiKey: "service_live_x", ...options });
    meter.record({ product: "tiles", metric: "requests" });
    assert.match((await problem.promise).message, /no response within 20 ms/);
    await meter.close({ timeoutMs: 0 });
  }
});

Deno.test("wrong options are reported when the client first needs them", async () => {
  for (
    const url of ["", "auth.example.com", "ftp://auth.example.com", "https://user:secret@auth.example.com"]
  ) {
    assert.throws(() => new Gatehouse({ url }), { name: "TypeError", message: /url/ }, url);
  }
  const gatehouse = new Gatehouse({ url: "https://auth.example.com/gatehouse//" });
  assert.equal(gatehouse.url, "https://auth.example.com/gatehouse");
  await assert.rejects(gatehouse.verify("service_live_x"), { name: "TypeError", message: /operatorToken/ });
  assert.throws(() => gatehouse.meter, { name: "TypeError", message: /operatorToken/ });
  assert.equal(await gatehouse.close(), true);
});

Deno.test("an operator token that can't be a header appears in no error", async () => {
  for (const token of ["secret\nX-Other: 1", "secret\0", "secret token", "s\u00e9cret"]) {
    const gatehouse = new Gatehouse({ url: "https://auth.example.com", operatorToken: token });
    const error = await gatehouse.verify("service_live_x").catch((error) => error);
    assert.ok(error instanceof TypeError && /operatorToken/.test(error.message), String(error));
    assert.doesNotMatch(Deno.inspect(error), /secret|s\u00e9cret/);
    assert.throws(() => gatehouse.meter, { name: "TypeError", message: /operatorToken/ });
  }
  const received: (string | null)[] = [];
  await onServer((request) => {
    received.push(request.headers.get("authorization"));
    return Response.json({ valid: false });
  }, async (url) => {
    await new Gatehouse({ url, operatorToken: " secret\r\n" }).verify("service_live_x");
  });
  assert.deepEqual(received, ["Bearer secret"]);
});
