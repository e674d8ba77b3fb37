// Simulates an authenticator app and a passkey, including mistakes and forgeries.
import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../../domain/limits.ts";
import { cookieOf, type TestApp, testPassword, type TestPerson } from "../app/app.ts";
// The package that the app uses too.
import { Secret, TOTP } from "otpauth";

/** @returns The authenticator code at a time, in milliseconds since 1970. */
export function codeOf(secret: string, at: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at });
}

/** @returns A code that is wrong for the current and the adjacent time steps. */
export function wrongCode(secret: string, at: number): string {
  const near = [-1, 0, 1].map((step) => codeOf(secret, at + step * totpPeriodMs));
  return ["000000", "111111", "222222", "333333"].find((code) => !near.includes(code)) ?? "";
}

/** A user with two-step sign-in. */
export interface TwoStepPerson extends TestPerson {
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
}

const account = "/api/portal/account";

/** Creates an account with two-step sign-in, and moves the clock so that the next code is unused. */
export async function twoStepPerson(test: TestApp, name?: string): Promise<TwoStepPerson> {
  const person = await test.signUp(name);
  return { ...person, ...await turnOnTwoStep(test, person.cookie) };
}

/** Turns on two-step sign-in, and moves the clock to the next code. */
export async function turnOnTwoStep(
  test: TestApp,
  cookie: string,
): Promise<{ secret: string; recoveryCodes: string[] }> {
  const begun = await test.send(`${account}/two-step/totp`, { method: "POST", cookie });
  assert.equal(begun.status, 200, await begun.clone().text());
  const { secret } = await begun.json();
  const confirmed = await test.send(`${account}/two-step/totp/confirm`, {
    cookie,
    json: { code: codeOf(secret, test.now()) },
  });
  assert.equal(confirmed.status, 200, await confirmed.clone().text());
  const { recoveryCodes } = await confirmed.json();
  test.advance(totpPeriodMs);
  return { secret, recoveryCodes };
}

/** Confirms the password and a code, as sensitive actions require, and moves the clock to the next code. */
export async function reauthenticateWithCode(
  test: TestApp,
  { cookie, secret }: { cookie: string; secret: string },
): Promise<void> {
  const json = { password: testPassword, code: codeOf(secret, test.now()) };
  const response = await test.send(`${account}/proof`, { cookie, json });
  assert.equal(response.status, 204, await response.text());
  test.advance(totpPeriodMs);
}

/** Signs in with the password. @returns The token for the second step. */
export async function firstStep(test: TestApp, email: string): Promise<string> {
  const response = await test.send("/api/auth/sign-in", { json: { email, password: testPassword } });
  assert.equal(response.status, 200, await response.clone().text());
  assert.equal(cookieOf(response), "");
  const body = await response.json();
  assert.equal(body.authenticated, false);
  return body.secondStep.token;
}

/** Sends a code for the second step. */
export function secondStep(
  test: TestApp,
  json: { token: string; code: string },
  peerAddress = "10.7.0.1",
): Promise<Response> {
  return test.send("/api/auth/sign-in/second-step", { json, peerAddress });
}

/** Values to falsify in a passkey's response. */
export interface Forgery {
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** Clears the "user verified" flag. */
  readonly unverified?: boolean;
  readonly counter?: number;
  readonly userHandle?: string | undefined;
  /** Signs with another key. */
  readonly key?: KeyObject;
  readonly credentialId?: string;
}

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();

/** A passkey that responds as an authenticator does. The test sets its counter. */
export class TestPasskey {
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;
  readonly credentialId = base64url(crypto.getRandomValues(new Uint8Array(32)));
  userHandle: string | undefined;
  counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Responds to registration options. */
  register(options: { challenge: string; user: { id: string } }, forgery: Forgery = {}) {
    this.userHandle = options.user.id;
    const id = forgery.credentialId ?? this.credentialId;
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const bytes = (text: string) => Buffer.from(text, "base64url");
    const cose = Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
      bytes(x),
      Buffer.from([0x22, 0x58, 0x20]),
      bytes(y),
    ]);
    const rawId = bytes(id);
    const attested = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from([0, rawId.length]),
      rawId,
      cose,
    ]);
    return {
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: this.#clientData(options.challenge, "webauthn.create", forgery),
        authenticatorData: base64url(this.#authenticatorData(0x40, attested, forgery)),
        transports: ["internal"],
      },
    };
  }

  /** Responds to sign-in options. */
  signIn(options: { challenge: string }, forgery: Forgery = {}) {
    const clientDataJSON = this.#clientData(options.challenge, "webauthn.get", forgery);
    const data = this.#authenticatorData(0, Buffer.alloc(0), forgery);
    const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, "base64url"))]);
    const id = forgery.credentialId ?? this.credentialId;
    return {
      id,
      rawId: id,
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON,
        authenticatorData: base64url(data),
        signature: base64url(sign("sha256", signed, forgery.key ?? this.#keys.privateKey)),
        userHandle: "userHandle" in forgery ? forgery.userHandle : this.userHandle,
      },
    };
  }

  #clientData(challenge: string, type: string, forgery: Forgery): string {
    return base64url(Buffer.from(JSON.stringify({
      type: forgery.type ?? type,
      challenge,
      origin: forgery.origin ?? this.#origin,
      crossOrigin: forgery.crossOrigin ?? false,
    })));
  }

  #authenticatorData(flags: number, attested: Uint8Array, forgery: Forgery): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(forgery.counter ?? this.counter);
    const checked = forgery.unverified ? 0x01 : 0x05;
    const rpId = forgery.rpId ?? new URL(this.#origin).hostname;
    return Buffer.concat([sha256(rpId), Buffer.from([flags | checked]), counter, attested]);
  }
}

/** Adds a passkey to an account. */
export async function addPasskey(test: TestApp, cookie: string, name = "Laptop"): Promise<{
  passkey: TestPasskey;
  id: string;
}> {
  const passkey = new TestPasskey(test.config.baseUrl.origin);
  const response = await test.send(`${account}/passkeys`, {
    cookie,
    json: { name, response: passkey.register(await passkeyOptions(test, cookie)) },
  });
  assert.equal(response.status, 201, await response.clone().text());
  const body = await response.json();
  return { passkey, id: body.passkey.id };
}

/** @returns The options for registering a passkey. */
export async function passkeyOptions(test: TestApp, cookie: string) {
  const response = await test.send(`${account}/passkeys/options`, { method: "POST", cookie });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).options;
}

/** @returns The options for signing in with a passkey. */
export async function signInOptions(test: TestApp, token?: string) {
  const response = await test.send("/api/auth/sign-in/passkey/options", {
    json: token === undefined ? {} : { token },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).options;
}

/** @returns The options for confirming one's identity with a passkey. */
export async function proofOptions(test: TestApp, cookie: string) {
  const response = await test.send(`${account}/proof/passkey/options`, { method: "POST", cookie });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).options;
}
