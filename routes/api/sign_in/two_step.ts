// The API of a user's own two-step sign-in and passkeys. Other origins can't call it.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { SessionActor } from "../../../domain/access/actor.ts";
import {
  addPasskey,
  beginPasskey,
  beginTotp,
  confirmTotp,
  getTwoStepStatus,
  listPasskeys,
  removePasskey,
  renamePasskey,
  replaceRecoveryCodes,
  requestTurnOffLink,
  turnOffTwoStep,
  turnOffTwoStepByLink,
} from "../../../services/people/mod.ts";
import { qrCodeSvg } from "../../../views/people/qr_code.ts";
import type { Context } from "../../../services/context.ts";
import type { AppEnv, AppParts } from "../../env.ts";
import { type MountRoute, sessionRoutes } from "../endpoint.ts";
import { currentPasswordSchema, linkTokenSchema } from "../../schemas/people.ts";
import * as schemas from "../../schemas/two_step.ts";

const path = "/api/portal/account";
const recent = "Requires authentication within the last 10 minutes.";

export function twoStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const route = sessionRoutes(app, parts, { tag: "Account" });
  setUpRoutes(route, parts.services);
  turnOffRoutes(route, parts.services);
  passkeyRoutes(route, parts.services);
}

function setUpRoutes(route: MountRoute<SessionActor>, services: Context): void {
  route({
    route: `GET ${path}/two-step`,
    operationId: "getTwoStep",
    summary: "Get your two-step sign-in settings",
    responses: { 200: { description: "The settings.", schema: schemas.twoStepSchema } },
  }, async (_c, _input, actor) => {
    const passkeys = await listPasskeys(services, actor);
    return { ...await getTwoStepStatus(services, actor), passkeys };
  });

  route({
    route: `POST ${path}/two-step/totp`,
    operationId: "beginTotp",
    summary: "Start setting up an authenticator app",
    description: `${recent} Two-step sign-in stays off until you confirm a code from the app.`,
    responses: { 200: { description: "The secret for the app.", schema: schemas.totpSetUpSchema } },
    errors: ["proof_required", "second_factor_required", "two_step_state"],
  }, async (_c, _input, actor) => {
    const setUp = await beginTotp(services, actor);
    return { ...setUp, qrCode: qrCodeSvg(setUp.otpauthUrl) };
  });

  route({
    route: `POST ${path}/two-step/totp/confirm`,
    operationId: "confirmTotp",
    summary: "Turn on two-step sign-in with a code from the app",
    description: recent,
    body: schemas.totpCodeSchema,
    responses: { 200: { description: "Turned on.", schema: schemas.recoveryCodesSchema } },
    errors: ["proof_required", "second_factor_required", "invalid_code", "two_step_state"],
  }, async (_c, { body }, actor) => ({ recoveryCodes: await confirmTotp(services, actor, body.code) }));

  route({
    route: `POST ${path}/two-step/recovery-codes`,
    operationId: "replaceRecoveryCodes",
    summary: "Create new recovery codes",
    description: `${recent} The new codes replace the old ones.`,
    responses: { 200: { description: "The new codes.", schema: schemas.recoveryCodesSchema } },
    errors: ["proof_required", "second_factor_required", "two_step_state"],
  }, async (_c, _input, actor) => ({ recoveryCodes: await replaceRecoveryCodes(services, actor) }));
}

function turnOffRoutes(route: MountRoute<SessionActor>, services: Context): void {
  const responses = { 204: { description: "Turned off." } };
  const effect = "Deletes the recovery codes. Passkeys stay.";

  route({
    route: `DELETE ${path}/two-step/totp`,
    operationId: "turnOffTotp",
    summary: "Turn off two-step sign-in",
    description: `${recent} You must have authenticated since two-step sign-in was turned on. ${effect}`,
    responses,
    errors: ["proof_required", "second_factor_required", "two_step_state"],
  }, (_c, _input, actor) => turnOffTwoStep(services, actor));

  route({
    route: `POST ${path}/two-step/turn-off-link`,
    operationId: "requestTurnOffLink",
    summary: "Request a link to turn off two-step sign-in",
    description:
      "For people who lost their device and their recovery codes. The link is emailed to the account's address. It works once, " +
      "for 1 hour, with a session of the account.",
    body: currentPasswordSchema,
    responses: { 202: { description: "The email will be sent." } },
    errors: [
      "invalid_credentials",
      "second_factor_required",
      "two_step_state",
      "rate_limited",
      "mail_unavailable",
    ],
  }, (_c, { body }, actor) => requestTurnOffLink(services, actor, body.password));

  route({
    route: `POST ${path}/two-step/turn-off`,
    operationId: "turnOffTotpByLink",
    summary: "Turn off two-step sign-in with an emailed link",
    description: effect,
    body: linkTokenSchema,
    responses,
    errors: ["invalid_token", "wrong_account", "second_factor_required"],
  }, (_c, { body }, actor) => turnOffTwoStepByLink(services, actor, body.token));
}

function passkeyRoutes(route: MountRoute<SessionActor>, services: Context): void {
  route({
    route: `GET ${path}/passkeys`,
    operationId: "listPasskeys",
    summary: "List your passkeys",
    responses: { 200: { description: "Your passkeys, oldest first.", schema: schemas.passkeysSchema } },
  }, async (_c, _input, actor) => ({ passkeys: await listPasskeys(services, actor) }));

  route({
    route: `POST ${path}/passkeys/options`,
    operationId: "beginPasskey",
    summary: "Start adding a passkey",
    description: `${recent} The challenge works once, for 5 minutes.`,
    responses: { 200: { description: "The options for the browser.", schema: schemas.passkeyOptionsSchema } },
    errors: ["proof_required", "second_factor_required", "limit_reached"],
  }, async (_c, _input, actor) => ({ options: await beginPasskey(services, actor) }));

  route({
    route: `POST ${path}/passkeys`,
    operationId: "addPasskey",
    summary: "Add the passkey that the browser created",
    description: recent,
    body: schemas.addPasskeySchema,
    responses: { 201: { description: "Added.", schema: schemas.passkeyResponseSchema } },
    errors: ["proof_required", "second_factor_required", "limit_reached", "two_step_state"],
  }, async (_c, { body: { name, response } }, actor) => {
    return { passkey: await addPasskey(services, actor, { name, answer: response }) };
  });

  route({
    route: `PATCH ${path}/passkeys/{id}`,
    operationId: "renamePasskey",
    summary: "Rename a passkey",
    description: recent,
    params: schemas.passkeyParamsSchema,
    body: schemas.passkeyNameSchema,
    responses: { 200: { description: "Renamed.", schema: schemas.passkeyResponseSchema } },
    errors: ["proof_required"],
  }, async (_c, { params: { id }, body: { name } }, actor) => {
    return { passkey: await renamePasskey(services, actor, { id, name }) };
  });

  route({
    route: `DELETE ${path}/passkeys/{id}`,
    operationId: "removePasskey",
    summary: "Remove a passkey",
    description: `${recent} It stops working immediately.`,
    params: schemas.passkeyParamsSchema,
    responses: { 204: { description: "Removed." } },
    errors: ["proof_required", "second_factor_required", "last_sign_in_method"],
  }, (_c, { params }, actor) => removePasskey(services, actor, params.id));
}
