// The address that opens a portal session, and the pages that only portal sessions have.
import { catalogueOf } from "../../../domain/meter/catalogue.ts";
import { embedEnterHref, parseEmbedLook, portalPagePaths } from "../../../domain/keys/portal_session.ts";
import { readLimits, readUsage, sumUsage } from "../../../services/meter/mod.ts";
import { readPlan } from "../../../services/people/mod.ts";
import { openPortalSession } from "../../../services/keys/mod.ts";
import { deadPage, enterPage, limitsPage } from "../../../views/embed.tsx";
import { sendCsv, usageFile } from "../../api/job_bytes.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { queryOf } from "../../api/endpoint.ts";
import { usageQuerySchema } from "../../meter/schemas/usage.ts";
import { inTime } from "../in_time.ts";
import { nearestFirst } from "../../meter/usage_pages.ts";
import { type PortalParts, redirect, sendPage, withoutReferrer } from "../page.ts";
import { embeddedPages } from "./pages.ts";
import { baseOf, embedPath, readPortalSession, sessionOver, setPortalSessionCookie } from "./session.ts";

/** Mounts the address that opens a session, and the pages that no one else has. */
export function embedRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  app.get(
    embedEnterHref,
    withoutReferrer(async (c) => {
      const given = {
        token: c.req.query("token"),
        theme: c.req.query("theme"),
        ground: c.req.query("ground"),
      };
      if (isOpenedByPerson(c)) return await enter(c, parts, given);
      return await sendPage(c, enterPage({ assets: parts.assets, given }));
    }),
  );
  app.post(
    embedEnterHref,
    withoutReferrer(async (c) => await enter(c, parts, await readFormBody(c))),
  );
  app.get(embedPath, async (c) => {
    const found = await readPortalSession(c, parts);
    const [first] = found?.pages ?? [];
    return found === null || first === undefined
      ? await sessionOver(c, parts)
      : redirect(c, baseOf(found.id) + portalPagePaths[first]);
  });

  const { get } = embeddedPages(app, parts);
  get(portalPagePaths.limits, async (c, { access, frame }) => {
    const { signal } = c.req.raw;
    const [limits, catalogue, { plan }] = await Promise.all([
      inTime((signal) => readLimits(services, access, { signal })),
      inTime(() => readUsage(services, access, { job: "findCatalogue", query: {}, signal })),
      readPlan(services, access),
    ]);
    const page = limitsPage({
      frame,
      limits: limits && nearestFirst(limits),
      plan: plan.name,
      catalogue: catalogue ?? catalogueOf({ products: [], used: [] }),
    });
    return await sendPage(c, page);
  });
  get(`${portalPagePaths.usage}/sums.csv`, async (c, { access }) => {
    const query = check(usageQuerySchema, queryOf(c), "query");
    const sums = await sumUsage(services, access, { query, format: "csv", signal: c.req.raw.signal });
    return sendCsv(c, sums, usageFile(query, services.clock()));
  });
}

/** True for a frame or a tab that someone looks at: not for link scanners, previews and pages that are loaded ahead of a click. */
function isOpenedByPerson(c: AppContext): boolean {
  const headers = c.get("headers");
  return c.req.method === "GET" && headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-purpose"] === undefined &&
    ["document", "iframe"].includes(headers["sec-fetch-dest"] ?? "");
}

/** The address may say how the pages look, as only the page around them knows. */
async function enter(
  c: AppContext,
  parts: PortalParts,
  { token = "", theme, ground }: Partial<Record<string, string | undefined>>,
): Promise<Response> {
  const opened = await openPortalSession(parts.services, c.get("client"), token);
  if (opened === null) {
    const page = deadPage({
      assets: parts.assets,
      title: "This address no longer works",
      text: "It works once, for five minutes. Go back to where you came from, and open this page again.",
    });
    return await sendPage(c, page, 404);
  }
  setPortalSessionCookie(c, parts.config, { ...opened, look: parseEmbedLook(`${theme} ${ground}`) });
  // The address with the token is not the page's own, so nothing can send it on.
  return redirect(c, baseOf(opened.id));
}
