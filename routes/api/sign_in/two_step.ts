// The API of one's own second step: the authenticator app, recovery codes, passkeys. No other origin may call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv, AppParts } from "../../env.ts";
import { byActor } from "../../session.ts";
import { mount } from "../endpoint.ts";
import { currentPasswordSchema, linkTokenSchema } from "../../schemas/people.ts";
import {
  addPasskeySchema,
  passkeyBodySchema,
  passkeyNameSchema,
  passkeyOptionsSchema,
  passkeyParamsSchema,
  passkeysSchema,
  recoveryCodesSchema,
  totpCodeSchema,
  totpSetUpSchema,
  twoStepSchema,
} from "../../schemas/two_step.ts";

const path = "/api/portal/account";
const common = { tag: "Account", security: "session" } as const;
const proof = "With a proof of who you are that is at most ten minutes old.";

/** Mounts `/api/portal/account/two-step` and `/api/portal/account/passkeys`. */
export function twoStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  totpRoutes(app, parts);
  passkeyRoutes(app, parts);
}

function totpRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { twoStep, turnOffLink, passkeys } = parts.services;
  const session = byActor(parts);

  mount(app, {
    ...common,
    method: "get",
    path: `${path}/two-step`,
    operationId: "getTwoStep",
    summary: "How your two-step sign-in stands",
    responses: { 200: { description: "What is on.", schema: twoStepSchema } },
  }, {
    ...session,
    handle: async (c, _input, actor) =>
      c.json({ ...await twoStep.getTwoStep(actor), passkeys: await passkeys.listPasskeys(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/totp`,
    operationId: "beginTotp",
    summary: "Begin to set an authenticator app up",
    description: `${proof} Nothing is on before a code of the app is confirmed.`,
    responses: { 200: { description: "What the app needs.", schema: totpSetUpSchema } },
    errors: ["proof_required", "two_step_state"],
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json(await twoStep.beginTotp(actor)),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/totp/confirm`,
    operationId: "confirmTotp",
    summary: "Turn two-step sign-in on with a code of the app",
    description: proof,
    body: totpCodeSchema,
    responses: { 200: { description: "It is on.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "invalid_code", "two_step_state"],
  }, {
    ...session,
    handle: async (c, { body }, actor) =>
      c.json({ recoveryCodes: await twoStep.confirmTotp(actor, body.code) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/two-step/totp`,
    operationId: "turnOffTotp",
    summary: "Turn two-step sign-in off",
    description:
      `${proof} It has to be younger than two-step sign-in, and took a code or a passkey then. The recovery codes end; ` +
      "passkeys stay.",
    responses: { 204: { description: "It is off." } },
    errors: ["proof_required", "two_step_state"],
  }, {
    ...session,
    async handle(c, _input, actor) {
      await twoStep.turnOffTotp(actor);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/turn-off-link`,
    operationId: "requestTurnOffLink",
    summary: "Ask for a link that turns two-step sign-in off",
    description:
      "For people who lost the device and the recovery codes. The link goes to the account's address and works " +
      "once, for an hour, with a session of the account.",
    body: currentPasswordSchema,
    responses: { 202: { description: "The email is on its way." } },
    errors: ["invalid_credentials", "two_step_state", "rate_limited", "mail_unavailable"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await turnOffLink.requestLink(actor, body.password);
      return c.body(null, 202);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/turn-off`,
    operationId: "turnOffTotpByLink",
    summary: "Turn two-step sign-in off with the mailed link",
    description: "The recovery codes end; passkeys stay.",
    body: linkTokenSchema,
    responses: { 204: { description: "It is off." } },
    errors: ["invalid_token", "wrong_account"],
  }, {
    ...session,
    async handle(c, { body }, actor) {
      await turnOffLink.turnOff(actor, body.token);
      return c.body(null, 204);
    },
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/two-step/recovery-codes`,
    operationId: "replaceRecoveryCodes",
    summary: "Make new recovery codes",
    description: `${proof} The old codes end.`,
    responses: { 200: { description: "The new ones.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "two_step_state"],
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json({ recoveryCodes: await twoStep.replaceRecoveryCodes(actor) }),
  });
}

function passkeyRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { passkeys } = parts.services;
  const session = byActor(parts);

  mount(app, {
    ...common,
    method: "get",
    path: `${path}/passkeys`,
    operationId: "listPasskeys",
    summary: "List your passkeys",
    responses: { 200: { description: "The oldest first.", schema: passkeysSchema } },
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json({ passkeys: await passkeys.listPasskeys(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/passkeys/options`,
    operationId: "beginPasskey",
    summary: "Begin to add a passkey",
    description: `${proof} The challenge is good once, for five minutes.`,
    responses: { 200: { description: "What the browser needs.", schema: passkeyOptionsSchema } },
    errors: ["proof_required", "limit_reached"],
  }, {
    ...session,
    handle: async (c, _input, actor) => c.json({ options: await passkeys.beginPasskey(actor) }),
  });

  mount(app, {
    ...common,
    method: "post",
    path: `${path}/passkeys`,
    operationId: "addPasskey",
    summary: "Add the passkey that the browser made",
    description: proof,
    body: addPasskeySchema,
    responses: { 201: { description: "Added.", schema: passkeyBodySchema } },
    errors: ["proof_required", "limit_reached", "two_step_state"],
  }, {
    ...session,
    async handle(c, { body: { name, response } }, actor) {
      return c.json({ passkey: await passkeys.addPasskey(actor, { name, answer: response }) }, 201);
    },
  });

  mount(app, {
    ...common,
    method: "patch",
    path: `${path}/passkeys/{id}`,
    operationId: "renamePasskey",
    summary: "Rename a passkey",
    description: proof,
    params: passkeyParamsSchema,
    body: passkeyNameSchema,
    responses: { 200: { description: "Renamed.", schema: passkeyBodySchema } },
    errors: ["proof_required"],
  }, {
    ...session,
    handle: async (c, { params: { id }, body: { name } }, actor) =>
      c.json({ passkey: await passkeys.renamePasskey(actor, { id, name }) }),
  });

  mount(app, {
    ...common,
    method: "delete",
    path: `${path}/passkeys/{id}`,
    operationId: "removePasskey",
    summary: "Remove a passkey",
    description: `${proof} It is refused from now on.`,
    params: passkeyParamsSchema,
    responses: { 204: { description: "Removed." } },
    errors: ["proof_required"],
  }, {
    ...session,
    async handle(c, { params: { id } }, actor) {
      await passkeys.removePasskey(actor, id);
      return c.body(null, 204);
    },
  });
}
