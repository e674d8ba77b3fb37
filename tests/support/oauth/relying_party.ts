// A relying party as the OpenID Foundation's suite has it: starts requests, redeems codes, and checks what an ID token must have.
import assert from "node:assert/strict";
import { createLocalJWKSet, type JWTPayload, jwtVerify } from "jose";
import type { TestApp, TestPerson } from "../app/app.ts";
import { newVisitor, type Visitor } from "../identity_providers/visitor.ts";
import { textOf } from "../portal/markup.ts";
import { type Passed, passPages } from "./pages.ts";
import {
  addClient,
  authorizeAddress,
  type ClientOptions,
  confirmed,
  exchange,
  post,
  redirectUri,
  type TestClient,
} from "./scene.ts";

type Changes = Readonly<Record<string, string | null>>;

/** The suite sends neither PKCE nor more than these parameters, unless a module is about others. */
const plain = { code_challenge: null, code_challenge_method: null, scope: "openid" };

export interface RelyingParty {
  readonly test: TestApp;
  readonly person: TestPerson;
  /** Signed out at first. */
  readonly browser: Visitor;
  readonly client: TestClient;
  /** Sends the person through the authorization endpoint. */
  authorize(changes?: Changes, options?: { stopAt?: string }): Promise<Passed>;
  /** Sends the person through the authorization endpoint, checks the response, and redeems its code. */
  signIn(changes?: Changes): Promise<SignedIn>;
}

export interface SignedIn {
  readonly code: string;
  /** The paths of the forms that the person answered. */
  readonly asked: readonly string[];
  /** The response of the token endpoint. */
  // deno-lint-ignore no-explicit-any -- each test knows what it asked for
  readonly tokens: any;
  readonly claims: JWTPayload;
}

/** Registers a client that needs no PKCE and no consent, and someone whose browser isn't signed in. */
export async function newRelyingParty(test: TestApp, options: ClientOptions = {}): Promise<RelyingParty> {
  const person = await confirmed(test, await test.signUp());
  const browser = newVisitor(test);
  const client = await addClient(test, { consent: false, requirePkce: false, ...options });
  const own = test.config.baseUrl.origin;
  const authorize: RelyingParty["authorize"] = (changes = {}, more = {}) =>
    passPages(browser, authorizeAddress(client, { ...plain, ...changes }), {
      email: person.email,
      test,
      ...more,
    });
  return {
    test,
    person,
    browser,
    client,
    authorize,
    async signIn(changes = {}) {
      const { answer, asked, page } = await authorize(changes);
      assert.ok(answer, textOf(page.html));
      const code = checkedCode(answer, { state: "s1", issuer: own });
      const isPkce = typeof changes["code_challenge"] === "string";
      const { status, body: tokens, headers } = isPkce
        ? await exchange(test, client, code)
        : await redeem(test, client, code);
      assert.equal(status, 200, JSON.stringify(tokens));
      assert.match(headers.get("cache-control") ?? "", /no-store/);
      assert.equal(tokens.token_type.toLowerCase(), "bearer");
      assert.equal(typeof tokens.expires_in, "number");
      const nonce = changes["nonce"] === null ? undefined : "n1";
      const claims = await checkedIdToken(test, tokens.id_token, { client, nonce });
      return { code, asked, tokens, claims };
    },
  };
}

/** Exchanges a code without a verifier. */
export const redeem = (test: TestApp, client: TestClient, code: string) =>
  post(test, "/oauth/token", { grant_type: "authorization_code", code, redirect_uri: redirectUri }, client);

/** Checks a successful authorization response. @returns Its code. */
function checkedCode(answer: URL, { state, issuer }: { state: string; issuer: string }): string {
  assert.equal(answer.href.split("?")[0], redirectUri);
  assert.deepEqual([...answer.searchParams.keys()].sort(), ["code", "iss", "state"]);
  assert.equal(answer.searchParams.get("state"), state);
  assert.equal(answer.searchParams.get("iss"), issuer);
  const code = answer.searchParams.get("code") ?? "";
  assert.ok(code.length >= 22, "less than 128 bits");
  return code;
}

/** Checks an ID token as OpenID Connect Core, section 3.1.3.7, requires. @returns Its claims. */
export async function checkedIdToken(
  test: TestApp,
  idToken: string,
  { client, nonce }: { client: TestClient; nonce: string | undefined },
): Promise<JWTPayload> {
  const jwks = await (await test.app.request(new URL("/oauth/jwks", test.config.baseUrl))).json();
  const { payload, protectedHeader } = await jwtVerify(idToken, createLocalJWKSet(jwks), {
    issuer: test.config.baseUrl.origin,
    audience: client.id,
    algorithms: ["RS256"],
    currentDate: new Date(test.now()),
    requiredClaims: ["sub", "iat", "exp"],
  });
  assert.ok(protectedHeader.kid, "no kid, with several keys");
  assert.equal(payload["nonce"], nonce);
  assert.ok(String(payload.sub).length <= 255);
  assert.equal(payload.aud, client.id, "one audience, so that no azp is needed");
  const auth = Number(payload["auth_time"]);
  assert.ok(Number.isInteger(auth) && auth <= Number(payload.iat));
  return payload;
}
