// The log with LOG_LEVEL=debug: no line of a request, an email, a webhook or a provider has a token, a secret or a webhook's address.
import assert from "node:assert/strict";
import { DatabaseError, sql } from "../../db/engine/database.ts";
import { linkLifetimesMs } from "../../domain/outbox/mail.ts";
import { MailError } from "../../services/outbox/mail_transport.ts";
import { createTestKey, startTestApp, testPassword } from "../support/app/app.ts";
import { openWatched } from "../support/app/meanwhile.ts";
import { startIssuer } from "../support/identity_providers/issuer.ts";
import { addProvider } from "../support/identity_providers/providers.ts";
import { newVisitor } from "../support/identity_providers/visitor.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { addEndpoint, addEvents, withReceiver } from "../support/webhooks/endpoints.ts";

const settings = {
  SMTP_URL: "smtp://user:smtp-canary@mail.example.com",
  MAIL_FROM: "auth@example.com",
  WEBHOOK_ALLOWED_HOSTS: "127.0.0.0/8",
};

/** Lines that must be logged at least once, so that the test sees them. */
const lines = [
  "responded",
  "dropped an email with an invalid link",
  "gave up on an email",
  "the mail server accepts no emails",
  "webhook disabled",
  "the result of a webhook delivery was not written",
  "webhooks are not sent: their secrets can't be decrypted",
  "sign-in with a provider failed",
  "database unavailable",
  "request failed",
];

/** An app with a database and a mail server that can be made to fail, and all secrets that were sent or received. */
async function startScene() {
  const secrets = new Map<string, string>([["smtp-canary", "SMTP_URL"], [testPassword, "password"]]);
  const faults: { database?: RegExp | undefined; error?: Error; mail?: MailError | undefined } = {};
  const test = await startTestApp(settings, {
    isDebug: true,
    open: () =>
      openWatched((batch) =>
        batch.some(({ sql }) => faults.database?.test(sql)) ? Promise.reject(faults.error) : Promise.resolve()
      ),
    mailTransport: ({ text }) => {
      const token = /\?token=([\w-]{43})$/m.exec(text)?.[1];
      if (token !== undefined) secrets.set(token, "link");
      return faults.mail === undefined ? Promise.resolve() : Promise.reject(faults.mail);
    },
  });
  const hide = <Secret extends string>(secret: Secret, name: string): Secret => {
    assert.ok(secret.length >= 8, `${name}: ${secret}`);
    secrets.set(secret, name);
    return secret;
  };
  const deliver = async () => {
    while (((await test.parts.mailWorker.deliverDue()).nextDueAt ?? Infinity) <= test.now());
  };
  const lastLink = () => [...secrets].findLast(([, name]) => name === "link")?.[0] ?? assert.fail("no link");
  return { test, secrets, faults, hide, deliver, lastLink };
}

type Scene = Awaited<ReturnType<typeof startScene>>;

/** People with sessions, links of emails, keys and tokens. */
async function sendRequests({ test, faults, hide, deliver, lastLink }: Scene): Promise<string> {
  const ada = await test.signUp();
  const session = hide(ada.cookie.slice(ada.cookie.indexOf("=") + 1), "session");
  const { fullKey } = await createTestKey(test, ada);
  const { fullToken } = await newOperatorToken(test);
  hide(fullKey, "API key");
  hide(fullToken, "operator token");
  await deliver();
  const { email, organizationId } = ada;
  const link = lastLink();
  await test.send(`/verify-email?token=${link}`);
  const verify = { cookie: ada.cookie, json: { token: link } };
  assert.equal((await test.send("/api/auth/email/verify", verify)).status, 200);
  await test.send("/api/auth/password/forgot", { json: { email } });
  await deliver();
  await test.send(`/reset-password?token=${lastLink()}`);
  const invitation = { email: "bob@example.com", role: "MEMBER" };
  const invitations = `/api/portal/organizations/${organizationId}/invitations`;
  assert.equal((await test.send(invitations, { cookie: ada.cookie, json: invitation })).status, 201);
  await deliver();
  await test.send(`/invitations/accept?token=${lastLink()}`);
  const usage = { productSlug: "p", metric: "m", quantity: 1 };
  for (const apiKey of [fullKey, hide(`${fullKey.slice(0, -6)}000000`, "invalid key"), fullToken]) {
    await test.send("/api/v1/usage", { apiKey, json: usage });
    await test.send(`/api/v1/usage?api_key=${apiKey}`, { headers: { "x-api-key": apiKey } });
    await test.send("/api/operator/organizations", { apiKey });
    await test.send("/api/forward-auth", { apiKey, headers: { "x-forwarded-uri": `/x?key=${apiKey}` } });
  }
  await test.send("/api/auth/sign-in", { json: { email, password: testPassword } });
  for (const error of [new DatabaseError("unavailable", "down"), new Error("broken")]) {
    Object.assign(faults, { database: /./, error });
    for (const path of ["/api/auth/sign-in", "/sign-in"]) {
      const body = { email, password: testPassword };
      await test.send(path, path === "/sign-in" ? { form: body } : { json: body });
    }
    await test.send("/api/portal/api-keys", { cookie: ada.cookie, json: { name: "Key" } });
    await test.send(`/api/auth/password/reset`, { json: { token: lastLink(), password: testPassword } });
  }
  faults.database = undefined;
  assert.ok(test.logged().split("\n").length > 20 && session !== "");
  return organizationId;
}

/** Emails that are dropped, rejected and postponed. */
async function failMails({ test, faults, deliver }: Scene): Promise<void> {
  const kinds = ["server", "later", "rejected"] as const;
  for (const kind of kinds) {
    const { email } = await test.signUp();
    faults.mail = new MailError(kind, "DATA: 451");
    await deliver();
    faults.mail = undefined;
    await test.opened.database.write([sql`UPDATE users SET email_verified_at = 1 WHERE email = ${email}`]);
    test.advance(Math.min(...Object.values(linkLifetimesMs)));
    await deliver();
  }
}

/** Deliveries that arrive, fail, disable their endpoint, and whose result or secret is lost. */
async function sendWebhooks({ test, faults, hide }: Scene, organizationId: string): Promise<void> {
  await withReceiver(async (receiver) => {
    const url = hide(`${receiver.url}-canary?key=hook-key-canary`, "webhook's URL");
    hide("hook-key-canary", "webhook's URL");
    hide("/hook-canary", "webhook's URL");
    const { id, secret } = await addEndpoint(test, { organizationId, url });
    hide(secret, "webhook's secret");
    hide(secret.slice("whsec_".length), "webhook's secret");
    const deliver = async (status: number) => {
      receiver.respond(() => new Response(null, { status }));
      await addEvents(test, organizationId);
      await test.parts.webhooks.deliverDue();
    };
    for (const status of [204, 500]) await deliver(status);
    Object.assign(faults, { database: /INSERT INTO webhook_attempts/, error: new Error("broken") });
    await deliver(204);
    faults.database = undefined;
    for (const { headers } of receiver.received) hide(headers.get("webhook-signature") ?? "", "signature");
    await deliver(410);
    await test.opened.database.write([sql`UPDATE webhooks SET disabled_at = NULL, secret = 'v1-0:AAAA'`]);
    await deliver(204);
    assert.equal((await test.opened.database.read(sql`SELECT 1 FROM webhooks WHERE id = ${id}`)).length, 1);
  });
}

/** Visits to a provider that succeed and fail. */
async function visitProvider({ test, hide }: Scene): Promise<void> {
  await using issuer = startIssuer({ person: { sub: "eve", email: "eve@example.com" } });
  await addProvider(test, issuer);
  hide(issuer.clientSecret, "provider's secret");
  const tokens: string[] = [];
  const keeps = async (honest: () => Promise<Response>) => {
    const body = await (await honest()).json();
    tokens.push(body.access_token, body.id_token);
    return Response.json(body);
  };
  const lies = [
    {},
    { claims: { nonce: "other" } },
    { signature: "broken" as const },
    { tokens: { token_type: "mac" } },
    { callback: { iss: "https://other.example" } },
    { callback: { error: "access_denied" } },
  ];
  for (const lie of lies) {
    issuer.lies = { ...lie, respond: { token: keeps } };
    const visitor = newVisitor(test);
    const callback = await visitor.untilCallback("peer");
    for (const name of ["code", "state"]) hide(callback.searchParams.get(name) ?? "", name);
    hide(issuer.asked.get("nonce") ?? "", "nonce");
    hide(/provider_visit=([\w-]{43})/.exec(await visitor.cookie())?.[1] ?? "", "visit");
    await visitor.open(callback);
  }
  for (const token of tokens) hide(token, "provider's token");
}

Deno.test("no line of the debug log has a token, a secret, a password or a webhook's address", async () => {
  const scene = await startScene();
  const { test, secrets } = scene;
  try {
    const organizationId = await sendRequests(scene);
    await failMails(scene);
    await sendWebhooks(scene, organizationId);
    await visitProvider(scene);
    const logged = test.logged();
    for (const line of lines) assert.ok(logged.includes(line), `not logged: ${line}`);
    assert.ok(secrets.size > 40, `${secrets.size}`);
    for (const [secret, name] of secrets) {
      for (const form of [secret, encodeURIComponent(secret), btoa(secret)]) {
        const line = logged.split("\n").find((line) => line.includes(form));
        assert.equal(line, undefined, `logged: ${name}`);
      }
    }
    // Such as that of a link which is never sent.
    const token = logged.split("\n").find((line) => /(?<![\w-])[\w-]{43}(?![\w-])/.test(line));
    assert.equal(token, undefined, "logged: a token");
  } finally {
    await test.dispose();
  }
});
