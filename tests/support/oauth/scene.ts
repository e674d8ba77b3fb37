// Applications that sign people in at an app under test, and the visits of their browsers.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { newId } from "../../../domain/id.ts";
import { generateSecretToken, hashSecretToken } from "../../../domain/secret_token.ts";
import type { TestApp, TestPerson } from "../app/app.ts";
import { run } from "../people/scene.ts";

export const redirectUri = "https://app.example.com/callback";

export interface TestClient {
  readonly id: string;
  readonly secret: string;
}

export interface ClientOptions {
  readonly name?: string;
  readonly isPublic?: boolean;
  readonly grants?: readonly string[];
  readonly consent?: boolean;
  readonly access?: { readonly organizationIds: readonly string[]; readonly minRole: string };
  readonly redirectUris?: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly backchannelLogoutUri?: string;
  readonly scopes?: readonly string[];
  readonly defaultResource?: string;
  readonly requirePkce?: boolean;
}

/** Registers a client. */
export async function addClient(test: TestApp, options: ClientOptions = {}): Promise<TestClient> {
  const id = newId("cli");
  const secret = generateSecretToken("service_client_").token;
  const {
    grants = ["authorization_code", "refresh_token"],
    scopes = ["openid", "profile", "email", "groups", "offline_access"],
  } = options;
  await run(
    test,
    `INSERT INTO oauth_clients (id, name, type, secret_hash, grants, redirect_uris, post_logout_redirect_uris,
      backchannel_logout_uri, access, scopes, default_resource, created_at, consent, require_pkce)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
    id,
    options.name ?? "Grafana",
    options.isPublic ? "public" : "confidential",
    options.isPublic ? null : hashSecretToken(secret),
    JSON.stringify(grants),
    JSON.stringify(options.redirectUris ?? [redirectUri]),
    JSON.stringify(options.postLogoutRedirectUris ?? []),
    options.backchannelLogoutUri ?? null,
    options.access === undefined ? null : JSON.stringify(options.access),
    JSON.stringify(scopes),
    options.defaultResource ?? null,
    options.consent === false ? 0 : 1,
    options.requirePkce === false ? 0 : 1,
  );
  return { id, secret };
}

/** Settings that permit clients with metadata documents. */
export const withDocuments = {
  OAUTH_CLIENT_HOSTS: "app.example.com",
  SECRETS_KEY: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
};

/** Inserts a client with a metadata document. @returns The document's id. */
export async function addDocument(test: TestApp, name = "Published tools"): Promise<string> {
  const id = newId("doc");
  const clientId = `https://app.example.com/${id}.json`;
  await run(
    test,
    `INSERT INTO oauth_clients (id, name, type, grants, redirect_uris, post_logout_redirect_uris, scopes, created_at)
      VALUES (?, ?, 'public', '["authorization_code"]', '["https://app.example.com/callback"]', '[]', '["openid"]', ?)`,
    ...[clientId, name, test.now()],
  );
  await run(
    test,
    "INSERT INTO oauth_documents (id, client_id, host, content_hash, read_at, fresh_until) VALUES (?, ?, 'app.example.com', '', 0, 0)",
    ...[id, clientId],
  );
  return id;
}

/** Registers a client that a person lets sign them in. */
export async function addConsent(
  test: TestApp,
  { userId, organizationId }: { userId: string; organizationId: string },
): Promise<void> {
  await run(
    test,
    "INSERT INTO oauth_consents (user_id, client_id, organization_id, resource_id, scopes, created_at) VALUES (?, ?, ?, '', 'openid', ?)",
    ...[userId, (await addClient(test)).id, organizationId, test.now()],
  );
}

/** Registers a resource. */
export async function addResource(
  test: TestApp,
  { uri = "https://mcp.example.com", format = "opaque" } = {},
) {
  const id = newId("res");
  await run(
    test,
    `INSERT INTO oauth_resources (id, uri, compared_uri, name, scopes, token_format, secret_hash, created_at)
      VALUES (?, ?, ?, 'Tools', '["tools:call","tools:list"]', ?, ?, 0)`,
    id,
    uri,
    uri,
    format,
    hashSecretToken(id),
  );
  return id;
}

/** Confirms the email address of a person. */
export async function confirmed(test: TestApp, person: TestPerson): Promise<TestPerson> {
  await run(test, "UPDATE users SET email_verified_at = ? WHERE id = ?", test.now(), person.userId);
  return person;
}

export const verifier = randomBytes(32).toString("base64url");
export const challenge = createHash("sha256").update(verifier).digest("base64url");

/** Returns the address of an authorization request. @param changes Parameters; null removes one. */
export function authorizeAddress(
  client: TestClient,
  changes: Readonly<Record<string, string | null>> = {},
): string {
  const parameters = {
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid profile email groups",
    state: "s1",
    nonce: "n1",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...changes,
  };
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null);
  return `/oauth/authorize?${new URLSearchParams(given)}`;
}

/** Opens an authorization request. @returns The parameters with which it goes back to the application. */
export async function answerOf(
  test: TestApp,
  person: Pick<TestPerson, "cookie"> | null,
  address: string,
): Promise<URLSearchParams> {
  const response = await test.send(address, person === null ? {} : { cookie: person.cookie });
  assert.equal(response.status, 302, await response.text());
  const location = response.headers.get("location") ?? "";
  assert.ok(!location.startsWith("/"), location);
  return new URL(location).searchParams;
}

/** The consent form of a request, with the cookie of its browser. */
export async function consentForm(test: TestApp, person: TestPerson, address: string) {
  const response = await test.send(address, { cookie: person.cookie });
  const html = await response.text();
  assert.equal(response.status, 200, html);
  const hidden = (name: string) =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const [cookie = ""] = response.headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
  const form = {
    request: hidden("request"),
    proof: hidden("proof"),
    organizationId: hidden("organizationId"),
    decision: "allow",
  };
  return { html, form, cookie: `${person.cookie}; ${cookie}` };
}

/** Consents to a request. @returns The parameters with which it goes back. */
export async function consentTo(
  test: TestApp,
  person: TestPerson,
  address: string,
): Promise<URLSearchParams> {
  const { form, cookie } = await consentForm(test, person, address);
  const page = await test.send("/authorize/decision", { form, cookie });
  const html = await page.text();
  const [, href = ""] = /<a[^>]* href="(https?:[^"]+)"/.exec(html) ?? [];
  assert.notEqual(href, "", html);
  return new URL(href.replaceAll("&amp;", "&")).searchParams;
}

/** Sends a form to an endpoint of programs, as a program does: without cookies and origin. */
export async function post(
  test: TestApp,
  path: string,
  form: Readonly<Record<string, string>>,
  client?: TestClient,
) {
  const response = await test.app.request(new URL(path, test.config.baseUrl), {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...(client === undefined ? {} : { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` }),
    },
    body: new URLSearchParams(form).toString(),
  });
  // deno-lint-ignore no-explicit-any -- each test knows what it asked for
  return { status: response.status, body: await response.json() as any, headers: response.headers };
}

/** Exchanges a code. */
export function exchange(
  test: TestApp,
  client: TestClient,
  code: string,
  changes: Readonly<Record<string, string>> = {},
) {
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  return post(test, "/oauth/token", { ...form, ...changes }, client);
}

/** Asks for the claims of a token's person. */
export async function userinfo(test: TestApp, token: string) {
  const response = await test.app.request(new URL("/oauth/userinfo", test.config.baseUrl), {
    headers: { authorization: `Bearer ${token}` },
  });
  // deno-lint-ignore no-explicit-any -- as above
  return { status: response.status, body: await response.json() as any };
}

const dayMs = 86_400_000;

/** Makes the signing keys older, as if time had passed for them alone, until their successors are published, and then sign. */
export async function rotateSigningKeys(test: TestApp): Promise<void> {
  for (const days of [90, 1]) {
    await run(test, "UPDATE oauth_signing_keys SET signs_from = signs_from - ?", days * dayMs);
    // Each thread reads the keys once a minute.
    test.advance(60_000);
    await (await test.app.request(new URL("/oauth/jwks", test.config.baseUrl))).body?.cancel();
  }
}
