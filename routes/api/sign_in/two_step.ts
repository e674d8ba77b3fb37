// The API of a person's own two-step sign-in and passkeys. Other origins can't call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import {
  addPasskey,
  beginPasskey,
  listPasskeys,
  removePasskey,
  renamePasskey,
} from "../../../services/sign_in/passkeys.ts";
import { requestTurnOffLink, turnOffTwoStepByLink } from "../../../services/sign_in/turn_off_link.ts";
import {
  beginTotp,
  confirmTotp,
  getTwoStepStatus,
  replaceRecoveryCodes,
  turnOffTwoStep,
} from "../../../services/sign_in/two_step.ts";
import { qrCodeSvg } from "../../../views/sign_in/qr_code.ts";
import type { Context } from "../../../services/context.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { type MountSessionEndpoint, sessionEndpoints } from "../session_endpoint.ts";
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
  const mount = sessionEndpoints(app, parts, { tag: "Account" });
  setUpRoutes(mount, parts.services);
  turnOffRoutes(mount, parts.services);
  passkeyRoutes(mount, parts.services);
}

function setUpRoutes(mount: MountSessionEndpoint, services: Context): void {
  mount({
    method: "get",
    path: `${path}/two-step`,
    operationId: "getTwoStep",
    summary: "Get your two-step sign-in settings",
    responses: { 200: { description: "The settings.", schema: twoStepSchema } },
  }, async (actor) => {
    const passkeys = await listPasskeys(services, actor);
    return { ...await getTwoStepStatus(services, actor), passkeys };
  });

  mount({
    method: "post",
    path: `${path}/two-step/totp`,
    operationId: "beginTotp",
    summary: "Start setting up an authenticator app",
    description: `${recent} Two-step sign-in stays off until a code of the app is confirmed.`,
    responses: { 200: { description: "The secret for the app.", schema: totpSetUpSchema } },
    errors: ["proof_required", "two_step_state"],
  }, async (actor) => {
    const setUp = await beginTotp(services, actor);
    return { ...setUp, qrCode: qrCodeSvg(setUp.otpauthUrl) };
  });

  mount({
    method: "post",
    path: `${path}/two-step/totp/confirm`,
    operationId: "confirmTotp",
    summary: "Turn on two-step sign-in with a code of the app",
    description: recent,
    body: totpCodeSchema,
    responses: { 200: { description: "Turned on.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "invalid_code", "two_step_state"],
  }, async (actor, { body }) => ({ recoveryCodes: await confirmTotp(services, actor, body.code) }));

  mount({
    method: "post",
    path: `${path}/two-step/recovery-codes`,
    operationId: "replaceRecoveryCodes",
    summary: "Create new recovery codes",
    description: `${recent} The new codes replace the old ones.`,
    responses: { 200: { description: "The new codes.", schema: recoveryCodesSchema } },
    errors: ["proof_required", "two_step_state"],
  }, async (actor) => ({ recoveryCodes: await replaceRecoveryCodes(services, actor) }));
}

function turnOffRoutes(mount: MountSessionEndpoint, services: Context): void {
  const responses = { 204: { description: "Turned off." } };
  const effect = "Deletes the recovery codes. Passkeys stay.";

  mount({
    method: "delete",
    path: `${path}/two-step/totp`,
    operationId: "turnOffTotp",
    summary: "Turn off two-step sign-in",
    description: `${recent} It must be after two-step sign-in was turned on. ${effect}`,
    responses,
    errors: ["proof_required", "two_step_state"],
  }, (actor) => turnOffTwoStep(services, actor));

  mount({
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
  }, (actor, { body }) => requestTurnOffLink(services, actor, body.password));

  mount({
    method: "post",
    path: `${path}/two-step/turn-off`,
    operationId: "turnOffTotpByLink",
    summary: "Turn off two-step sign-in with an emailed link",
    description: effect,
    body: linkTokenSchema,
    responses,
    errors: ["invalid_token", "wrong_account"],
  }, (actor, { body }) => turnOffTwoStepByLink(services, actor, body.token));
}

function passkeyRoutes(mount: MountSessionEndpoint, services: Context): void {
  mount({
    method: "get",
    path: `${path}/passkeys`,
    operationId: "listPasskeys",
    summary: "List your passkeys",
    responses: { 200: { description: "Your passkeys, oldest first.", schema: passkeysSchema } },
  }, async (actor) => ({ passkeys: await listPasskeys(services, actor) }));

  mount({
    method: "post",
    path: `${path}/passkeys/options`,
    operationId: "beginPasskey",
    summary: "Start adding a passkey",
    description: `${recent} The challenge works once, for five minutes.`,
    responses: { 200: { description: "The options for the browser.", schema: passkeyOptionsSchema } },
    errors: ["proof_required", "limit_reached"],
  }, async (actor) => ({ options: await beginPasskey(services, actor) }));

  mount({
    method: "post",
    path: `${path}/passkeys`,
    operationId: "addPasskey",
    summary: "Add the passkey that the browser created",
    description: recent,
    body: addPasskeySchema,
    responses: { 201: { description: "Added.", schema: passkeyBodySchema } },
    errors: ["proof_required", "limit_reached", "two_step_state"],
  }, async (actor, { body: { name, response } }) => ({
    passkey: await addPasskey(services, actor, { name, answer: response }),
  }));

  mount({
    method: "patch",
    path: `${path}/passkeys/{id}`,
    operationId: "renamePasskey",
    summary: "Rename a passkey",
    description: recent,
    params: passkeyParamsSchema,
    body: passkeyNameSchema,
    responses: { 200: { description: "Renamed.", schema: passkeyBodySchema } },
    errors: ["proof_required"],
  }, async (actor, { params: { id }, body: { name } }) => ({
    passkey: await renamePasskey(services, actor, { id, name }),
  }));

  mount({
    method: "delete",
    path: `${path}/passkeys/{id}`,
    operationId: "removePasskey",
    summary: "Remove a passkey",
    description: `${recent} It stops working immediately.`,
    params: passkeyParamsSchema,
    responses: { 204: { description: "Removed." } },
    errors: ["proof_required"],
  }, (actor, { params }) => removePasskey(services, actor, params.id));
}
