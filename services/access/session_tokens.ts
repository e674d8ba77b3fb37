// Session tokens and other secrets that only the client has: 32 random bytes. The database stores their SHA-256.
import { createHmac, hash, randomBytes } from "node:crypto";
import type { Config } from "../../config.ts";
import type { NewSession, SessionBounds } from "../../db/access/sessions.ts";
import type { ClientInfo } from "../../domain/access/actor.ts";
import { newId } from "../../domain/id.ts";

const dayMs = 24 * 3_600_000;
const tokenForm = /^[A-Za-z0-9_-]{43}$/;
const userAgentCharactersMax = 400;

/** Returns 256 random bits in base64url. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns a token that only the owner of another one can have: the same for the same use. */
export function derivedToken(token: string, use: readonly string[]): string {
  return createHmac("sha256", token).update(JSON.stringify(use)).digest("base64url");
}

/** Returns the SHA-256 in hexadecimal: 256 random bits need neither salt nor a slow hash. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** Hashes a token. Returns null for a text that can't be one. */
export function wellFormedHash(token: string): string | null {
  return tokenForm.test(token) ? hashToken(token) : null;
}

/** Hashes the texts that can be tokens. */
export function wellFormedHashes(tokens: readonly string[]): string[] {
  return tokens.map(wellFormedHash).filter((hash) => hash !== null);
}

export function sessionMaxMs({ sessionMaxDays }: Config): number {
  return sessionMaxDays * dayMs;
}

export function sessionIdleMs({ sessionIdleDays }: Config): number {
  return sessionIdleDays * dayMs;
}

export function sessionBounds(config: Config, now: number): SessionBounds {
  return { createdAfter: now - sessionMaxMs(config), seenAfter: now - sessionIdleMs(config), now };
}

export function newSession(
  userId: string,
  { client, now }: { client: ClientInfo; now: number },
): { token: string; row: NewSession } {
  const token = newToken();
  const { address } = client;
  const userAgent = client.userAgent.slice(0, userAgentCharactersMax);
  const replaces = wellFormedHashes(client.sessionTokens ?? []);
  return {
    token,
    row: { id: newId("ses"), tokenHash: hashToken(token), userId, now, address, userAgent, replaces },
  };
}
