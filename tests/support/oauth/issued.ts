// Clients and resources in the database, and tokens that people get with them from outside.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { hash, randomBytes } from "node:crypto";
import { createResource, type NewResource } from "../../../services/oauth/resources.ts";
import type { TestApp, TestPerson } from "../app/app.ts";
import { commandLineActor } from "../operators/operators.ts";
import { addClient, type ClientOptions, confirmed } from "./scene.ts";

/** A client, with its secret; null for a public one. */
export interface IssuedClient {
  readonly id: string;
  readonly secret: string | null;
}

/** Where the browser returns to. */
export const redirectUri = "https://grafana.example.com/callback";
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** Registers a client that doesn't ask for consent. */
export async function newClient(test: TestApp, options: ClientOptions = {}): Promise<IssuedClient> {
  const client = await addClient(test, { ...options, redirectUris: [redirectUri], consent: false });
  return options.isPublic ? { ...client, secret: null } : client;
}

export function newResource(
  test: TestApp,
  {
    uri = "https://mcp.example.com/mcp",
    clients = "all" as "all" | string[],
    tokenFormat = "opaque" as "opaque" | "jwt",
  } = {},
): Promise<NewResource> {
  const input = { uri, name: "Tools", scopes: ["tools:call", "tools:list"], tokenFormat, clients };
  return createResource(test.services, commandLineActor, input);
}

/** Creates an account whose address is confirmed. */
export const newMember = async (test: TestApp, name?: string): Promise<TestPerson> =>
  await confirmed(test, await test.signUp(name));

export const basic = ({ id, secret }: IssuedClient): Record<string, string> =>
  secret === null ? {} : { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` };

// deno-lint-ignore no-explicit-any -- each test knows what it asked for
export type Issued = any;

/** Sends a form as a program does: without cookies and `Origin`. */
export async function post(
  test: TestApp,
  path: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) {
  const request = new Request(`${test.config.baseUrl.origin}${path}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(form),
  });
  const response = await test.app.fetch(request, { remoteAddr: { hostname: "203.0.113.9" } });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === "" ? {} : JSON.parse(text)) as Issued,
  };
}

/** Gets tokens with a code. @returns The response of the token endpoint. */
export async function issue(
  test: TestApp,
  { person, client, ...more }: {
    person: TestPerson;
    client: IssuedClient;
    scope?: string;
    resource?: string;
  },
): Promise<Issued> {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: "openid profile",
    code_challenge: hash("sha256", verifier, "base64url"),
    code_challenge_method: "S256",
    ...more,
  });
  const response = await test.send(`/oauth/authorize?${query}`, {
    cookie: person.cookie,
    headers: { "sec-fetch-dest": "document" },
  });
  const text = await response.text();
  const code = new URL(response.headers.get("location") ?? "about:blank").searchParams.get("code");
  assert.ok(
    code,
    `${response.status} ${response.headers.get("location")} ${text.slice(0, 2000)} ${test.logged()}`,
  );
  const form = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...(client.secret === null ? { client_id: client.id } : {}),
  };
  const { status, body } = await post(test, "/oauth/token", form, basic(client));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}
