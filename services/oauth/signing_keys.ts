// The keys that sign ID tokens. `jose` is loaded with the first of them. Each thread reads the keys once a minute.
import type { CryptoKey, JSONWebKeySet, JWTPayload } from "jose";
import {
  deleteOldSigningKeys,
  findSigningKeys,
  insertSigningKey,
  type SigningKeyRow,
} from "../../db/oauth/signing_keys.ts";
import { newId } from "../../domain/id.ts";
import type { IdTokenAlgorithm } from "../../domain/oauth/client.ts";
import {
  keyAheadMs,
  keyKeptMs,
  keysCachedMs,
  keySignsMs,
  signaturesAtOnceMax,
  signaturesWaitingMax,
} from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import type { BaseContext } from "../base_context.ts";
import { type Secrets, SecretsError } from "../secrets.ts";

const algorithms: readonly IdTokenAlgorithm[] = ["RS256", "ES256"];

interface Known {
  readonly rows: readonly SigningKeyRow[];
  readonly readAt: number;
}

export class SigningKeys {
  readonly #base: BaseContext;
  readonly #secrets: Secrets;
  readonly #privateKeys = new Map<string, Promise<CryptoKey>>();
  #known: Promise<Known> | null = null;
  #signing = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(base: BaseContext, { secrets }: { secrets: Secrets }) {
    this.#base = base;
    this.#secrets = secrets;
  }

  /** Returns the public keys, as published. @throws {OAuthError} `temporarily_unavailable`. */
  async publicKeys(): Promise<JSONWebKeySet> {
    const { rows } = await this.#keys();
    return { keys: rows.map(({ publicKey }) => JSON.parse(publicKey)) };
  }

  /**
   * Signs claims.
   *
   * @param header `typ`: of the token, such as `at+jwt`.
   * @throws {OAuthError} `temporarily_unavailable` when too many signatures are waiting, or the key can't be read.
   */
  async sign(claims: JWTPayload, header: { alg: IdTokenAlgorithm; typ: string }): Promise<string> {
    const { rows } = await this.#keys();
    const now = this.#base.clock();
    const own = rows.filter(({ algorithm }) => algorithm === header.alg);
    // The clock of the server that made the first one may be ahead.
    const row = own.find(({ signsFrom }) => signsFrom <= now) ?? own.at(-1);
    if (row === undefined) throw unavailable("There is no signing key");
    const { SignJWT } = await import("jose");
    const key = await this.#privateKey(row);
    return await this.#inTurn(() =>
      new SignJWT(claims).setProtectedHeader({ ...header, kid: row.id }).sign(key)
    );
  }

  /** Returns the claims of an ID token that was signed here, even if it has expired; null for any other text. */
  async verifyIdToken(token: string): Promise<JWTPayload | null> {
    const { createLocalJWKSet, jwtVerify } = await import("jose");
    const issuer = this.#base.config.baseUrl.origin;
    try {
      // Only the signature and the issuer matter.
      const options = { issuer, algorithms: [...algorithms], typ: "JWT", currentDate: new Date(0) };
      return (await jwtVerify(token, createLocalJWKSet(await this.publicKeys()), options)).payload;
    } catch {
      return null;
    }
  }

  /** Generates the next key of each algorithm. @param signsFrom Ignored for first keys, which sign immediately. */
  async nextKeys(signsFrom: number): Promise<SigningKeyRow[]> {
    const { rows } = await this.#keys();
    // The caller writes them.
    this.#known = null;
    return await this.#newKeys(rows, algorithms, signsFrom);
  }

  async #keys(): Promise<Known> {
    const known = await (this.#known ??= this.#read());
    if (this.#base.clock() - known.readAt < keysCachedMs) return known;
    return await (this.#known = this.#read());
  }

  async #read(): Promise<Known> {
    const { database, clock } = this.#base;
    const now = clock();
    try {
      let rows = await findSigningKeys(database);
      const due = algorithms.filter((algorithm) => {
        const newest = rows.find((row) => row.algorithm === algorithm);
        return newest === undefined || newest.signsFrom + keySignsMs - keyAheadMs <= now;
      });
      if (due.length > 0) {
        const keys = await this.#newKeys(rows, due, now + keyAheadMs);
        await database.write([
          ...keys.map((key) => insertSigningKey(key)),
          deleteOldSigningKeys(now - keyKeptMs),
        ]);
        rows = await findSigningKeys(database);
      }
      return { rows, readAt: now };
    } catch (error) {
      this.#known = null;
      throw error;
    }
  }

  /** Other servers generate the same numbers, and only the first key of a number is kept. A first key signs immediately. */
  #newKeys(
    rows: readonly SigningKeyRow[],
    due: readonly IdTokenAlgorithm[],
    signsFrom: number,
  ): Promise<SigningKeyRow[]> {
    const now = this.#base.clock();
    return Promise.all(due.map(async (algorithm) => {
      const newest = rows.find((row) => row.algorithm === algorithm);
      const number = (newest?.number ?? 0) + 1;
      const key = await newKey(algorithm, this.#secrets);
      return { ...key, algorithm, number, createdAt: now, signsFrom: newest === undefined ? now : signsFrom };
    }));
  }

  async #privateKey({ id, algorithm, privateKey }: SigningKeyRow): Promise<CryptoKey> {
    const known = this.#privateKeys.get(id);
    if (known !== undefined) return await known;
    const { importPKCS8 } = await import("jose");
    try {
      const key = importPKCS8(this.#secrets.open(id, privateKey), algorithm);
      this.#privateKeys.set(id, key);
      return await key;
    } catch (error) {
      if (!(error instanceof SecretsError)) throw error;
      throw unavailable("SECRETS_KEY of this server lacks the key that encrypted the signing keys");
    }
  }

  /** Limits how many signatures run in parallel, because each takes a core for milliseconds. */
  async #inTurn<T>(sign: () => Promise<T>): Promise<T> {
    if (this.#signing >= signaturesAtOnceMax) {
      if (this.#waiting.length >= signaturesWaitingMax) throw unavailable("Too many signatures are waiting");
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#signing++;
    try {
      return await sign();
    } finally {
      // The next one takes this place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#signing--;
      else next();
    }
  }
}

async function newKey(algorithm: IdTokenAlgorithm, secrets: Secrets) {
  const { exportJWK, exportPKCS8, generateKeyPair } = await import("jose");
  const id = newId("sig");
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const publicJwk = { ...await exportJWK(publicKey), kid: id, alg: algorithm, use: "sig" };
  return {
    id,
    privateKey: secrets.seal(id, await exportPKCS8(privateKey)),
    publicKey: JSON.stringify(publicJwk),
  };
}

const unavailable = (message: string) => new OAuthError("temporarily_unavailable", message);
