// The pages of a person's own passkeys.
import type { SessionActor } from "../../../domain/access/actor.ts";
import { validationError } from "../../../domain/errors.ts";
import {
  addPasskey,
  getPasskey,
  listPasskeys,
  type RegistrationAnswer,
  removePasskey,
  renamePasskey,
} from "../../../services/people/mod.ts";
import {
  addPasskeyPage,
  passkeysLink,
  passkeysPage,
  removePasskeyPage,
  renamePasskeyPage,
} from "../../../views/people/passkeys.tsx";
import { check } from "../../schemas/check.ts";
import { passkeyNameSchema, passkeyRegistrationSchema } from "../../schemas/two_step.ts";
import type { App, AppContext } from "../../env.ts";
import { flashOf } from "../form.ts";
import { mountFormPage, mountPage, ownPages, paramOf } from "../noun_pages.ts";
import type { PortalParts } from "../page.ts";

const path = passkeysLink.href;
const flashes = {
  added: "Passkey added. You can sign in with it from now on.",
  renamed: "Passkey renamed.",
  removed: "Passkey removed. It can no longer be used to sign in.",
};

export function portalPasskeyRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = ownPages(app, parts, { place: "security", back: passkeysLink });
  const passkeyOf = (c: AppContext, session: SessionActor) => getPasskey(services, session, paramOf(c, "id"));

  mountPage(
    pages,
    path,
    async (c, { frame, actor }) =>
      passkeysPage({ frame, passkeys: await listPasskeys(services, actor), flash: flashOf(c, flashes) }),
  );

  mountFormPage(pages, {
    path: `${path}/new`,
    show: (_c, form) => addPasskeyPage({ ...form, error: form.fields["response"] ?? form.error }),
    async submit(_c, session, { name: value = "", response }) {
      const { name } = check(passkeyNameSchema, { name: value }, "body");
      await addPasskey(services, session, { name, answer: parseRegistration(response) });
      return `${path}?done=added`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/rename`,
    show: async (c, form, session) => renamePasskeyPage(form, await passkeyOf(c, session)),
    async submit(c, session, input) {
      const { id } = await passkeyOf(c, session);
      const { name } = check(passkeyNameSchema, { name: input["name"] ?? "" }, "body");
      await renamePasskey(services, session, { id, name });
      return `${path}?done=renamed`;
    },
  });

  mountFormPage(pages, {
    path: `${path}/:id/remove`,
    show: async (c, form, session) => removePasskeyPage(form, await passkeyOf(c, session)),
    async submit(c, session) {
      await removePasskey(services, session, paramOf(c, "id"));
      return `${path}?done=removed`;
    },
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
