// The pages of portal sessions. Without one, they are open to no one, also if they are signed in; embed_test.ts opens them with sessions.
import { newId } from "../../../domain/id.ts";
import { embedHref, portalPageOf } from "../../../domain/keys/portal_session.ts";
import { type Entry, everybody, open } from "./entry.ts";
import { portalMeterEntries } from "./portal_meter.ts";
import { webhookPortalEntries } from "./webhooks.ts";

const portalSessionId = newId("pse");
const session = `${embedHref}/:portalSessionId`;
const page: Entry = {
  who: everybody("signIn"),
  attempt: () => ({ params: { portalSessionId } }),
  writes: [],
};

/** Every page by method and path, with the attempts of members. */
export const embedTable: Readonly<Record<string, Entry>> = {
  ...Object.fromEntries(
    Object.entries({ ...portalMeterEntries, ...webhookPortalEntries }).flatMap(([route, { attempt }]) => {
      const [method = "", path = ""] = route.split(" /portal");
      if (portalPageOf(path) === null) return [];
      const withSession: Entry["attempt"] = async (scene) => {
        const attempted = await attempt?.(scene) ?? {};
        return { ...attempted, params: { portalSessionId, ...attempted.params } };
      };
      return [[`${method} ${session}${path}`, { ...page, attempt: withSession }]];
    }),
  ),
  [`GET ${session}`]: page,
  [`GET ${session}/limits`]: page,
  [`GET ${session}/usage/sums.csv`]: page,
  "GET /embed/enter": { who: open },
  "POST /embed/enter": { who: everybody("unknown"), attempt: () => ({ form: { token: "x" } }) },
};
