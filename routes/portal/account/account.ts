// The pages of the user's own account: the name, the email address, and deleting the account.
import type { SessionActor } from "../../../domain/access/actor.ts";
import { validationError } from "../../../domain/errors.ts";
import { canonicalEmail } from "../../../domain/outbox/email.ts";
import { portalReturnTo } from "../../../domain/people/return_to.ts";
import {
  changeEmailChoices,
  changePreferences,
  deleteAccount,
  findPendingEmailChange,
  getEmailChoices,
  previewAccountDeletion,
  renameUser,
  requestEmailChange,
  requestEmailVerification,
} from "../../../services/people/mod.ts";
import { accountPage, changeEmailPage, deleteAccountPage } from "../../../views/people/account.tsx";
import { readFormBody } from "../../body.ts";
import { clearSessionCookies } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { userNameSchema } from "../../schemas/people.ts";
import { changePreferencesSchema } from "../../schemas/preferences.ts";
import { flashOf, type FormState, mountTarget } from "../form.ts";
import { mountFormPage, ownPages } from "../noun_pages.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../page.ts";

const path = "/portal/account";
const flashes = {
  "renamed": "Name saved.",
  "preferences": "Preferences saved.",
  "limits-on": "You'll get emails about limits.",
  "limits-off": "You won't get emails about limits.",
  "unusedKeys-on": "You'll get emails about unused API keys.",
  "unusedKeys-off": "You won't get emails about unused API keys.",
  "mail-sent": "Email sent. Earlier links no longer work.",
  "asked": "We sent a link to your new email address.",
  "confirmed": "Your email address is confirmed.",
  "changed": "Your email address has been changed. Sign in with it from now on.",
};

export function portalAccountRoutes(app: App, parts: PortalParts): void {
  const routes = signedInRoutes(app, parts);
  const { config, services } = parts;

  async function show(
    c: AppContext,
    session: SessionActor,
    { nameForm, preferencesForm, unsent }: {
      nameForm?: FormState;
      preferencesForm?: FormState;
      unsent?: FormState;
    } = {},
  ): Promise<Response> {
    const [pendingEmail, emails, { ownerless }] = await Promise.all([
      findPendingEmailChange(services, session),
      getEmailChoices(services, session),
      previewAccountDeletion(services, session),
    ]);
    const view = accountPage({
      frame: portalFrame(parts, session),
      nameForm,
      preferencesForm,
      mailError: unsent?.message ?? null,
      pendingEmail,
      emails,
      ownerless,
      flash: flashOf(c, flashes),
    });
    return sendPage(c, view, (nameForm ?? preferencesForm ?? unsent)?.status);
  }

  routes.get(path, (c, session) => show(c, session));
  // Reloading the page of a rejected form shows the form.
  for (const form of ["name", "preferences", "verification"]) {
    app.get(`${path}/${form}`, (c) => redirect(c, path));
  }

  mountTarget(routes, {
    path: `${path}/name`,
    show: (c, session, nameForm) => show(c, session, { nameForm }),
    async submit(c, session, { name = "" }) {
      await renameUser(services, session, check(userNameSchema, { name }, "body").name);
      return redirect(c, `${path}?done=renamed`);
    },
  });

  mountTarget(routes, {
    path: `${path}/preferences`,
    show: (c, session, preferencesForm) => show(c, session, { preferencesForm }),
    async submit(c, session, { timezone = "", locale = "", theme }) {
      const chosen = { timezone: timezone || null, locale: locale || null, theme };
      await changePreferences(services, session, check(changePreferencesSchema, chosen, "body"));
      return redirect(c, `${path}?done=preferences`, { frameChanges: true });
    },
  });

  routes.post(`${path}/emails`, async (c, session) => {
    const fields = await readFormBody(c);
    const name = "unusedKeys" in fields ? "unusedKeys" : "limits";
    const isOn = fields[name] === "on";
    await changeEmailChoices(services, session, { [name]: isOn });
    return redirect(c, `${path}?done=${name}-${isOn ? "on" : "off"}`);
  });

  mountTarget(routes, {
    path: `${path}/verification`,
    show: (c, session, unsent) => show(c, session, { unsent }),
    async submit(c, session, { return_to }) {
      const target = new URL(portalReturnTo(return_to, config.baseUrl) ?? path, config.baseUrl);
      if (!session.user.emailVerified) {
        await requestEmailVerification(services, session);
        target.searchParams.set("done", "mail-sent");
      }
      return redirect(c, target.pathname + target.search + target.hash);
    },
  });

  sensitiveAccountRoutes(app, parts);
}

function sensitiveAccountRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const pages = ownPages(app, parts, { place: "account", back: { href: path, label: "Account" } });
  const emailPath = `${path}/email`;
  mountFormPage(pages, {
    path: emailPath,
    show: (_c, form) => changeEmailPage(form),
    async submit(_c, session, { email = "" }) {
      await requestEmailChange(services, session, email);
      return `${path}?done=asked`;
    },
    reauthenticateFor: () => emailPath,
  });

  const deletePath = `${path}/delete`;
  mountFormPage(pages, {
    path: deletePath,
    show: async (_c, form, session) =>
      deleteAccountPage(form, await previewAccountDeletion(services, session)),
    async submit(c, session, { email = "" }) {
      if (canonicalEmail(email) !== session.user.email) {
        throw validationError([{ path: "email", message: "Enter the email address of your account." }]);
      }
      await deleteAccount(services, session);
      clearSessionCookies(c, config);
      return redirect(c, "/sign-in?deleted=1", { frameChanges: true });
    },
    reauthenticateFor: () => deletePath,
  });
}
