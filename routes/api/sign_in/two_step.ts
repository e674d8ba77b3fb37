// The API of a person's own two-step sign-in and passkeys. Other origins can't call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  addPasskey,
  beginPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "../../../services/sign_in/passkeys.ts";
import {
  beginTotp,
  confirmTotp,
  getTwoStepStatus,
  replaceRecoveryCodes,
  requestTurnOffLink,
  turnOffTwoStep,
  turnOffTwoStepByLink,
} from "../../../services/sign_in/two_step.ts";
import { qrCodeSvg } from "../../../views/sign_in/qr_code.ts";
import type { Context } from "../../../services/context.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { type MountSessionRoute, sessionRoutes } from "../session_routes.ts";
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
const recent = "Requires an authentication in the last ten minutes.";

/** Mounts `/api/portal/account/two-step` and `/api/portal/account/passkeys`. */
export function twoStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Account" });
  setUpRoutes(route, parts.services);
  turnOffRoutes(route, parts.services);
  passkeyRoutes(route, parts.services);
}

function setUpRoutes(route: MountSessionRoute, services: Context): void {
  route({
    method: "get",
    path: `${path}/two-step`,
    operationId: "getTwoStep",
    summary: "Get your two-step sign-in settings",
    responses: { 200: { description: "The settings.", schema: twoStepSchema } },
  }, async (c, _input, actor) => {
    const passkeys = await listPasskeys(services, actor);
    return c.json({ ...await getTwoStepStatus(services, actor), passkeys });
  });

  route({
    method: "post",
    path: `${path}/two-step/totp`,
    operationId: "beginTotp",
    summary: "Start setting up an authenticator app",
    description: `${recent} Two-step sign-in stays off until a code of the app is confirmed.`,
    responses: { 200: { description: "The secret for the app.", schema: totpSetUpSchema } },
    errors: ["proof_required", "two_step_state"],
  }, async (c, _input, actor) => {
    const setUp = await beginTotp(services, actor);
    return c.json({ ...setUp, qrCode: qrCodeSvg(setUp.otpauthUrl) });
  });

  route({
    method: "post",
    path: `${path}/two-step/totp/confirm`,
    operationId: "confirmTotp",
    summary: "Turn on two-step sign-in with a code of the app",
    description: recent,
    body: totpCodeSchema,
    responses: { 200: { description: "Turned on.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "invalid_code", "two_step_state"],
  }, async (c, { body }, actor) => c.json({ recoveryCodes: await confirmTotp(services, actor, body.code) }));

  route({
    method: "post",
    path: `${path}/two-step/recovery-codes`,
    operationId: "replaceRecoveryCodes",
    summary: "Create new recovery codes",
    description: `${recent} The new codes replace the old ones.`,
    responses: { 200: { description: "The new codes.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "two_step_state"],
  }, async (c, _input, actor) => c.json({ recoveryCodes: await replaceRecoveryCodes(services, actor) }));
}

function turnOffRoutes(route: MountSessionRoute, services: Context): void {
  const responses = { 204: { description: "Turned off." } };
  const effect = "Deletes the recovery codes. Passkeys stay.";

  route({
    method: "delete",
    path: `${path}/two-step/totp`,
    operationId: "turnOffTotp",
    summary: "Turn off two-step sign-in",
    description: `${recent} It must be after two-step sign-in was turned on. ${effect}`,
    responses,
    errors: ["proof_required", "two_step_state"],
  }, (_c, _input, actor) => turnOffTwoStep(services, actor));

  route({
    method: "post",
    path: `${path}/two-step/turn-off-link`,
    operationId: "requestTurnOffLink",
    summary: "Request a link to turn off two-step sign-in",
    description:
      "For people who lost their device and their recovery codes. The link is emailed to the account's address. It works once, " +
      "for an hour, with a session of the account.",
    body: currentPasswordSchema,
    responses: { 202: { description: "The email is on its way." } },
    errors: ["invalid_credentials", "two_step_state", "rate_limited", "mail_unavailable"],
  }, (_c, { body }, actor) => requestTurnOffLink(services, actor, body.password));

  route({
    method: "post",
    path: `${path}/two-step/turn-off`,
    operationId: "turnOffTotpByLink",
    summary: "Turn off two-step sign-in with an emailed link",
    description: effect,
    body: linkTokenSchema,
    responses,
    errors: ["invalid_token", "wrong_account"],
  }, (_c, { body }, actor) => turnOffTwoStepByLink(services, actor, body.token));
}

function passkeyRoutes(route: MountSessionRoute, services: Context): void {
  route({
    method: "get",
    path: `${path}/passkeys`,
    operationId: "listPasskeys",
    summary: "List your passkeys",
    responses: { 200: { description: "Your passkeys, oldest first.", schema: passkeysSchema } },
  }, async (c, _input, actor) => c.json({ passkeys: await listPasskeys(services, actor) }));

  route({
    method: "post",
    path: `${path}/passkeys/options`,
    operationId: "beginPasskey",
    summary: "Start adding a passkey",
    description: `${recent} The challenge works once, for five minutes.`,
    responses: { 200: { description: "The options for the browser.", schema: passkeyOptionsSchema } },
    errors: ["proof_required", "limit_reached"],
  }, async (c, _input, actor) => c.json({ options: await beginPasskey(services, actor) }));

  route({
    method: "post",
    path: `${path}/passkeys`,
    operationId: "addPasskey",
    summary: "Add the passkey that the browser created",
    description: recent,
    body: addPasskeySchema,
    responses: { 201: { description: "Added.", schema: passkeyBodySchema } },
    errors: ["proof_required", "limit_reached", "two_step_state"],
  }, async (c, { body: { name, response: answer } }, actor) => {
    return c.json({ passkey: await addPasskey(services, actor, { name, answer }) }, 201);
  });

  route({
    method: "patch",
    path: `${path}/passkeys/{id}`,
    operationId: "renamePasskey",
    summary: "Rename a passkey",
    description: recent,
    params: passkeyParamsSchema,
    body: passkeyNameSchema,
    responses: { 200: { description: "Renamed.", schema: passkeyBodySchema } },
    errors: ["proof_required"],
  }, async (c, { params: { id }, body: { name } }, actor) => {
    return c.json({ passkey: await renamePasskey(services, actor, { id, name }) });
  });

  route({
    method: "delete",
    path: `${path}/passkeys/{id}`,
    operationId: "removePasskey",
    summary: "Remove a passkey",
    description: `${recent} It stops working immediately.`,
    params: passkeyParamsSchema,
    responses: { 204: { description: "Removed." } },
    errors: ["proof_required"],
  }, (_c, { params }, actor) => removePasskey(services, actor, params.id));
}
