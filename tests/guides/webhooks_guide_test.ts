// docs/webhooks.md: its receivers run, accept signed requests, and reject others.
import assert from "node:assert/strict";
import { type EventType, eventTypes } from "../../domain/outbox/event_types.ts";
import { exampleEvent } from "../../domain/outbox/example_event.ts";
import { newWebhookSecret, webhookSignature } from "../../domain/outbox/signature.ts";
import { verifySamples } from "../../routes/portal/docs/verify_samples.ts";
import { npm, packClient } from "../support/client/package.ts";
import { pythonPackage } from "../support/client/python_meter.ts";
import { freePort } from "../support/database/sqld.ts";
import { sendJson } from "../support/process/journey.ts";
import { inScene, onServer } from "../support/process/scene.ts";
import { readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { isMissing } from "../support/runner/needs.ts";
import { poll } from "../support/runner/poll.ts";

const guide = await readGuide("webhooks.md");
const [secret, old] = [newWebhookSecret(), newWebhookSecret()];
const event = { type: "limit.reached", timestamp: "2026-11-21T14:03:11.250Z", data: { name: "Bücher “€”" } };

interface SignedRequest {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function signed(secrets: readonly string[], { ageSeconds = 0 } = {}): SignedRequest {
  const delivery = {
    id: `evt_${crypto.randomUUID()}`,
    timestamp: Math.floor(Date.now() / 1000) - ageSeconds,
    body: JSON.stringify(event),
  };
  const headers = {
    "content-type": "application/json",
    "webhook-id": delivery.id,
    "webhook-timestamp": String(delivery.timestamp),
    "webhook-signature": webhookSignature(secrets, delivery),
  };
  return { body: delivery.body, headers };
}

/** Requests with the outcome of each. */
const requests = (): readonly (readonly [request: SignedRequest, isAccepted: boolean])[] => {
  const good = signed([secret]);
  const without = (name: string) => ({ ...good, headers: { ...good.headers, [name]: "" } });
  return [
    [good, true],
    [signed([secret, old]), true],
    [signed([old, secret]), true],
    [signed([old]), false],
    [signed([secret], { ageSeconds: 310 }), false],
    [signed([secret], { ageSeconds: -310 }), false],
    [{ ...good, body: good.body.replace("reached", "cleared") }, false],
    [{ ...good, headers: { ...good.headers, "webhook-id": "evt_0" } }, false],
    [without("webhook-signature"), false],
    [without("webhook-timestamp"), false],
  ];
};

/** Waits until a server responds. */
function responds(url: string, init?: RequestInit): Promise<void> {
  return poll(async () => {
    const response = await fetch(url, init).catch(() => null);
    await response?.body?.cancel();
    return response !== null;
  });
}

/** Runs a receiver of the guide with all requests. */
async function tryReceiver(
  { name, file, command, env = {} }: {
    name: string;
    file: string;
    command: string;
    env?: Record<string, string>;
  },
  prepare: (folder: string) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-webhooks-" });
  const port = String(freePort());
  await Deno.writeTextFile(`${folder}/${file}`, guide(name).replaceAll("3000", port));
  await prepare(folder);
  const server = startCommand(command, { cwd: folder, env: { ...env, WEBHOOK_SECRET: secret } });
  const url = `http://127.0.0.1:${port}/`;
  const send = (init: SignedRequest) => fetch(url, { method: "POST", ...init });
  try {
    await responds(url, { method: "POST", ...signed([old]) });
    for (const [request, isAccepted] of requests()) {
      const response = await send(request);
      await response.body?.cancel();
      const facts = `${name}: ${JSON.stringify(request)} ${server.output()}`;
      assert.equal(response.status, isAccepted ? 204 : 400, facts);
      const id = request.headers["webhook-id"] ?? "";
      if (isAccepted) await poll(() => new RegExp(`limit\\.reached.* ${id}`).test(server.output()));
    }
  } finally {
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test(
  { name: "the receiver in TypeScript verifies requests", ignore: isMissing("npm") },
  () =>
    tryReceiver({
      name: "verify with TypeScript",
      file: "receiver.ts",
      command: `'${Deno.execPath()}' run --no-check --allow-net --allow-env --allow-read receiver.ts`,
    }, async (folder) => {
      await Deno.writeTextFile(`${folder}/package.json`, '{ "private": true, "type": "module" }');
      await npm(`install ${await packClient(folder)}`, folder);
    }),
);

Deno.test(
  { name: "the receiver in Python verifies requests", ignore: isMissing("python3") },
  () =>
    tryReceiver({
      name: "verify with Python",
      file: "receiver.py",
      command: "python3 receiver.py",
      env: { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1", PYTHONIOENCODING: "utf-8" },
    }),
);

Deno.test({ name: "the receiver in Go verifies requests", ignore: isMissing("go") }, () =>
  tryReceiver(
    { name: "verify with Go", file: "receiver.go", command: "./receiver" },
    (folder) => runLines("go build -o receiver receiver.go", { cwd: folder }),
  ));

Deno.test(
  { name: "the commands for the shell verify requests", ignore: isMissing("openssl") },
  () =>
    inScene({}, async ({ folder: cwd }) => {
      for (const [{ body, headers }, isAccepted] of requests()) {
        await Deno.writeTextFile(`${cwd}/body.json`, body);
        const env = {
          WEBHOOK_SECRET: secret,
          ID: headers["webhook-id"] ?? "",
          TIMESTAMP: headers["webhook-timestamp"] ?? "",
          SIGNATURE: headers["webhook-signature"] ?? "",
        };
        const run = runLines(guide("verify with openssl"), { cwd, env });
        assert.equal(await run.catch(() => "rejected"), isAccepted ? "verified\n" : "rejected", body);
      }
    }),
);

Deno.test("the portal shows the same examples", () => {
  const names = { ts: "TypeScript", py: "Python", go: "Go", bash: "openssl" };
  const expected = Object.entries(names).map(([language, name]) => (
    { language, code: guide(`verify with ${name}`) }
  ));
  assert.deepEqual(verifySamples(), expected);
});

Deno.test(
  { name: "an endpoint added with curl gets a test on the same machine", ignore: isMissing("python3") },
  () =>
    onServer({ env: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" } }, async ({ folder, baseUrl }) => {
      const json = { name: "Ada", email: "ada@example.com", password: "nine green umbrellas" };
      await sendJson(baseUrl, "/api/auth/sign-up", { json });
      const port = String(freePort());
      const run = (name: string, env: Record<string, string> = {}) => {
        const lines = guide(name).replaceAll("https://auth.example.com", baseUrl)
          .replace("https://example.com/webhooks", `http://127.0.0.1:${port}`);
        return runLines(lines, { cwd: folder, env });
      };
      const [, created = ""] = (await run("add an endpoint")).split("}{");
      const { webhook, secret } = JSON.parse(`{${created}`);
      assert.deepEqual(webhook.events, ["limit.*", "api_key.expiring"]);
      await Deno.writeTextFile(`${folder}/receiver.py`, guide("verify with Python").replace("3000", port));
      const command = guide("start the receiver").replace("whsec_…", secret);
      const receiver = startCommand(command, {
        cwd: folder,
        env: { PYTHONPATH: pythonPackage, PYTHONDONTWRITEBYTECODE: "1" },
      });
      try {
        await responds(`http://127.0.0.1:${port}`);
        const { delivery } = JSON.parse(await run("send a test", { WEBHOOK_ID: webhook.id }));
        assert.deepEqual([delivery.status, delivery.payload.data.test], ["delivered", true]);
        await poll(() => receiver.output().includes(`limit.reached ${delivery.eventId}`));
      } finally {
        await receiver.stop();
      }
    }),
);

const text = await Deno.readTextFile(new URL("../../docs/webhooks.md", import.meta.url));

Deno.test("the guide lists every type of event with its meaning and its data", () => {
  const rows = [...text.matchAll(/^\| `([\w.]+)` +\| (.*?) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
  const expected = Object.entries(eventTypes).map(([type, meaning]) => {
    const names = Object.keys(exampleEvent(type as EventType).data);
    return [type, meaning, names.map((name) => `\`${name}\``).join(", ")];
  });
  assert.deepEqual(rows, expected);
});

Deno.test("the body in the guide is the example of its type", () => {
  const [, json = ""] = /```json\n({\n[^]*?)```/.exec(text) ?? [];
  const example = JSON.parse(json);
  assert.deepEqual(example, exampleEvent(example.type));
});
