// WebFinger for applications, such as Tailscale, that find the provider of a company by its domain.
import { describeAccount } from "../../domain/oauth/webfinger.ts";
import type { App, AppParts } from "../env.ts";

/** Answers every origin, as RFC 7033 asks (section 5). */
export function webfingerRoute(app: App, { config }: AppParts): void {
  const served = { domains: config.openidWebfinger, issuer: config.baseUrl.origin };
  app.get("/.well-known/webfinger", (c) => {
    c.set("responseHeaders", [
      ["access-control-allow-origin", "*"],
      ["cross-origin-resource-policy", "cross-origin"],
    ]);
    const resources = c.req.queries("resource") ?? [];
    const [resource] = resources;
    if (resource === undefined || resources.length > 1) return c.json({ error: "invalid_request" }, 400);
    const found = describeAccount({ resource, rel: c.req.queries("rel") ?? [] }, served);
    if (found === null) return c.json({ error: "not_found" }, 404);
    return c.body(JSON.stringify(found), 200, { "Content-Type": "application/jrd+json" });
  });
}
