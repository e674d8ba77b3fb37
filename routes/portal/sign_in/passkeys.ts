// The pages of a person's own passkeys.
import { validationError } from "../../../domain/errors.ts";
import {
  addPasskey,
  getPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "../../../services/sign_in/passkeys.ts";
import type { RegistrationAnswer } from "../../../services/sign_in/webauthn.ts";
import {
  addPasskeyPage,
  passkeysPage,
  passkeysPath as path,
  removePasskeyPage,
  renamePasskeyPage,
} from "../../../views/sign_in/passkeys.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyNameSchema, passkeyRegistrationSchema } from "../../schemas/two_step.ts";
import type { App, AppContext } from "../../env.ts";
import { flashOf, mountForm } from "../form.ts";
import {
  portalFrame,
  type PortalParts,
  type PortalRoutes,
  redirect,
  sendPage,
  sensitiveRoutes,
  signedInRoutes,
} from "../page.ts";

const flashes = {
  added: "Passkey added. You can sign in with it from now on.",
  renamed: "Passkey renamed.",
  removed: "Passkey removed. It can no longer be used to sign in.",
};

export function portalPasskeyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  signedInRoutes(app, parts).get(path, async (c, session) => {
    const passkeys = await listPasskeys(services, session);
    const frame = portalFrame(parts, session);
    return await sendPage(c, passkeysPage({ frame, passkeys, flash: flashOf(c, flashes) }));
  });

  const routes = sensitiveRoutes(app, parts);
  mountForm(routes, {
    path: `${path}/new`,
    show(c, session, state) {
      const form = { ...state, message: state.fields["response"] ?? state.message };
      return sendPage(c, addPasskeyPage({ frame: portalFrame(parts, session), form }), form.status);
    },
    async submit(c, session, { name: value = "", response }) {
      const { name } = check(passkeyNameSchema, { name: value }, "body");
      await addPasskey(services, session, { name, answer: parseRegistration(response) });
      return redirect(c, `${path}?done=added`);
    },
  });
  onePasskeyRoutes(routes, parts);
}

function onePasskeyRoutes(routes: PortalRoutes, parts: PortalParts): void {
  const { services } = parts;
  const id = (c: AppContext) => c.req.param("id") ?? "";

  mountForm(routes, {
    path: `${path}/:id/rename`,
    async show(c, session, form) {
      const passkey = await getPasskey(services, session, id(c));
      const view = renamePasskeyPage({ frame: portalFrame(parts, session), passkey, form });
      return await sendPage(c, view, form.status);
    },
    async submit(c, session, input) {
      const passkey = await getPasskey(services, session, id(c));
      const { name } = check(passkeyNameSchema, { name: input["name"] ?? "" }, "body");
      await renamePasskey(services, session, { id: passkey.id, name });
      return redirect(c, `${path}?done=renamed`);
    },
  });

  routes.get(`${path}/:id/remove`, async (c, session) => {
    const passkey = await getPasskey(services, session, id(c));
    return await sendPage(c, removePasskeyPage({ frame: portalFrame(parts, session), passkey }));
  });
  routes.post(`${path}/:id/remove`, async (c, session) => {
    await removePasskey(services, session, id(c));
    return redirect(c, `${path}?done=removed`);
  });
}

/** @throws {AppError} `validation_failed` if a browser can't have sent this. */
function parseRegistration(text: string | undefined): RegistrationAnswer {
  try {
    return check(passkeyRegistrationSchema, JSON.parse(text ?? ""), "body");
  } catch {
    const message = "Your browser's response couldn't be read. Try again.";
    throw validationError([{ path: "response", message }]);
  }
}
