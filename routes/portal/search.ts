// The search of the portal and of the console. static/palette.js shows the results of the same pages.
import { searchCharactersMax } from "../../domain/limits.ts";
import { type Found, searchTextOf } from "../../domain/search.ts";
import { activeAccess } from "../../services/access/mod.ts";
import { searchAsMember, searchAsOperator } from "../../services/console/mod.ts";
import { portalSearch } from "../../views/components/side.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { consoleSearch } from "../../views/components/operator_side.tsx";
import { searchPage } from "../../views/console/search.tsx";
import type { App, AppContext } from "../env.ts";
import { inTime } from "./in_time.ts";
import { operatorFrame, operatorPages } from "./operator/page.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "./page.ts";

interface SearchInput {
  readonly text: string;
  readonly signal: AbortSignal;
}

const nothing: Found = { organizations: [], apiKeys: [], users: [] };

export function searchRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  signedInRoutes(app, parts).get(portalSearch.href, (c, actor) => {
    const frame = portalFrame(parts, actor);
    return showResults(
      c,
      frame,
      async (input) =>
        actor.organization === null ? nothing : await searchAsMember(services, activeAccess(actor), input),
    );
  });
  operatorPages(app, parts).get(
    consoleSearch.href,
    (c, actor) =>
      showResults(c, operatorFrame(parts, actor), (input) => searchAsOperator(services, actor, input)),
  );
}

async function showResults(
  c: AppContext,
  frame: PortalFrame,
  find: (input: SearchInput) => Promise<Found>,
): Promise<Response> {
  const typed = c.req.query("q") ?? "";
  const text = searchTextOf(typed.slice(0, searchCharactersMax));
  // The address of the page must not have the rest of a key.
  if (text !== typed) return redirect(c, `${c.req.path}?q=${encodeURIComponent(text)}`);
  const found = text === "" ? nothing : await inTime((signal) => find({ text, signal }));
  return await sendPage(c, searchPage({ frame, text, found }));
}
