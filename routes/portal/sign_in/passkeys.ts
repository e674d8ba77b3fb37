// The pages of one's own passkeys.
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SessionActor } from "../../../domain/actor.ts";
import { validationError } from "../../../domain/errors.ts";
import type { RegistrationAnswer } from "../../../services/sign_in/webauthn.ts";
import type { Assets } from "../../../views/layout.tsx";
import {
  passkeysPath as path,
  removePasskeyPage,
  renamePasskeyPage,
} from "../../../views/sign_in/passkey_acts.tsx";
import { addPasskeyPage, passkeysPage } from "../../../views/sign_in/passkeys.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyNameSchema, registrationAnswerSchema } from "../../schemas/two_step.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext, AppParts } from "../../env.ts";
import { formError } from "../errors.ts";
import {
  portalFrame,
  type PortalHandler,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
} from "../page.ts";

const flashes: ReadonlyMap<string, string> = new Map([
  ["added", "The passkey is added. Sign in with it from now on."],
  ["renamed", "The passkey has its new name."],
  ["removed", "The passkey is removed. It no longer signs you in."],
]);

/** Mounts `/portal/account/passkeys`. */
export function portalPasskeyRoutes(app: App, parts: AppParts, assets: Assets): void {
  const { passkeys } = parts.services;
  const frameOf = (session: SessionActor) => portalFrame(parts, assets, session);
  const id = (c: AppContext) => c.req.param("id") ?? "";

  /** A page, or with a form what it does, for people who gave the password a short time ago. */
  function proved(handler: PortalHandler) {
    return signedIn(parts, async (c, session) => {
      // The path of each form is that of its page.
      return reauthenticationIfNeeded(c, parts, session) ?? await handler(c, session);
    });
  }

  app.get(
    path,
    signedIn(parts, async (c, session) =>
      await sendPage(
        c,
        passkeysPage({
          frame: frameOf(session),
          passkeys: await passkeys.listPasskeys(session),
          flash: flashes.get(c.req.query("done") ?? "") ?? null,
        }),
      )),
  );

  function addPage(
    c: AppContext,
    session: SessionActor,
    typed: { value: string; error: string | null; fieldErrors: Record<string, string> },
    status?: ContentfulStatusCode,
  ) {
    return sendPage(c, addPasskeyPage({ frame: frameOf(session), ...typed }), status);
  }

  app.get(
    `${path}/new`,
    proved((c, session) => addPage(c, session, { value: "", error: null, fieldErrors: {} })),
  );

  app.post(
    `${path}/new`,
    proved(async (c, session) => {
      const form = await readFormBody(c);
      const value = form["name"] ?? "";
      try {
        const { name } = check(passkeyNameSchema, { name: value }, "body");
        await passkeys.addPasskey(session, { name, answer: registration(form["response"]) });
        return redirect(c, `${path}?done=added`);
      } catch (error) {
        const { message, fields, status } = formError(c, error);
        const { response, ...fieldErrors } = fields;
        return await addPage(c, session, { value, error: response ?? message, fieldErrors }, status);
      }
    }),
  );

  app.get(
    `${path}/:id/rename`,
    proved(async (c, session) => {
      const passkey = await passkeys.getPasskey(session, id(c));
      const frame = frameOf(session);
      return await sendPage(c, renamePasskeyPage({ frame, passkey, value: passkey.name, fieldErrors: {} }));
    }),
  );

  app.post(
    `${path}/:id/rename`,
    proved(async (c, session) => {
      const value = (await readFormBody(c))["name"] ?? "";
      const passkey = await passkeys.getPasskey(session, id(c));
      try {
        const { name } = check(passkeyNameSchema, { name: value }, "body");
        await passkeys.renamePasskey(session, { id: passkey.id, name });
        return redirect(c, `${path}?done=renamed`);
      } catch (error) {
        const { fields: fieldErrors, status } = formError(c, error);
        const frame = frameOf(session);
        return await sendPage(c, renamePasskeyPage({ frame, passkey, value, fieldErrors }), status);
      }
    }),
  );

  app.get(
    `${path}/:id/remove`,
    proved(async (c, session) => {
      const passkey = await passkeys.getPasskey(session, id(c));
      return await sendPage(c, removePasskeyPage({ frame: frameOf(session), passkey }));
    }),
  );

  app.post(
    `${path}/:id/remove`,
    proved(async (c, session) => {
      await passkeys.removePasskey(session, id(c));
      return redirect(c, `${path}?done=removed`);
    }),
  );
}

/** @throws {AppError} `validation_failed` for what is no answer of a browser. */
function registration(text: string | undefined): RegistrationAnswer {
  try {
    return check(registrationAnswerSchema, JSON.parse(text ?? ""), "body") as RegistrationAnswer;
  } catch {
    throw validationError([{
      path: "response",
      message: "Your browser's answer could not be read. Try again.",
    }]);
  }
}
