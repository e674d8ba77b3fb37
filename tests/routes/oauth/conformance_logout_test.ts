// What the modules of the OpenID Foundation's plans for RP-initiated and back-channel logout check of a provider, under their names.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createLocalJWKSet, jwtVerify } from "jose";
import { oauthWork } from "../../../services/oauth/mod.ts";
import { startTestApp } from "../../support/app/app.ts";
import { type Passed, passPages } from "../../support/oauth/pages.ts";
import { newRelyingParty, type RelyingParty, type SignedIn } from "../../support/oauth/relying_party.ts";

const test = await startTestApp();
const own = test.config.baseUrl.origin;
const returnUri = "https://app.example.com/post_logout_redirect";
/** Long, to find out whether it is changed on the way. */
const state = "Ab1-._~".repeat(18);

interface SignedInParty {
  readonly party: RelyingParty;
  readonly signedIn: SignedIn;
  /** Sends the browser to the end session endpoint. @param changes Parameters; null removes one. */
  logOut(changes?: Record<string, string | null>): Promise<Passed>;
}

async function signedInParty(backchannelLogoutUri?: string): Promise<SignedInParty> {
  const party = await newRelyingParty(test, {
    postLogoutRedirectUris: [returnUri],
    ...(backchannelLogoutUri === undefined ? {} : { backchannelLogoutUri }),
  });
  const signedIn = await party.signIn();
  return {
    party,
    signedIn,
    logOut(changes = {}) {
      const all = {
        id_token_hint: signedIn.tokens.id_token,
        post_logout_redirect_uri: returnUri,
        state,
        ...changes,
      };
      const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
      const address = `/oauth/logout?${new URLSearchParams(given)}`;
      return passPages(party.browser, address, { test, email: party.person.email, stopAt: "/sign-in" });
    },
  };
}

/** Asks without a page, as the modules do afterwards. @returns The error, or null if someone is signed in. */
async function silentError({ party }: SignedInParty): Promise<string | null> {
  const { answer } = await party.authorize({ prompt: "none" });
  return answer?.searchParams.get("error") ?? null;
}

async function assertReturned(scene: SignedInParty, { answer }: Passed, expected: Record<string, string>) {
  assert.equal(answer?.href.split("?")[0], returnUri);
  assert.deepEqual(Object.fromEntries(answer?.searchParams ?? []), expected);
  assert.equal(await silentError(scene), "login_required");
}

Deno.test("oidcc-rp-initiated-logout", async () => {
  const scene = await signedInParty();
  const passed = await scene.logOut();
  assert.deepEqual(passed.asked, []);
  await assertReturned(scene, passed, { state });
});

Deno.test("oidcc-rp-initiated-logout-no-state", async () => {
  const scene = await signedInParty();
  await assertReturned(scene, await scene.logOut({ state: null }), {});
});

Deno.test("oidcc-rp-initiated-logout-no-post-logout-redirect-uri", async () => {
  const scene = await signedInParty();
  const { answer, page } = await scene.logOut({ post_logout_redirect_uri: null });
  assert.equal(answer, null);
  assert.match(page.html, /signed out/i);
  assert.equal(await silentError(scene), "login_required");
});

/** Modules after which the person is asked, and then signed out here, without going anywhere. */
const asking: Readonly<Record<string, Record<string, string | null>>> = {
  "oidcc-rp-initiated-logout-no-params": { id_token_hint: null, post_logout_redirect_uri: null, state: null },
  "oidcc-rp-initiated-logout-only-state": { id_token_hint: null, post_logout_redirect_uri: null },
};
for (const [module, changes] of Object.entries(asking)) {
  Deno.test(module, async () => {
    const scene = await signedInParty();
    const { answer, asked, page } = await scene.logOut(changes);
    assert.equal(answer, null);
    assert.deepEqual(asked, ["/sign-out/confirm"]);
    assert.match(page.html, /signed out/i);
    assert.equal(await silentError(scene), "login_required");
  });
}

/** Modules in which the browser must not go to the address. @param hint Of the session. */
const rejected: Readonly<Record<string, (hint: string) => Record<string, string | null>>> = {
  "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri": () => ({
    post_logout_redirect_uri: "https://app.example.com/not_registered",
  }),
  "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri": () => ({
    post_logout_redirect_uri: `${returnUri}?foo=bar`,
  }),
  "oidcc-rp-initiated-logout-modified-id-token-hint": (hint) => ({ id_token_hint: unsigned(hint) }),
  "oidcc-rp-initiated-logout-bad-id-token-hint": () => ({ id_token_hint: "not.a.token" }),
  "oidcc-rp-initiated-logout-no-id-token-hint": () => ({ id_token_hint: null }),
};
for (const [module, changes] of Object.entries(rejected)) {
  Deno.test(module, async () => {
    const scene = await signedInParty();
    const { answer, page } = await scene.logOut(changes(scene.signedIn.tokens.id_token));
    assert.equal(answer, null);
    assert.equal(page.status, 400);
    assert.equal(await silentError(scene), null, "still signed in");
  });
}

/** Returns a token with the same claims and the algorithm "none". */
function unsigned(token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
  return `${header}.${token.split(".")[1]}.`;
}

Deno.test("oidcc-backchannel-rp-initiated-logout", async () => {
  const received: { type: string | null; form: URLSearchParams }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    received.push({
      type: request.headers.get("content-type"),
      form: new URLSearchParams(await request.text()),
    });
    return new Response(null, { status: 200 });
  });
  try {
    const scene = await signedInParty(`http://127.0.0.1:${server.addr.port}/backchannel_logout`);
    await assertReturned(scene, await scene.logOut(), { state });
    await oauthWork(test.services)[0]?.step();
    assert.equal(received.length, 1);
    const [{ type, form } = { type: null, form: new URLSearchParams() }] = received;
    assert.match(type ?? "", /^application\/x-www-form-urlencoded/);
    assert.deepEqual([...form.keys()], ["logout_token"]);
    const jwks = await (await test.app.request(new URL("/oauth/jwks", own))).json();
    const { payload, protectedHeader } = await jwtVerify(
      form.get("logout_token") ?? "",
      createLocalJWKSet(jwks),
      {
        issuer: own,
        audience: scene.party.client.id,
        typ: "logout+jwt",
        currentDate: new Date(test.now()),
        requiredClaims: ["iat", "jti", "exp"],
      },
    );
    assert.equal(protectedHeader.alg, "RS256");
    const { claims } = scene.signedIn;
    assert.deepEqual([payload.sub, payload["sid"]], [claims.sub, claims["sid"]]);
    assert.deepEqual(payload["events"], { "http://schemas.openid.net/event/backchannel-logout": {} });
    assert.equal(payload["nonce"], undefined);
  } finally {
    await server.shutdown();
  }
});
