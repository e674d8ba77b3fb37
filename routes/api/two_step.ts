// The API of one's own second step: the authenticator app, recovery codes, passkeys. No other origin may call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv, AppParts } from "../env.ts";
import { byActor } from "../session.ts";
import { mount } from "./endpoint.ts";
import { idParamsSchema } from "./schemas.ts";
import {
  addPasskeySchema,
  passkeyBodySchema,
  passkeyNameSchema,
  passkeyOptionsSchema,
  passkeysSchema,
  recoveryCodesSchema,
  totpCodeSchema,
  totpSetUpSchema,
  twoStepSchema,
} from "./two_step_schemas.ts";

const path = "/api/portal/account";
const common = { tag: "Account", security: "session" } as const;
const proof = "With a proof of who you are that is at most ten minutes old.";
const errors = ["unauthenticated", "proof_required", "cross_site"] as const;

/** Mounts `/api/portal/account/two-step` and `/api/portal/account/passkeys`. */
export function twoStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  totpRoutes(app, parts);
  passkeyRoutes(app, parts);
}

function totpRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { twoStep, passkeys } = parts.services;
  const session = byActor(parts);

  mount(app, {
    ...common,
    method: "get",
    path: `${path}/two-step`,
    summary: "How your two-step sign-in stands",
    answers: { 200: { description: "What is on.", schema: twoStepSchema } },
    errors: ["unauthenticated"],
  }, {
    ...session,
    answer: async (c, _input, actor) =>
      c.json({ ...await twoStep.getTwoStep(actor), passkeys: await passkeys.listPasskeys(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/totp`,
    summary: "Begin to set an authenticator app up",
    description: `${proof} Nothing is on before a code of the app is confirmed.`,
    answers: { 200: { description: "What the app needs.", schema: totpSetUpSchema } },
    errors: [...errors, "two_step_state"],
  }, {
    ...session,
    answer: async (c, _input, actor) => c.json(await twoStep.beginTotp(actor)),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/totp/confirm`,
    summary: "Turn two-step sign-in on with a code of the app",
    description: proof,
    body: totpCodeSchema,
    answers: { 200: { description: "It is on.", schema: recoveryCodesSchema } },
    errors: ["malformed_request", ...errors, "invalid_code", "two_step_state", "validation_failed"],
  }, {
    ...session,
    answer: async (c, { body }, actor) =>
      c.json({ recoveryCodes: await twoStep.confirmTotp(actor, body.code) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/two-step/totp`,
    summary: "Turn two-step sign-in off",
    description: `${proof} The recovery codes end; passkeys stay.`,
    answers: { 204: { description: "It is off." } },
    errors: [...errors, "two_step_state"],
  }, {
    ...session,
    async answer(c, _input, actor) {
      await twoStep.turnOffTotp(actor);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/recovery-codes`,
    summary: "Make new recovery codes",
    description: `${proof} The old codes end.`,
    answers: { 200: { description: "The new ones.", schema: recoveryCodesSchema } },
    errors: [...errors, "two_step_state"],
  }, {
    ...session,
    answer: async (c, _input, actor) => c.json({ recoveryCodes: await twoStep.replaceRecoveryCodes(actor) }),
  });
}

function passkeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { passkeys } = parts.services;
  const session = byActor(parts);
  const bodyErrors = ["malformed_request", ...errors, "validation_failed"] as const;

  mount(app, {
    ...common,
    method: "get",
    path: `${path}/passkeys`,
    summary: "List your passkeys",
    answers: { 200: { description: "The oldest first.", schema: passkeysSchema } },
    errors: ["unauthenticated"],
  }, {
    ...session,
    answer: async (c, _input, actor) => c.json({ passkeys: await passkeys.listPasskeys(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/passkeys/options`,
    summary: "Begin to add a passkey",
    description: `${proof} The challenge is good once, for five minutes.`,
    answers: { 200: { description: "What the browser needs.", schema: passkeyOptionsSchema } },
    errors: [...errors, "limit_reached"],
  }, {
    ...session,
    answer: async (c, _input, actor) => c.json({ options: await passkeys.beginPasskey(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/passkeys`,
    summary: "Add the passkey that the browser made",
    description: proof,
    body: addPasskeySchema,
    answers: { 201: { description: "Added.", schema: passkeyBodySchema } },
    errors: [...bodyErrors, "limit_reached", "two_step_state"],
  }, {
    ...session,
    async answer(c, { body: { name, response } }, actor) {
      return c.json({ passkey: await passkeys.addPasskey(actor, { name, answer: response }) }, 201);
    },
  });

  mount(app, {
    ...common,
    method: "patch",
    path: `${path}/passkeys/{id}`,
    summary: "Rename a passkey",
    description: proof,
    params: idParamsSchema,
    body: passkeyNameSchema,
    answers: { 200: { description: "Renamed.", schema: passkeyBodySchema } },
    errors: [...bodyErrors, "not_found"],
  }, {
    ...session,
    answer: async (c, { params: { id }, body: { name } }, actor) =>
      c.json({ passkey: await passkeys.renamePasskey(actor, { id, name }) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/passkeys/{id}`,
    summary: "Remove a passkey",
    description: `${proof} It is refused from now on.`,
    params: idParamsSchema,
    answers: { 204: { description: "Removed." } },
    errors: [...errors, "not_found"],
  }, {
    ...session,
    async answer(c, { params: { id } }, actor) {
      await passkeys.removePasskey(actor, id);
      return c.body(null, 204);
    },
  });
}
