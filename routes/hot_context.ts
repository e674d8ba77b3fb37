// The context of a request to a hot route. Hono's creates sixteen functions and a map for each request.
import { getQueryParams } from "hono/utils/url";
import type { AppContext, AppEnv } from "./env.ts";

type Variables = AppEnv["Variables"];

/** Has what handlers read of the request. */
class HotRequest {
  /** @param path As it was sent, which is that of the route. */
  constructor(readonly raw: Request, readonly method: string, readonly path: string) {}

  get url(): string {
    return this.raw.url;
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }

  queries(): Record<string, string[]> {
    return getQueryParams(this.url) as Record<string, string[]>;
  }
}

/** Does what Hono's context does, with those of its members that the hot routes and what is around every handler use. */
class HotContext {
  readonly req: HotRequest;
  readonly env: AppEnv["Bindings"];
  res: Response | undefined;
  // One shape for all requests. Names that most don't have are added when they are set.
  readonly #variables: { [Name in keyof Variables]?: Variables[Name] | undefined } = {
    requestId: undefined,
    deadlines: undefined,
    bodyRooms: undefined,
    client: undefined,
    headers: undefined,
    route: undefined,
    keyRequest: undefined,
    bodyPlace: undefined,
    unfinishedBody: undefined,
    responseHeaders: undefined,
    error: undefined,
  };
  /** Set before there is a response. */
  #headers: Headers | undefined;

  constructor(request: HotRequest, env: AppEnv["Bindings"]) {
    this.req = request;
    this.env = env;
  }

  get<Name extends keyof Variables>(name: Name): Variables[Name] {
    return this.#variables[name] as Variables[Name];
  }

  set<Name extends keyof Variables>(name: Name, value: Variables[Name]): void {
    this.#variables[name] = value;
  }

  header(name: string, value: string, options?: { readonly append?: boolean }): void {
    const headers = this.res?.headers ?? (this.#headers ??= new Headers());
    if (options?.append) headers.append(name, value);
    else headers.set(name, value);
  }

  json(value: unknown, status?: number, headers?: Readonly<Record<string, string>>): Response {
    const response = this.body(JSON.stringify(value), status, { "content-type": "application/json" });
    for (const [name, text] of Object.entries(headers ?? {})) response.headers.set(name, text);
    return response;
  }

  body(text: string | null, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
    if (this.#headers === undefined) return new Response(text, { status, headers });
    for (const [name, value] of Object.entries(headers)) this.#headers.set(name, value);
    return new Response(text, { status, headers: this.#headers });
  }
}

/** @param route The request's method, and the path of its route; an empty pattern if no route matches. */
export function hotContext(
  request: Request,
  { method, path, pattern }: { method: string; path: string; pattern: string },
  env: AppEnv["Bindings"] = {},
): AppContext {
  const c = new HotContext(new HotRequest(request, method, path), env);
  c.set("route", pattern);
  return c as unknown as AppContext;
}
