// Keeps the routes of the API apart from those of the pages. Hono's fast router supports all of the API's paths, but not pages
// such as /portal/members/:id/role next to /portal/members/invite, and one of them would make all requests use the slow one.
import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";

const apiPrefixes = ["/api/", "/oauth/"] as const;
/** Paths of the API that would overlap with others, here `/api/operator/api-keys/:id/rotate`. They are found like pages. */
const overlapping: ReadonlySet<string> = new Set(["/api/operator/api-keys/import"]);

function isInApi(path: string): boolean {
  return apiPrefixes.some((prefix) => path.startsWith(prefix)) && !overlapping.has(path);
}

/** A router for an app with an API under `/api/` and `/oauth/`, whose paths must not overlap: its first request would fail. Pages may overlap. */
export class SplitRouter<T> implements Router<T> {
  readonly name = "SplitRouter";
  readonly #api = new RegExpRouter<T>();
  readonly #pages = new TrieRouter<T>();

  /** `*` stands for every path. */
  add(method: string, path: string, handler: T): void {
    const isApi = isInApi(path);
    if (isApi || path.endsWith("*")) this.#api.add(method, path, handler);
    if (!isApi) this.#pages.add(method, path, handler);
  }

  match(method: string, path: string): Result<T> {
    return isInApi(path) ? this.#api.match(method, path) : this.#pages.match(method, path);
  }
}
