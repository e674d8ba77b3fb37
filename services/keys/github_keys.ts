// The public keys with which GitHub signs its reports of leaked keys (ECDSA with P-256 and SHA-256). They are kept for an hour.
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { Buffer } from "node:buffer";
import { AppError, invalidSignatureError } from "../../domain/errors.ts";
import { githubKeysKeptMs, githubKeysRetryMs, githubKeysUsedMs } from "../../domain/keys/key_limits.ts";
import type { BaseContext } from "../base_context.ts";
import { getJson } from "../outbox/mod.ts";

export class GithubKeys {
  readonly #context: Pick<BaseContext, "config" | "clock">;
  #keys: ReadonlyMap<string, KeyObject> = new Map();
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  constructor(context: Pick<BaseContext, "config" | "clock">) {
    this.#context = context;
  }

  /**
   * Returns the public key with an identifier. Unknown identifiers cause at most one request a minute.
   *
   * @throws {AppError} `invalid_signature` if GitHub doesn't list it; `unavailable` if its list can't be read.
   */
  async find(identifier: string): Promise<KeyObject> {
    const age = () => this.#context.clock() - this.#fetchedAt;
    const mayTry = this.#context.clock() - this.#triedAt >= githubKeysRetryMs;
    const isCurrent = this.#keys.has(identifier) && age() < githubKeysKeptMs;
    if (!isCurrent && (mayTry || this.#fetching !== null)) await this.#fetch();
    if (age() >= githubKeysUsedMs) throw keysUnavailableError();
    const key = this.#keys.get(identifier);
    if (key !== undefined) return key;
    // The list that has the key may be newer than the one that was read.
    throw this.#triedAt > this.#fetchedAt ? keysUnavailableError() : invalidSignatureError();
  }

  /** Reads the list again, and keeps the old one if that fails. Requests that arrive meanwhile share the result. */
  #fetch(): Promise<void> {
    this.#fetching ??= this.#read().catch(() => {}).finally(() => this.#fetching = null);
    return this.#fetching;
  }

  async #read(): Promise<void> {
    const now = this.#triedAt = this.#context.clock();
    const list = await getJson(this.#context.config.githubKeysUrl) as GithubKeyList;
    this.#keys = new Map(
      list.public_keys.map(({ key_identifier, key }) => [key_identifier, createPublicKey(key)]),
    );
    this.#fetchedAt = now;
  }
}

interface GithubKeyList {
  readonly public_keys: readonly { readonly key_identifier: string; readonly key: string }[];
}

/** Checks the signature of a body. @throws {AppError} `invalid_signature`. */
export function requireGithubSignature(key: KeyObject, body: string, signature: string): void {
  const isP256 = key.asymmetricKeyDetails?.namedCurve === "prime256v1";
  if (!isP256 || !verify("sha256", Buffer.from(body), key, Buffer.from(signature, "base64"))) {
    throw invalidSignatureError();
  }
}

function keysUnavailableError(): AppError {
  return new AppError("unavailable", "GitHub's public keys can't be read. Send the report again later.", {
    retryAfterSeconds: githubKeysRetryMs / 1000,
  });
}
