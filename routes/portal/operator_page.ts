// What all pages of the operator console share: who may open them, and the frame around them.
import type { OperatorActor, SessionActor } from "../../domain/access/actor.ts";
import { notFoundError } from "../../domain/errors.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { wholeText } from "../../domain/search.ts";
import { hasOperatorSignIn, requireOperatorAccount } from "../../services/access/mod.ts";
import { getTwoStepStatus, listPasskeys } from "../../services/people/mod.ts";
import type { PortalFrame } from "../../views/layout.tsx";
import { type OperatorPlace, operatorPlaceLink } from "../../views/components/operator_side.tsx";
import { secondFactorPage } from "../../views/console/second_factor.tsx";
import type { App, AppContext } from "../env.ts";
import { findSession, sessionActor } from "../session.ts";
import type { Pages } from "./noun_pages.ts";
import { presented } from "./presented.ts";
import {
  askToReauthenticate,
  portalFrame,
  type PortalParts,
  type PortalRoutes,
  reauthenticationIfNeeded,
  sendPage,
  toSignIn,
} from "./page.ts";

export const operatorHome = "/operator";

export type ConsoleActor = OperatorActor & {
  readonly credential: { readonly kind: "account"; readonly session: SessionActor };
};

type ConsoleHandler = (c: AppContext, actor: ConsoleActor) => Response | Promise<Response>;

/**
 * Mounts pages of the console. For everyone else, signed out or not, they don't exist. Operators without a recent second factor
 * confirm who they are, or set one up. Forms also require a recent authentication, and have the path of their page.
 */
export function operatorPages(app: App, parts: PortalParts): PortalRoutes<ConsoleActor> {
  return {
    get: (path, handler) => void app.get(path, (c) => asOperator(c, parts, handler)),
    post: (path, handler) =>
      void app.post(path, (c) => asOperator(c, parts, withRecentAuthentication(parts, handler))),
  };
}

/** Mounts pages whose only purpose is a form: they ask for a recent authentication before it is filled in. */
export function operatorForms(app: App, parts: PortalParts): PortalRoutes<ConsoleActor> {
  const { get, post } = operatorPages(app, parts);
  return { get: (path, handler) => get(path, withRecentAuthentication(parts, handler)), post };
}

export function operatorFrame(parts: PortalParts, { credential }: ConsoleActor): PortalFrame {
  return { ...portalFrame(parts, credential.session), isConsole: true };
}

/** Mounts the pages about a noun in the console. @param place Its entry in the sidebar. */
export function consolePages(app: App, parts: PortalParts, place: OperatorPlace): Pages<ConsoleActor> {
  return {
    ...operatorPages(app, parts),
    forms: operatorForms(app, parts),
    frameOf: (actor) => operatorFrame(parts, actor),
    place,
    backOf: () => operatorPlaceLink(place),
  };
}

/** Returns the search in the address of a list; "" for none. */
export function searchOf(c: AppContext): string {
  return wholeText((c.req.query("search") ?? "").slice(0, searchCharactersMax)).trim();
}

/** Returns the choice in the address, if it is one of these. */
export function choiceOf<T extends string>(
  c: AppContext,
  name: string,
  choices: readonly T[],
): T | undefined {
  return choices.find((one) => one === c.req.query(name));
}

/**
 * Returns the choice in the address of a list, null for the default. An unknown choice is ignored, and added to the problems.
 *
 * @param options `shown`: the choice that the page shows instead of an unknown one.
 */
export function listChoice<T extends string>(
  c: AppContext,
  name: string,
  { choices, shown, problems }: { choices: readonly T[]; shown: string; problems: string[] },
): T | null {
  const given = c.req.query(name);
  if (!given) return null;
  const choice = choices.find((one) => one === given);
  if (choice === undefined) problems.push(unknownChoice(name, { given, shown }));
  return choice ?? null;
}

const unknownCharactersMax = 64;

/** Says that a choice in the address is ignored: `Unknown plan “x”; showing all.` */
export function unknownChoice(name: string, { given, shown }: { given: string; shown: string }): string {
  const text = given.length > unknownCharactersMax ? `${given.slice(0, unknownCharactersMax)}…` : given;
  return `Unknown ${name} “${text}”; ${shown}.`;
}

async function asOperator(c: AppContext, parts: PortalParts, handler: ConsoleHandler): Promise<Response> {
  const found = await findSession(c, parts);
  if (found === null) return toSignIn(c, parts);
  if (!found.isOperator) throw notFoundError();
  const { services } = parts;
  const session = sessionActor(c, found);
  const now = services.clock();
  if (hasOperatorSignIn(session, now)) {
    const credential = { kind: "account", session } as const;
    const actor = { ...requireOperatorAccount(session, now), credential };
    return await presented(c, parts, { session, timezone: "UTC", run: () => handler(c, actor) });
  }
  const [{ totp }, passkeys] = await Promise.all([
    getTwoStepStatus(services, session),
    listPasskeys(services, session),
  ]);
  if (!totp.enabled && passkeys.length === 0) {
    return await sendPage(c, secondFactorPage({ frame: portalFrame(parts, session) }), 403);
  }
  const { pathname, search } = new URL(c.req.url);
  return askToReauthenticate(c, c.req.method === "GET" ? pathname + search : pathname, { again: true });
}

function withRecentAuthentication(parts: PortalParts, handler: ConsoleHandler): ConsoleHandler {
  return (c, actor) => reauthenticationIfNeeded(c, parts, actor.credential.session) ?? handler(c, actor);
}
