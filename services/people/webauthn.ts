// The WebAuthn protocol, on top of @simplewebauthn/server, which is loaded on first use. A passkey counts as two factors: the
// authenticator must verify its user each time.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { PasskeyRow } from "../../db/people/passkeys.ts";
import { passkeyTimeoutMs } from "../../domain/limits.ts";

/** This service. Passkeys belong to its host name. */
export interface RelyingParty {
  readonly id: string;
  /** Shown by authenticators. */
  readonly name: string;
  readonly origin: string;
}

/** The fields used here of the browser's answers, as JSON. */
interface Answer<Response = unknown> {
  readonly id: string;
  readonly rawId: string;
  readonly type: "public-key";
  readonly response: Response & { readonly clientDataJSON: string; readonly authenticatorData: string };
}

/** The result of `navigator.credentials.create()`. */
export type RegistrationAnswer = Answer<{ readonly transports?: readonly string[] | undefined }>;

/** The result of `navigator.credentials.get()`. */
export type PasskeyAnswer = Answer<
  { readonly signature: string; readonly userHandle?: string | null | undefined }
>;

/** `PublicKeyCredentialCreationOptions` or `…RequestOptions`, as JSON. */
export type PasskeyOptions = Readonly<Record<string, unknown>>;

/** EdDSA, ES256 and RS256, by their COSE numbers. Today's authenticators support them. */
const algorithms = [-8, -7, -257];
const knownTransports = new Set(["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"]);

export function newChallenge(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns the options for `navigator.credentials.create()`. */
export async function registrationOptions(
  party: RelyingParty,
  { challenge, user, present }: {
    challenge: string;
    user: { id: string; email: string; name: string };
    present: readonly PasskeyRow[];
  },
): Promise<PasskeyOptions> {
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  return {
    ...await generateRegistrationOptions({
      rpName: party.name,
      rpID: party.id,
      userID: new Uint8Array(Buffer.from(user.id)),
      userName: user.email,
      userDisplayName: user.name,
      challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
      timeout: passkeyTimeoutMs,
      // The authenticator's make doesn't matter here.
      attestationType: "none",
      excludeCredentials: present.map(toDescriptor),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      supportedAlgorithmIDs: algorithms,
    }),
  };
}

/** Returns the options for `navigator.credentials.get()`. @param request `allowed`: the passkeys to accept; null for any. */
export async function signInOptions(
  party: RelyingParty,
  { challenge, allowed }: { challenge: string; allowed: readonly PasskeyRow[] | null },
): Promise<PasskeyOptions> {
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  return {
    ...await generateAuthenticationOptions({
      rpID: party.id,
      challenge: new Uint8Array(Buffer.from(challenge, "base64url")),
      timeout: passkeyTimeoutMs,
      userVerification: "required",
      ...(allowed === null ? {} : { allowCredentials: allowed.map(toDescriptor) }),
    }),
  };
}

function toDescriptor({ credentialId, transports }: PasskeyRow) {
  return { id: credentialId, transports: JSON.parse(transports) as string[] };
}

/** Returns the challenge named in an answer, or null if the answer can't be read. */
export function answeredChallenge(response: Answer): string | null {
  const challenge = clientData(response)?.["challenge"];
  return typeof challenge === "string" ? challenge : null;
}

/** True for an answer from a frame. Other sites can't frame our pages, but the library accepts some of these. */
function isFramed(response: Answer): boolean {
  return clientData(response)?.["crossOrigin"] === true;
}

function clientData({ response }: Answer): Record<string, unknown> | null {
  try {
    const data = JSON.parse(Buffer.from(response.clientDataJSON, "base64url").toString()) as unknown;
    return typeof data === "object" ? data as Record<string, unknown> | null : null;
  } catch {
    return null;
  }
}

function credentialOf({ id, rawId, type }: Answer) {
  return { id, rawId, type, clientExtensionResults: {} };
}

function expected({ origin, id }: RelyingParty, challenge: string) {
  return {
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
  } as const;
}

/** Returns the new passkey, or null if anything about the answer is wrong. */
export async function verifyRegistration(
  party: RelyingParty,
  { answer, challenge }: { answer: RegistrationAnswer; challenge: string },
): Promise<Pick<PasskeyRow, "credentialId" | "publicKey" | "counter" | "transports"> | null> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { clientDataJSON, authenticatorData, transports } = answer.response;
  const verified = await nullIfInvalid(() =>
    verifyRegistrationResponse({
      response: {
        ...credentialOf(answer),
        response: { clientDataJSON, attestationObject: withoutAttestation(authenticatorData) },
      },
      ...expected(party, challenge),
      supportedAlgorithmIDs: algorithms,
    })
  );
  const credential = verified?.registrationInfo?.credential;
  if (credential === undefined || credential.id !== answer.id || isFramed(answer)) return null;
  return {
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString("base64url"),
    counter: credential.counter,
    transports: JSON.stringify((transports ?? []).filter((transport) => knownTransports.has(transport))),
  };
}

/** Returns the passkey's counter, or null if anything about the answer is wrong. */
export async function verifySignIn(
  party: RelyingParty,
  { answer, challenge, passkey }: { answer: PasskeyAnswer; challenge: string; passkey: PasskeyRow },
): Promise<number | null> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const { clientDataJSON, authenticatorData, signature } = answer.response;
  const verified = await nullIfInvalid(() =>
    verifyAuthenticationResponse({
      response: {
        ...credentialOf(answer),
        response: { clientDataJSON, authenticatorData, signature },
      },
      ...expected(party, challenge),
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, "base64url")),
        counter: passkey.counter,
      },
    })
  );
  if (verified?.verified !== true || isFramed(answer)) return null;
  return verified.authenticationInfo.newCounter;
}

/** Returns the id of the user that a passkey names, or null if it names none. */
export function userOfHandle(handle: string | null | undefined): string | null {
  return typeof handle === "string" && handle !== "" ? Buffer.from(handle, "base64url").toString() : null;
}

/** Returns null where the library throws: for every invalid or unparsable answer. */
async function nullIfInvalid<T>(verify: () => Promise<T>): Promise<T | null> {
  try {
    return await verify();
  } catch {
    return null;
  }
}

/**
 * Removes the attestation: none was requested, and to check one the library would fetch URLs named in its certificates.
 * Returns the attestation object `{ fmt: "none", attStmt: {}, authData }` in CBOR, in base64url.
 */
function withoutAttestation(authenticatorData: string): string {
  const data = Buffer.from(authenticatorData, "base64url");
  // A map of three; then, for each text, 0x60 plus its length; 0x59 begins bytes with a length of 16 bits.
  const head = Buffer.from("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59", "latin1");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(data.length);
  return Buffer.concat([head, length, data]).toString("base64url");
}
