// The pages of a person's own passkeys.
import type { SessionActor } from "../../../domain/actor.ts";
import { validationError } from "../../../domain/errors.ts";
import {
  addPasskey,
  getPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "../../../services/sign_in/passkeys.ts";
import type { RegistrationAnswer } from "../../../services/sign_in/webauthn.ts";
import type { PortalFrame } from "../../../views/layout.tsx";
import {
  addPasskeyPage,
  passkeysPage,
  passkeysPath as path,
  removePasskeyPage,
  renamePasskeyPage,
} from "../../../views/sign_in/passkeys.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyNameSchema, passkeyRegistrationSchema } from "../../schemas/two_step.ts";
import { readFormBody } from "../../body.ts";
import type { App, AppContext } from "../../env.ts";
import { type FormError, formError } from "../errors.ts";
import {
  portalFrame,
  type PortalHandler,
  type PortalParts,
  reauthenticationIfNeeded,
  redirect,
  sendPage,
  signedIn,
  signedInRoutes,
} from "../page.ts";

const flashes: ReadonlyMap<string, string> = new Map([
  ["added", "Passkey added. You can sign in with it from now on."],
  ["renamed", "Passkey renamed."],
  ["removed", "Passkey removed. It can no longer be used to sign in."],
]);

/** Mounts `/portal/account/passkeys`. */
export function portalPasskeyRoutes(app: App, parts: PortalParts): void {
  const { get } = signedInRoutes(app, parts);
  const { services } = parts;
  const frameOf = (session: SessionActor) => portalFrame(parts, session);

  get(path, async (c, session) =>
    await sendPage(
      c,
      passkeysPage({
        frame: frameOf(session),
        passkeys: await listPasskeys(services, session),
        flash: flashes.get(c.req.query("done") ?? "") ?? null,
      }),
    ));

  function addPage(
    c: AppContext,
    session: SessionActor,
    props: { value: string; rejected?: FormError },
  ) {
    return sendPage(c, addPasskeyPage({ frame: frameOf(session), ...props }), props.rejected?.status);
  }

  const newPath = `${path}/new`;
  app.get(newPath, recent(parts, (c, session) => addPage(c, session, { value: "" })));

  app.post(
    newPath,
    recent(parts, async (c, session) => {
      const { name: value = "", response: text } = await readFormBody(c);
      try {
        const { name } = check(passkeyNameSchema, { name: value }, "body");
        await addPasskey(services, session, { name, answer: registrationAnswer(text) });
        return redirect(c, `${path}?done=added`);
      } catch (error) {
        const rejected = formError(c, error);
        const message = rejected.fields["response"] ?? rejected.message;
        return await addPage(c, session, { value, rejected: { ...rejected, message } });
      }
    }),
  );
  passkeyPages(app, parts, frameOf);
}

/** The pages that rename and remove one passkey. */
function passkeyPages(
  app: App,
  parts: PortalParts,
  frameOf: (session: SessionActor) => PortalFrame,
): void {
  const { services } = parts;
  const id = (c: AppContext) => c.req.param("id") ?? "";

  app.get(
    `${path}/:id/rename`,
    recent(parts, async (c, session) => {
      const passkey = await getPasskey(services, session, id(c));
      const props = { frame: frameOf(session), passkey, value: passkey.name };
      return await sendPage(c, renamePasskeyPage(props));
    }),
  );

  app.post(
    `${path}/:id/rename`,
    recent(parts, async (c, session) => {
      const { name: value = "" } = await readFormBody(c);
      const passkey = await getPasskey(services, session, id(c));
      try {
        const { name } = check(passkeyNameSchema, { name: value }, "body");
        await renamePasskey(services, session, { id: passkey.id, name });
        return redirect(c, `${path}?done=renamed`);
      } catch (error) {
        const rejected = formError(c, error);
        const view = renamePasskeyPage({ frame: frameOf(session), passkey, value, rejected });
        return await sendPage(c, view, rejected.status);
      }
    }),
  );

  app.get(
    `${path}/:id/remove`,
    recent(parts, async (c, session) => {
      const passkey = await getPasskey(services, session, id(c));
      return await sendPage(c, removePasskeyPage({ frame: frameOf(session), passkey }));
    }),
  );

  app.post(
    `${path}/:id/remove`,
    recent(parts, async (c, session) => {
      await removePasskey(services, session, id(c));
      return redirect(c, `${path}?done=removed`);
    }),
  );
}

/** @returns A handler that asks for the password first, unless it was entered recently. Each form has the path of its page. */
function recent(parts: PortalParts, handler: PortalHandler) {
  return signedIn(
    parts,
    async (c, session) => reauthenticationIfNeeded(c, parts, session) ?? await handler(c, session),
  );
}

/** @throws {AppError} `validation_failed` if a browser can't have sent this. */
function registrationAnswer(text: string | undefined): RegistrationAnswer {
  try {
    return check(passkeyRegistrationSchema, JSON.parse(text ?? ""), "body");
  } catch {
    const message = "Your browser's response couldn't be read. Try again.";
    throw validationError([{ path: "response", message }]);
  }
}
