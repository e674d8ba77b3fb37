// The pages of the user's own account: the name, the email address, and deleting the account.
import type { SessionActor } from "../../../domain/actor.ts";
import { validationError } from "../../../domain/errors.ts";
import { canonicalEmail } from "../../../domain/mail/email.ts";
import { portalReturnTo } from "../../../domain/sign_in/return_to.ts";
import {
  changeEmailChoices,
  deleteAccount,
  getEmailChoices,
  previewAccountDeletion,
  renameUser,
} from "../../../services/account/account.ts";
import {
  findPendingEmailChange,
  requestEmailChange,
  requestEmailVerification,
} from "../../../services/account/email_addresses.ts";
import { accountPage, changeEmailPage, deleteAccountPage } from "../../../views/account/account.tsx";
import { readFormBody } from "../../body.ts";
import { clearSessionCookies } from "../../cookies.ts";
import type { App, AppContext } from "../../env.ts";
import { check } from "../../schemas/check.ts";
import { userNameSchema } from "../../schemas/people.ts";
import { type FormError, formError } from "../errors.ts";
import { flashOf, mountForm } from "../form.ts";
import {
  portalFrame,
  type PortalParts,
  redirect,
  sendPage,
  sensitiveRoutes,
  signedInRoutes,
} from "../page.ts";

const path = "/portal/account";
const flashes = {
  "renamed": "Name saved.",
  "emails-on": "You'll get emails about limits.",
  "emails-off": "You won't get emails about limits.",
  "mail-sent": "Email sent. Earlier links no longer work.",
  "asked": "We sent a link to your new email address.",
  "confirmed": "Your email address is confirmed.",
  "changed": "Your email address has been changed. Sign in with it from now on.",
};

export function portalAccountRoutes(app: App, parts: PortalParts): void {
  const { get, post } = signedInRoutes(app, parts);
  const { config, services } = parts;

  async function show(
    c: AppContext,
    session: SessionActor,
    { name = session.user.name, rejected, unsent }: {
      name?: string;
      rejected?: FormError;
      unsent?: FormError;
    } = {},
  ): Promise<Response> {
    const [pendingEmail, emails, { ownerless }] = await Promise.all([
      findPendingEmailChange(services, session),
      getEmailChoices(services, session),
      previewAccountDeletion(services, session),
    ]);
    const view = accountPage({
      frame: portalFrame(parts, session),
      name,
      rejected,
      mailError: unsent?.message ?? null,
      pendingEmail,
      emails,
      ownerless,
      flash: flashOf(c, flashes),
    });
    return sendPage(c, view, (rejected ?? unsent)?.status);
  }

  get(path, (c, session) => show(c, session));
  // Reloading the page of a rejected form shows the form.
  for (const form of ["name", "verification"]) app.get(`${path}/${form}`, (c) => redirect(c, path));

  post(`${path}/name`, async (c, session) => {
    const { name = "" } = await readFormBody(c);
    try {
      await renameUser(services, session, check(userNameSchema, { name }, "body").name);
      return redirect(c, `${path}?done=renamed`);
    } catch (error) {
      return await show(c, session, { name, rejected: formError(c, error) });
    }
  });

  post(`${path}/emails`, async (c, session) => {
    const { limits } = await changeEmailChoices(services, session, {
      limits: (await readFormBody(c))["limits"] === "on",
    });
    return redirect(c, `${path}?done=emails-${limits ? "on" : "off"}`);
  });

  post(`${path}/verification`, async (c, session) => {
    const form = await readFormBody(c);
    const target = new URL(portalReturnTo(form["return_to"], config.baseUrl) ?? path, config.baseUrl);
    try {
      if (!session.user.emailVerified) {
        await requestEmailVerification(services, session);
        target.searchParams.set("done", "mail-sent");
      }
      return redirect(c, target.pathname + target.search + target.hash);
    } catch (error) {
      return await show(c, session, { unsent: formError(c, error) });
    }
  });

  emailRoutes(app, parts);
  deleteRoutes(app, parts);
}

function emailRoutes(app: App, parts: PortalParts): void {
  const page = `${path}/email`;
  mountForm(sensitiveRoutes(app, parts), {
    path: page,
    show: (c, session, { input, ...rejected }) => {
      const frame = portalFrame(parts, session);
      return sendPage(
        c,
        changeEmailPage({ frame, value: input?.["email"] ?? "", rejected }),
        rejected.status,
      );
    },
    async submit(c, session, { email = "" }) {
      await requestEmailChange(parts.services, session, email);
      return redirect(c, `${path}?done=asked`);
    },
    reauthenticateFor: () => page,
  });
}

function deleteRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const page = `${path}/delete`;
  mountForm(sensitiveRoutes(app, parts), {
    path: page,
    async show(c, session, { input, ...rejected }) {
      const affected = await previewAccountDeletion(services, session);
      const form = { value: input?.["email"] ?? "", rejected };
      const view = deleteAccountPage({ frame: portalFrame(parts, session), ...affected, ...form });
      return await sendPage(c, view, rejected.status);
    },
    async submit(c, session, { email = "" }) {
      if (canonicalEmail(email) !== session.user.email) {
        throw validationError([{ path: "email", message: "Enter the email address of your account." }]);
      }
      await deleteAccount(services, session);
      clearSessionCookies(c, config);
      return redirect(c, "/sign-in?deleted=1", { frameChanges: true });
    },
    reauthenticateFor: () => page,
  });
}
