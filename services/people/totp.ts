// Codes of authenticator apps (RFC 6238) in the form that every app supports: SHA-1, six digits, 30 seconds.
import { totpPeriodMs, totpStepsMax } from "../../domain/limits.ts";

const form = { algorithm: "SHA1", digits: 6, period: totpPeriodMs / 1000 } as const;
const secretBytes = 20;

/** Returns 160 random bits in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await import("otpauth");
  return new Secret({ size: secretBytes }).base32;
}

/** Returns the URL that an authenticator app reads from a QR code. */
export async function totpUrl(app: { secret: string; issuer: string; email: string }): Promise<string> {
  const { Secret, TOTP } = await import("otpauth");
  return new TOTP({
    ...form,
    issuer: app.issuer,
    label: app.email,
    secret: Secret.fromBase32(app.secret),
  }).toString();
}

/** Returns the time step of a code, at most one away from `now`, or null if it is wrong. */
export async function totpStep({ secret, code }: { secret: string; code: string }, now: number) {
  const { Secret, TOTP } = await import("otpauth");
  const totp = new TOTP({ ...form, secret: Secret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: now, window: totpStepsMax });
  return delta === null ? null : Math.floor(now / totpPeriodMs) + delta;
}
