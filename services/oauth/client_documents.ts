// Reads metadata documents of clients, and their keys. The copy in the database is used while it is fresh, and by programs always. Each URL
// is asked at most once a minute, also if that fails.
import { hash } from "node:crypto";
import type { JSONWebKeySet } from "jose";
import { findDocument, storeDocument, updateDocumentKeys } from "../../db/oauth/documents.ts";
import { AppError, unavailableError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import {
  documentFreshMs,
  documentHost,
  readClientDocument,
  readPublicKeys,
} from "../../domain/oauth/client_document.ts";
import { issuerFault } from "../../domain/oauth/issuer.ts";
import { documentPlacesOfOneMax } from "../../domain/oauth/oauth_limits.ts";
import { requireAllowed } from "../access/mod.ts";
import type { BaseContext } from "../base_context.ts";
import {
  type ProviderFetch,
  providerFetch,
  type ProviderFetchParts,
  ProviderUnreachableError,
} from "../outbox/mod.ts";
import type { RateLimits } from "../rate_limits.ts";

interface ClientDocumentsParts extends BaseContext, Pick<ProviderFetchParts, "addressGuard"> {
  readonly rateLimits: RateLimits;
}

/** Each thread has one. */
export class ClientDocuments {
  readonly #parts: ClientDocumentsParts;
  readonly #fetch: ProviderFetch;
  readonly #reading = new Map<string, Promise<void>>();

  constructor(parts: ClientDocumentsParts, options: Pick<ProviderFetchParts, "caCerts" | "timeoutMs"> = {}) {
    this.#parts = parts;
    this.#fetch = providerFetch({ ...options, addressGuard: parts.addressGuard }, { isGuarded: true });
  }

  /** Returns the host of a client's document. @throws {AppError} `malformed_request` if it isn't listed, `unavailable` without https. */
  requireHost(clientId: string): string {
    const { baseUrl, oauthClientHosts: hosts } = this.#parts.config;
    const fault = issuerFault(baseUrl);
    if (fault !== null) throw unavailableError(fault);
    const host = documentHost(clientId);
    if (host !== null && (hosts.includes("*") || hosts.includes(host))) return host;
    throw new AppError("malformed_request", "The application that sent you here is unknown or disabled.");
  }

  /**
   * Reads the document of a client for a person who is signed in with a confirmed address, unless its copy is fresh.
   *
   * @throws {AppError} As `requireHost`, and `malformed_request` if it is invalid, `rate_limited`, `unavailable`. The messages name
   *   the host.
   */
  async read(clientId: string, userId: string): Promise<void> {
    const { database, clock, rateLimits } = this.#parts;
    const host = this.requireHost(clientId);
    const stored = await findDocument(database, clientId);
    if (stored !== undefined && stored.freshUntil > clock()) return;
    requireAllowed(rateLimits.documentReads.take(userId));
    const shared = this.#reading.get(clientId);
    const reading = shared ??
      this.#read(clientId, { host, userId }).finally(() => this.#reading.delete(clientId));
    if (shared === undefined) this.#reading.set(clientId, reading);
    await reading;
  }

  async #read(clientId: string, { host, userId }: { host: string; userId: string }): Promise<void> {
    const { database, clock } = this.#parts;
    const { body, headers } = await this.#get(clientId, { host, place: userId });
    const document = readClientDocument(clientId, body);
    if (typeof document === "string") throw invalidError(host, document);
    const now = clock();
    const results = await database.write(storeDocument({
      ...document,
      id: newId("doc", now),
      host,
      contentHash: hash("sha256", JSON.stringify(document)),
      now,
      freshUntil: now + documentFreshMs(headers, now),
    }));
    if (results.at(-1)?.changes !== 1) throw unavailableError("Too many applications are in use.");
  }

  /**
   * Returns the keys of a client's assertions.
   *
   * @param options `again`: read them again, because one is missing. `place`: the address of the program that asks.
   * @throws {AppError} `unavailable`, `malformed_request`.
   */
  async keys(
    clientId: string,
    { again, place }: { again: boolean; place: string },
  ): Promise<JSONWebKeySet | null> {
    const { database } = this.#parts;
    const document = await findDocument(database, clientId);
    if (document === undefined) return null;
    const { keys, keysUri } = document;
    if (keysUri === null || keys !== null && !again) return keys === null ? null : JSON.parse(keys);
    const host = new URL(clientId).host;
    const read = readPublicKeys((await this.#get(keysUri, { host, place })).body);
    if (read === null) throw invalidError(host, "has an invalid jwks_uri");
    await database.write([updateDocumentKeys(clientId, keysUri, read)]);
    return JSON.parse(read);
  }

  /** Sends one request for JSON, unless its URL was asked within a minute. */
  async #get(
    url: string,
    { host, place }: { host: string; place: string },
  ): Promise<{ body: unknown; headers: Headers }> {
    const { documentRequests, documentPlaces } = this.#parts.rateLimits;
    const busyError = () => unavailableError("Too many applications are being read. Try again in a moment.");
    const send = async () => {
      if (!documentRequests.take(url).isAllowed) {
        throw unavailableError(`${host} was asked a moment ago. Try again in a minute.`);
      }
      const response = await this.#fetch(url, { headers: { accept: "application/json" } });
      const type = response.headers.get("content-type") ?? "";
      if (response.status !== 200) throw invalidError(host, `has the status ${response.status}`);
      if (!/^application\/([\w.-]+\+)?json *(;|$)/i.test(type)) throw invalidError(host, "isn't JSON");
      return { body: await response.json(), headers: response.headers };
    };
    const inPlace = () => documentPlaces.during("", send, busyError);
    try {
      return await documentPlaces.during(place, inPlace, busyError, documentPlacesOfOneMax);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (error instanceof SyntaxError) throw invalidError(host, "isn't JSON");
      if (error instanceof ProviderUnreachableError) throw unavailableError(`${host} ${error.message}.`);
      throw error;
    }
  }
}

const invalidError = (host: string, fault: string) =>
  new AppError("malformed_request", `The metadata document of the application at ${host} ${fault}.`);
