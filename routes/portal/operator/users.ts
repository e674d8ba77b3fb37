// The console's pages of users.
import { validationError } from "../../../domain/errors.ts";
import { consolePageItemsMax } from "../../../domain/limits.ts";
import { sendPasswordReset } from "../../../services/operator/passwords.ts";
import { getUser, listUsers } from "../../../services/operator/user_list.ts";
import { disableUser, enableUser, endSessionsOfUser } from "../../../services/operator/users.ts";
import { confirmUserPage, type UserAction, userPage } from "../../../views/operator/user.tsx";
import { userHref, usersHref } from "../../../views/operator/links.ts";
import { userListPage } from "../../../views/operator/users.tsx";
import type { App, AppContext } from "../../env.ts";
import { flashOf, mountForm } from "../form.ts";
import { type PortalParts, redirect, sendPage } from "../page.ts";
import { deviceNames } from "../sign_in/device_name.ts";
import {
  choiceOf,
  type ConsoleActor,
  operatorForms,
  operatorFrame,
  operatorPages,
  searchOf,
} from "./page.ts";

/** Does what a page asks about. @returns What the user's page says, or a link to show once. */
type Act = (
  actor: ConsoleActor,
  user: { readonly id: string; readonly revokeKeys: boolean },
) => Promise<{ done: string } | { link: { address: string; expiresAt: string } }>;

/** Mounts `/operator/users`. */
export function operatorUserPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const { get } = operatorPages(app, parts);

  get(usersHref, async (c, actor) => {
    const address = {
      search: searchOf(c),
      status: choiceOf(c, "status", ["active", "disabled"]) ?? "",
      cursor: c.req.query("cursor") ?? "",
    } as const;
    const list = await listUsers(services, actor, {
      search: address.search || undefined,
      status: address.status || undefined,
      limit: consolePageItemsMax,
      cursor: address.cursor || undefined,
      signal: c.req.raw.signal,
    });
    return await sendPage(c, userListPage({ frame: operatorFrame(parts, actor), address, ...list }));
  });
  get(
    `${usersHref}/:id`,
    async (c, actor) => showUser(c, parts, { actor, found: await getUser(services, idOf(c)), link: null }),
  );

  const acts: Readonly<Record<UserAction, Act>> = {
    "reset-password": async (actor, user) => {
      const { link } = await sendPasswordReset(services, actor, user);
      return link === null ? { done: "reset" } : { link };
    },
    "sign-out": async (actor, user) => {
      await endSessionsOfUser(services, actor, user);
      return { done: "signed-out" };
    },
    "disable": async (actor, user) => {
      await disableUser(services, actor, user);
      return { done: "disabled" };
    },
    "enable": async (actor, user) => {
      await enableUser(services, actor, user);
      return { done: "enabled" };
    },
  };
  for (const [action, act] of Object.entries(acts)) actionRoutes(app, parts, action as UserAction, act);
}

function actionRoutes(app: App, parts: PortalParts, action: UserAction, act: Act): void {
  mountForm(operatorForms(app, parts), {
    path: `${usersHref}/:id/${action}`,
    async show(c, actor, { input, ...state }) {
      const { user } = await getUser(parts.services, idOf(c));
      const frame = operatorFrame(parts, actor);
      const page = confirmUserPage({ frame, user, action, keys: input?.["keys"] ?? "keep", ...state });
      return await sendPage(c, page, state.status);
    },
    async submit(c, actor, { keys = "keep" }) {
      if (keys !== "keep" && keys !== "revoke") {
        throw validationError([{ path: "keys", message: "Choose what should happen to the keys." }]);
      }
      // Read before: a link that was created is shown in any case.
      const found = await getUser(parts.services, idOf(c));
      const result = await act(actor, { id: idOf(c), revokeKeys: keys === "revoke" });
      return "done" in result
        ? redirect(c, `${userHref(idOf(c))}?done=${result.done}`)
        : await showUser(c, parts, { actor, found, link: result.link });
    },
  });
}

async function showUser(
  c: AppContext,
  parts: PortalParts,
  { actor, found: { user, sessions }, link }: {
    actor: ConsoleActor;
    found: Awaited<ReturnType<typeof getUser>>;
    link: { address: string; expiresAt: string } | null;
  },
): Promise<Response> {
  const devices = await deviceNames(sessions.map(({ userAgent }) => userAgent));
  const page = userPage({
    frame: operatorFrame(parts, actor),
    user,
    sessions: sessions.map((session, index) => ({ ...session, device: devices[index] ?? "" })),
    flash: flashOf(c, {
      "reset": "Email with a link to choose a new password sent.",
      "signed-out": "Signed out everywhere.",
      "disabled": "User disabled. They can't sign in.",
      "enabled": "User enabled. They can sign in again.",
    }),
    link,
  });
  return await sendPage(c, page);
}

function idOf(c: AppContext): string {
  return c.req.param("id") ?? "";
}
