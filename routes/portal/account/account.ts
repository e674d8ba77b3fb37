// The pages of one's own account: the name, the address, and deleting it all.
import { z } from "@hono/zod-openapi";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { canonicalEmail } from "../../../domain/mail/email.ts";
import { validationError } from "../../../domain/errors.ts";
import { nameCharactersMax } from "../../../domain/limits.ts";
import { portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import { deleteAccount, previewAccountDeletion, renameUser } from "../../../services/account/account.ts";
import {
  findPendingEmailChange,
  requestEmailChange,
  requestEmailVerification,
} from "../../../services/account/email_addresses.ts";
import { accountPage, changeEmailPage } from "../../../views/account/account.tsx";
import { deleteAccountPage } from "../../../views/account/delete_account.tsx";
import type { Assets } from "../../../views/layout.tsx";
import { check } from "../../schemas/check.ts";
import { nameSchema } from "../../schemas/common.ts";
import { readFormBody } from "../../body.ts";
import { clearSessionCookies } from "../../cookies.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import {
  askToReauthenticate,
  needsReauthentication,
  portalFrame,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
} from "../page.ts";

const path = "/portal/account";
const nameForm = z.strictObject({ name: nameSchema(nameCharactersMax) });
const flashes: ReadonlyMap<string, string> = new Map([
  ["renamed", "That is your name now."],
  ["mail-sent", "The mail is on its way. Only its link works, older ones do not."],
  ["asked", "The link is on its way to the new address."],
  ["confirmed", "Your address is confirmed."],
  ["changed", "Your address is changed. You sign in with it from now on."],
]);

/** What was refused, and what was typed. */
interface Refused {
  readonly name?: string;
  readonly error?: string | null;
  readonly mailError?: string | null;
  readonly fieldErrors?: Record<string, string>;
  readonly status: ContentfulStatusCode;
}

/** Mounts `/portal/account`. */
export function portalAccountRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;

  async function show(c: AppContext, session: SessionActor, refused?: Refused): Promise<Response> {
    const [pendingEmail, { ownerless }] = await Promise.all([
      findPendingEmailChange(services, session),
      previewAccountDeletion(services, session),
    ]);
    const view = accountPage({
      frame: portalFrame(parts, assets, session),
      name: refused?.name ?? session.user.name,
      fieldErrors: refused?.fieldErrors ?? {},
      error: refused?.error ?? null,
      mailError: refused?.mailError ?? null,
      pendingEmail,
      ownerless,
      flash: c.req.method === "GET" ? flashes.get(c.req.query("done") ?? "") ?? null : null,
    });
    return sendPage(c, view, refused?.status);
  }

  app.get(path, signedIn(parts, (c, session) => show(c, session)));
  // Whoever loads the page of a refused form anew gets the form.
  for (const form of ["name", "verification"]) app.get(`${path}/${form}`, (c) => redirect(c, path));

  app.post(
    `${path}/name`,
    signedIn(parts, async (c, session) => {
      const { name: typed = "" } = await readFormBody(c);
      try {
        const { name } = check(nameForm, { name: typed }, "body");
        await renameUser(services, session, name);
        return redirect(c, `${path}?done=renamed`);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        return await show(c, session, { name: typed, error: message, fieldErrors: fields, status });
      }
    }),
  );

  app.post(
    `${path}/verification`,
    signedIn(parts, async (c, session) => {
      const form = await readFormBody(c);
      const target = portalReturnTo(form["return_to"], config.baseUrl) ?? path;
      try {
        if (session.user.emailVerified) return redirect(c, target);
        await requestEmailVerification(services, session);
        return redirect(c, withDone(target, "mail-sent"));
      } catch (error) {
        const { message, status } = formError(c, error);
        return await show(c, session, { mailError: message, status });
      }
    }),
  );

  changeEmailRoutes(app, parts, assets);
  deleteAccountRoutes(app, parts, assets);

  /** @returns A path of ours that says what was done. */
  function withDone(target: string, done: string): string {
    const url = new URL(target, config.baseUrl);
    url.searchParams.set("done", done);
    return url.pathname + url.search + url.hash;
  }
}

function changeEmailRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { services } = parts;
  const page = `${path}/email`;

  app.get(
    page,
    signedIn(parts, (c, session) => {
      const frame = portalFrame(parts, assets, session);
      return reauthenticationIfNeeded(c, parts, session) ??
        sendPage(c, changeEmailPage({ frame, value: "", error: null, fieldErrors: {} }));
    }),
  );

  app.post(
    page,
    signedIn(parts, async (c, session) => {
      const { email = "" } = await readFormBody(c);
      try {
        await requestEmailChange(services, session, email);
        return redirect(c, `${path}?done=asked`);
      } catch (error) {
        if (needsReauthentication(error)) return askToReauthenticate(c, page);
        const { message, fields, status } = formError(c, error);
        const frame = portalFrame(parts, assets, session);
        return sendPage(
          c,
          changeEmailPage({ frame, value: email, error: message, fieldErrors: fields }),
          status,
        );
      }
    }),
  );
}

function deleteAccountRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { config, services } = parts;
  const page = `${path}/delete`;

  async function ask(
    c: AppContext,
    session: SessionActor,
    refused: { value: string; error: string | null; fieldErrors: Record<string, string> } | null,
    status?: ContentfulStatusCode,
  ): Promise<Response> {
    const frame = portalFrame(parts, assets, session);
    const ends = await previewAccountDeletion(services, session);
    return sendPage(
      c,
      deleteAccountPage({ frame, ...ends, ...(refused ?? { value: "", error: null, fieldErrors: {} }) }),
      status,
    );
  }

  app.get(
    page,
    signedIn(
      parts,
      async (c, session) => reauthenticationIfNeeded(c, parts, session) ?? await ask(c, session, null),
    ),
  );

  app.post(
    page,
    signedIn(parts, async (c, session) => {
      const { email = "" } = await readFormBody(c);
      try {
        if (canonicalEmail(email) !== session.user.email) {
          throw validationError([{ path: "email", message: "This is not the address of your account." }]);
        }
        await deleteAccount(services, session);
        clearSessionCookies(c, config);
        return redirect(c, "/sign-in?deleted=1", { frameChanges: true });
      } catch (error) {
        if (needsReauthentication(error)) return askToReauthenticate(c, page);
        const { message, fields, status } = formError(c, error);
        return await ask(c, session, { value: email, error: message, fieldErrors: fields }, status);
      }
    }),
  );
}
