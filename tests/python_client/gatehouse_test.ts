// me() and verify() of gatehouse.py against the real program: the cookies that are handed on, every code, lost connections and
// errors.
import assert from "node:assert/strict";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { readGuide, runLines } from "../support/runner/guides.ts";
import { sendJson } from "../support/process/journey.ts";
import {
  drive,
  type Driven,
  type MeterScene,
  newKey,
  python,
  pythonPackage,
  pythonTest,
  sumsOf,
} from "../support/client/python_meter.ts";
import { freePort } from "../support/database/sqld.ts";
import { startTcpProxy } from "../support/network/tcp_proxy.ts";

const signedOut = { authenticated: false, user: null, organizationId: null, role: null, memberships: [] };
const notFound = { valid: false, code: "NOT_FOUND", apiKey: null, organization: null, limits: [] };

/** Starts a Python program with a client `g` whose address and token are given. */
async function client(url: string, token = "unused", more = ""): Promise<Driven> {
  const driven = drive({ url, api_key: "unused" });
  await driven.run(
    `g = gatehouse.Gatehouse(url="${url}", operator_token="${token}"${more})
def fault(call):
    try:
        call()
    except gatehouse.GatehouseError as error:
        details = [each.get("path") for each in error.details]
        return [error.code, error.status, bool(error.request_id), details, str(error), error.retry_after]
    except Exception as error:
        return repr(error)`,
  );
  return driven;
}

// deno-lint-ignore no-explicit-any
const resultOf = async (driven: Driven, expression: string): Promise<any> =>
  (await driven.run(`result = ${expression}`)).result;

async function findsOutWhoIsSignedIn({ program }: MeterScene): Promise<void> {
  const json = { name: "Ada", email: "ada@example.com", password: testPassword };
  const signUp = await sendJson(program.baseUrl, "/api/auth/sign-up", { json });
  const [cookie, { organizationId }] = [cookieOf(signUp), await signUp.json()];
  const sent: Record<string, string>[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    sent.push(Object.fromEntries(request.headers));
    return await fetch(program.baseUrl + new URL(request.url).pathname, { headers: request.headers });
  });
  const driven = await client(`http://127.0.0.1:${server.addr.port}/`);
  try {
    const planted = `access_token=${"x".repeat(43)}`;
    const others = "my_access_token=1; access_token_2=2; Access_Token=4";
    const user = await resultOf(driven, `g.me("theme=dark; ${planted}; ${others};${cookie} ")`);
    assert.deepEqual([user.user.name, user.organizationId, user.role], ["Ada", organizationId, "OWNER"]);
    assert.deepEqual(sent.map(({ cookie }) => cookie), [`${planted}; ${cookie}`]);
    assert.equal(sent[0]?.["authorization"], undefined);
    for (
      const none of [
        "None",
        '""',
        '"theme=dark"',
        '"access_token"',
        '"x=access_token=1"',
        '"access_token=\u00e9"',
      ]
    ) {
      assert.deepEqual(await resultOf(driven, `g.me(${none})`), signedOut, none);
    }
    assert.equal(sent.length, 1);
    await sendJson(program.baseUrl, "/api/auth/sign-out", { method: "POST", cookie, json: {} });
    assert.deepEqual(await resultOf(driven, `g.me("${cookie}")`), signedOut);
  } finally {
    await driven.end();
    await server.shutdown();
  }
}

async function verifiesKeys(scene: MeterScene): Promise<void> {
  const { program, key, token } = scene;
  const driven = await client(program.baseUrl, token);
  const code = (more: string) => resultOf(driven, `g.verify("${key}"${more})["code"]`);
  const { valid, apiKey, organization, limits } = await resultOf(
    driven,
    `g.verify("${key}", permissions=["usage:write"])`,
  );
  assert.deepEqual([valid, apiKey.permissions, limits], [true, ["usage:read", "usage:write"], []]);
  const malformed = [
    "None",
    '""',
    '" "',
    '"a\\nb"',
    `"${key}\\n"`,
    '"x" * 1001',
    `["${key}"]`,
    '"service_live_x"',
  ];
  for (const wrong of malformed) {
    assert.deepEqual(await resultOf(driven, `g.verify(${wrong})`), notFound, wrong);
  }
  assert.equal(await code(', permissions="maps:render"'), "INSUFFICIENT_PERMISSIONS");
  assert.equal(await code(', features="sso"'), "FEATURE_MISSING");

  const changed = await sendJson(program.baseUrl, `/api/operator/organizations/${organization.id}`, {
    method: "PATCH",
    apiKey: token,
    json: { overrides: { limits: [{ metric: "requests", per: "total", quantity: 2, mode: "hard" }] } },
  });
  assert.equal(changed.status, 200, await changed.text());
  const usage = ', product="tiles", metric="requests"';
  const { code: exceeded, limits: [limit] } = await resultOf(
    driven,
    `g.verify("${key}"${usage}, quantity=2.5)`,
  );
  assert.deepEqual([exceeded, limit.remaining], ["USAGE_EXCEEDED", 2]);
  assert.equal(await code(usage), "VALID");
  assert.deepEqual(await sumsOf(program, key), {}, "asking records nothing");
  assert.equal(await code(`${usage}, quantity=0.1 + 0.2, record=True`), "VALID");
  for (let n = 0; n < 2; n++) {
    assert.equal(await code(`${usage}, record=True, idempotency_key="once"`), "VALID");
  }
  assert.deepEqual(await sumsOf(program, key), { requests: [1.3, 2] });
  const after = await resultOf(driven, `g.verify("${key}"${usage})`);
  assert.deepEqual([after.code, after.limits[0].remaining], ["USAGE_EXCEEDED", 0.7]);

  const misuse = [
    'product="tiles"',
    'metric="requests"',
    "record=True",
    'product="a", metric="b", quantity=-1',
  ];
  for (const wrong of misuse) {
    assert.match(await resultOf(driven, `fault(lambda: g.verify("${key}", ${wrong}))`), /^ValueError/, wrong);
  }
  await driven.run('os.environ.pop("GATEHOUSE_OPERATOR_TOKEN", None)');
  const without = `gatehouse.Gatehouse(url="${program.baseUrl}")`;
  assert.match(
    await resultOf(driven, `fault(lambda: ${without}.verify("x"))`),
    /^ValueError.*GATEHOUSE_OPERATOR_TOKEN/,
  );
  await driven.end();
}

async function repeatsOnce({ program, key, token }: MeterScene): Promise<void> {
  const proxy = startTcpProxy({ targetPort: Number(new URL(program.baseUrl).port) });
  const driven = await client(proxy.url, token);
  proxy.loseAnswers({ count: 1 });
  const record = `g.verify("${key}", product="tiles", metric="requests", quantity=3, record=True)["code"]`;
  assert.equal(await resultOf(driven, record), "VALID");
  assert.equal(proxy.answersToLose, 0);
  assert.deepEqual(await sumsOf(program, key), { requests: [3, 1] });
  proxy.loseAnswers({ count: 3 });
  const [code, status] = await resultOf(driven, `fault(lambda: ${record})`);
  assert.deepEqual([code, status, proxy.answersToLose], ["connection_failed", null, 1]);
  await proxy.close();
  for (const [isCut, result] of [[[true, false], "VALID"], [[true, true], "connection_failed"]] as const) {
    const server = startCutting(isCut);
    const call = `gatehouse.Gatehouse(url="${server.url}", operator_token="t").verify("key")["code"]`;
    const python = result === "VALID" ? call : `fault(lambda: ${call})[0]`;
    assert.equal(await resultOf(driven, python), result);
    await server.ended;
  }
  await driven.end();
}

/** Starts a server that responds to one request for each value, and cuts the body if it is true. */
function startCutting(isCut: readonly boolean[]): { url: string; ended: Promise<void> } {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const body = JSON.stringify({ valid: true, code: "VALID" });
  const respond = async () => {
    for (const cut of isCut) {
      const connection = await listener.accept();
      let request = "";
      while (!request.endsWith("}")) {
        const bytes = new Uint8Array(65_536);
        request += new TextDecoder().decode(bytes.subarray(0, await connection.read(bytes) ?? assert.fail()));
      }
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
      await connection.write(new TextEncoder().encode(head + body.slice(0, cut ? -5 : undefined)));
      connection.close();
    }
    listener.close();
  };
  return { url: `http://127.0.0.1:${listener.addr.port}`, ended: respond() };
}

async function waitsNoLonger({ token }: MeterScene): Promise<void> {
  const stopped = new AbortController();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", signal: stopped.signal, onListen() {} }, () => {
    const start = (controller: ReadableStreamDefaultController) =>
      controller.enqueue(new TextEncoder().encode("{"));
    return new Response(new ReadableStream({ start }));
  });
  // The response begins 1.8 seconds after the call, and never ends.
  const { url, close } = startTcpProxy({ targetPort: server.addr.port, delayMs: 900 });
  const driven = await client(url, token, ", timeout=2");
  const python = '(time.monotonic(), fault(lambda: g.verify("key"))[0], time.monotonic())';
  const [began, code, ended] = await resultOf(driven, python);
  assert.equal(code, "timeout");
  assert.ok(ended - began < 3, `${ended - began} seconds`);
  await driven.end();
  await close();
  stopped.abort();
  await server.finished;
}

async function reportsErrors({ program, key, token }: MeterScene): Promise<void> {
  const responses: Record<string, () => Response | Promise<Response>> = {
    page: () => new Response("<html></html>"),
    other: () => Response.json({ ok: true }),
    redirect: () => new Response(null, { status: 307, headers: { location: program.baseUrl } }),
    limited: () =>
      Response.json({ error: { code: "rate_limited", message: "Slow down." } }, {
        status: 429,
        headers: { "retry-after": "7" },
      }),
    late: () => new Promise<Response>(() => {}),
  };
  const stopped = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", signal: stopped.signal, onListen() {} },
    (request) => responses[new URL(request.url).pathname.split("/")[1] ?? ""]?.() ?? new Response(null),
  );
  const driven = await client(program.baseUrl, token);
  const fault = (url: string, given = token, more = "") => {
    const made = `gatehouse.Gatehouse(url="${url}", operator_token="${given}"${more})`;
    return resultOf(driven, `fault(lambda: ${made}.verify("${key}", product="", metric="m"))`);
  };
  try {
    assert.deepEqual((await fault(program.baseUrl)).slice(0, 4), ["validation_failed", 422, true, [
      "usage.productSlug",
    ]]);
    assert.deepEqual((await fault(program.baseUrl, "wrong")).slice(0, 3), [
      "invalid_operator_token",
      401,
      true,
    ]);
    const at = (name: string) => `http://127.0.0.1:${server.addr.port}/${name}`;
    for (const [name, status] of [["page", 200], ["other", 200], ["redirect", 307]] as const) {
      assert.deepEqual((await fault(at(name))).slice(0, 2), ["unexpected_response", status], name);
    }
    const limited = await fault(at("limited"));
    assert.deepEqual([limited[0], limited[1], limited[5]], ["rate_limited", 429, 7]);
    assert.match(limited[4], /^Slow down\./);
    const late = await fault(at("late"), token, ", timeout=0.2");
    assert.deepEqual([late[0], late[1]], ["timeout", null]);
    const down = await fault(`http://127.0.0.1:${freePort()}`);
    assert.deepEqual([down[0], down[1]], ["connection_failed", null]);
    for (const [, , , , message] of [late, down]) assert.ok(!message.includes(token), message);
  } finally {
    await driven.end();
    stopped.abort();
    await server.finished;
  }
}

async function runsTheGuide({ program, token, spool }: MeterScene): Promise<void> {
  const key = await newKey(program.baseUrl, "python-guide");
  const lines = (await readGuide("client.md"))("Python").replaceAll(
    "https://auth.example.com",
    program.baseUrl,
  );
  await Deno.writeTextFile(`${spool}/guide.py`, lines);
  const env = {
    PYTHONPATH: pythonPackage,
    PYTHONDONTWRITEBYTECODE: "1",
    GATEHOUSE_OPERATOR_TOKEN: token,
    CUSTOMERS_KEY: key,
    HTTP_COOKIE: "theme=dark",
  };
  const printed = await runLines(`${python} guide.py`, { cwd: spool, env });
  assert.match(printed, /^Sign in first\.\nValid, of \S/);
  assert.deepEqual(await sumsOf(program, key), { requests: [1, 1] });
}

pythonTest("Gatehouse of gatehouse.py", {
  "hands on the session cookies and nothing else": findsOutWhoIsSignedIn,
  "verifies keys, and records usage that fits once": verifiesKeys,
  "repeats a call once whose connection is lost, also within the response": repeatsOnce,
  "waits for a response that pauses no longer than the timeout": waitsNoLonger,
  "raises an error with the code of the service, and without the token": reportsErrors,
  "works as the guide shows": runsTheGuide,
});
