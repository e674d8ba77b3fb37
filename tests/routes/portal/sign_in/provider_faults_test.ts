// Providers that are down, slow, too large or elsewhere: a page says so in time, and other ways to sign in stay usable.
import assert from "node:assert/strict";
import { providerTimeoutMs } from "../../../../domain/people/provider_limits.ts";
import { startTestApp, testPassword } from "../../../support/app/app.ts";
import { giant, never, startIssuer } from "../../../support/identity_providers/issuer.ts";
import { addProvider, assertRejected } from "../../../support/identity_providers/providers.ts";
import { newOrganization } from "../../../support/people/scene.ts";
import { webhookSettings } from "../../../support/webhooks/endpoints.ts";
import { newVisitor } from "../../../support/identity_providers/visitor.ts";

const person = { sub: "ada", email: "ada@example.com", email_verified: true };
const html = () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
const redirect = (location: string) => new Response(null, { status: 302, headers: { location } });
const endpoints = ["discovery", "token", "keys"] as const;

type Fault = (honest: () => Promise<Response>, target: string) => Response | Promise<Response>;

/** Faults of an endpoint. */
const faults: Readonly<Record<string, Fault>> = {
  "never ends": never,
  "has 65 KB": giant,
  "redirects": (_honest, target) => redirect(target),
  "isn't JSON": html,
  "is broken JSON": () => new Response("{", { headers: { "content-type": "application/json" } }),
  "is a list": () => Response.json([]),
  "is null": () => Response.json(null),
  "fails": () => new Response("trouble", { status: 500 }),
  "isn't there": () => new Response(null, { status: 404 }),
};

/** Also tried with an organization's own provider, whose requests take another way. */
const ofCompanyToo: ReadonlySet<string> = new Set(["never ends", "has 65 KB", "redirects"]);
const cases = endpoints.flatMap((endpoint) =>
  Object.entries(faults).flatMap(([fault, respond]) =>
    [false, true].filter((isCompany) => !isCompany || ofCompanyToo.has(fault))
      .map((isCompany) => ({ endpoint, fault, respond, isCompany }))
  )
);

Deno.test("says that a provider is down, slow or broken, while passwords work", async () => {
  assert.equal(providerTimeoutMs, 5_000);
  const test = await startTestApp(webhookSettings, { providerTimeoutMs: 2_000 });
  const { email } = await test.signUp();
  const target = startIssuer({ person });
  const visits = cases.map(async ({ endpoint, fault, respond, isCompany }, index) => {
    const name = `${endpoint} ${fault}, ${isCompany ? "of a company" : "of the service"}`;
    const slug = `p${index}`;
    const issuer = startIssuer({ person });
    const faulty = (honest: () => Promise<Response>) => respond(honest, target.url);
    issuer.lies = { respond: { [endpoint]: faulty } };
    const organizationId = await newOrganization(test, name);
    await addProvider(test, issuer, {
      slug,
      ...(isCompany ? { company: { organizationId, domains: [`${slug}.example`] } } : {}),
    });
    const visited = await newVisitor(test).signInWith(slug);
    await issuer.stop();
    return { name, visited };
  });
  const passwords = newVisitor(test);
  const signedIn = await passwords.open("/sign-in", { form: { email, password: testPassword } });
  assert.equal(signedIn.url.pathname, "/portal");
  for (const { name, visited } of await Promise.all(visits)) {
    const { status, html } = visited;
    assert.ok(status >= 400 && status < 600, `${name}: ${status}`);
    assert.match(html, /href="\/sign-in[?"]|action="\/sign-in[?"]/, name);
    assert.doesNotMatch(html, /127\.0\.0\.1|trouble|\.ts:/, name);
  }
  assert.deepEqual(target.requests, [], "followed a redirect");
  await target.stop();
  // Nothing listens there anymore.
  await addProvider(test, target, { slug: "gone" });
  const gone = newVisitor(test);
  await assertRejected(test, gone, () => gone.signInWith("gone"), { name: "gone" });
  await test.dispose();
});
