// Attempts that were refused to somebody who is signed in, for the audit log.
import type { AppError } from "../domain/errors.ts";
import type { DeniedAttempt } from "../services/audit.ts";
import { sessionTokens } from "./cookies.ts";
import type { AppContext, AppParts } from "./env.ts";
import { routePattern } from "./known_routes.ts";

/**
 * Notes a refusal in the background: the answer neither waits for it nor changes with it.
 *
 * @param error What the request is answered with; only `forbidden` and `cross_site` are attempts of that kind.
 */
export function noteDenied(c: AppContext, error: AppError, { services }: AppParts): void {
  const { code } = error;
  if (code !== "forbidden" && code !== "cross_site") return;
  const attempt: DeniedAttempt = {
    method: c.req.method,
    route: routePattern(c),
    path: c.req.path,
    reason: code,
  };
  const actor = c.get("actor");
  if (actor !== undefined) return services.audit.noteDenied(actor, attempt);
  // A key that may not is no person, whosever cookie came along.
  if (code !== "cross_site") return;
  // What comes from another site is refused before anybody asks whose cookie it has.
  const tokens = sessionTokens(c.get("headers")["cookie"]);
  if (tokens.length > 0) services.audit.noteDeniedTokens(tokens, c.get("client"), attempt);
}
