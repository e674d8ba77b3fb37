// Adds denied requests of signed-in users to the audit log.
import type { AppError } from "../domain/errors.ts";
import { noteDenied as noteDeniedActor, noteDeniedTokens } from "../services/access/mod.ts";
import { sessionTokens } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";
import { isEmbedPath } from "../domain/keys/portal_session.ts";
import { routePattern } from "./known_routes.ts";

/** Logs a request denied with `forbidden` or `cross_site` in the background: the response does not wait. */
export function noteDenied(c: AppContext, error: AppError, { services }: AppParts): void {
  const { code: reason } = error;
  if (reason !== "forbidden" && reason !== "cross_site") return;
  const request = { method: c.req.method, route: routePattern(c), path: c.req.path, reason };
  const actor = c.get("actor");
  if (actor !== undefined) return noteDeniedActor(services, actor, request);
  // `forbidden` without an actor is about an API key, which no cookie belongs to.
  if (reason !== "cross_site" || isEmbedPath(c.req.path)) return;
  // Cross-site requests are denied before their session is looked up.
  const tokens = sessionTokens(c.get("headers")["cookie"]);
  if (tokens.length > 0) noteDeniedTokens(services, tokens, { ...request, client: c.get("client") });
}
