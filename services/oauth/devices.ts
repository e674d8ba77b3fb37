// Connecting devices (RFC 8628): a device shows a code, a person enters and compares it, and the device gets tokens.
import { findDomainProvider } from "../../db/access/mod.ts";
import { findClient, type StoredClient } from "../../db/oauth/clients.ts";
import { insertConsent } from "../../db/oauth/codes.ts";
import {
  decideDevice,
  deleteDevice,
  enterCode,
  findDevice,
  insertDevice,
  insertGrantOfDevice,
  selectEntered,
  type StoredDevice,
} from "../../db/oauth/devices.ts";
import { foundToken, selectToken } from "../../db/oauth/tokens.ts";
import type { ClientInfo, SessionActor } from "../../domain/access/actor.ts";
import type { Membership } from "../../domain/access/session.ts";
import { addressGroup } from "../../domain/address_group.ts";
import { AppError, validationError } from "../../domain/errors.ts";
import { permitsMember } from "../../domain/oauth/client.ts";
import {
  deviceCodeMs,
  devicePollMs,
  devicesOfAddressMax,
  devicesOfClientMax,
} from "../../domain/oauth/oauth_limits.ts";
import { OAuthError } from "../../domain/oauth/oauth_error.ts";
import { type Form, requireParameter } from "../../domain/oauth/program_form.ts";
import { parseScopes } from "../../domain/oauth/scope_names.ts";
import { newUserCode, parseUserCode, shownUserCode } from "../../domain/oauth/user_code.ts";
import { hashToken, newToken, requireAllowed, rowOf, sessionBounds } from "../access/mod.ts";
import type { Context, SessionContext } from "../context.ts";
import { findTarget } from "./targets.ts";
import { newGrant, respond, type TokenResponse } from "./tokens.ts";

const userAgentCharactersMax = 400;
/** Codes to try, as one may be taken. */
const codesTriedMax = 3;

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/**
 * Begins to connect a device (RFC 8628, section 3.1).
 *
 * @throws {OAuthError} `unauthorized_client`, `invalid_target`, `invalid_scope`, `temporarily_unavailable` if too many wait.
 */
export async function beginDevice(
  { config, database, clock }: Context,
  client: StoredClient,
  { form, from }: { form: Form; from: ClientInfo },
) {
  if (!client.grants.includes(deviceGrant)) {
    throw new OAuthError("unauthorized_client", "The client may not connect devices.");
  }
  const asked = { resource: form.get("resource") ?? null, scopes: parseScopes(form.get("scope")) };
  const { resource, scopes } = await findTarget({ database }, client, asked);
  const now = clock();
  for (let tries = 0; tries < codesTriedMax; tries++) {
    const [deviceCode, userCode] = [newToken(), newUserCode()];
    const results = await database.write(insertDevice({
      deviceHash: hashToken(deviceCode),
      userCode,
      clientId: client.id,
      resourceId: resource?.id ?? null,
      scopes,
      address: addressGroup(from.address),
      userAgent: from.userAgent.slice(0, userAgentCharactersMax),
      now,
      expiresAt: now + deviceCodeMs,
    }, { ofAddress: devicesOfAddressMax, ofClient: devicesOfClientMax }));
    if (results.at(-1)?.changes !== 1) continue;
    const page = `${config.baseUrl.origin}/device`;
    return {
      device_code: deviceCode,
      user_code: shownUserCode(userCode),
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${shownUserCode(userCode)}`,
      expires_in: deviceCodeMs / 1000,
      interval: devicePollMs / 1000,
    };
  }
  throw new OAuthError("temporarily_unavailable", "Too many codes are open. Try again in a few minutes.");
}

/**
 * Exchanges a device code for tokens, once the person has decided (RFC 8628, section 3.4). It works once.
 *
 * @throws {OAuthError} `authorization_pending`, `slow_down`, `access_denied`, `expired_token`, `invalid_grant`, `invalid_request`.
 */
export async function exchangeDeviceCode(
  context: Context,
  client: StoredClient,
  form: Form,
): Promise<TokenResponse> {
  const { config, database, clock, rateLimits } = context;
  const deviceHash = hashToken(requireParameter(form, "device_code"));
  const device = await findDevice(database, { deviceHash, clientId: client.id });
  const now = clock();
  if (device === undefined) throw invalidCode();
  if (device.expiresAt <= now) throw new OAuthError("expired_token", "The code has expired.");
  if (!rateLimits.devicePolls.take(deviceHash).isAllowed) {
    throw new OAuthError("slow_down", "Wait five seconds longer before each request.");
  }
  if (device.status === "waiting") {
    throw new OAuthError("authorization_pending", "The person hasn't decided yet.");
  }
  if (device.status === "denied") throw new OAuthError("access_denied", "The person denied the request.");
  const { grant, access, refresh, inserts } = newGrant(context, client, now);
  const results = await database.write([
    insertGrantOfDevice(grant, deviceHash),
    ...inserts,
    deleteDevice(deviceHash),
    selectToken(access.row.tokenHash, sessionBounds(config, now)),
  ]);
  if (results[0]?.changes !== 1) throw invalidCode();
  const found = foundToken(results.at(-1)?.rows[0]);
  if (found === undefined) throw new OAuthError("invalid_grant", "The access has ended.");
  return await respond(context, client, { found, access: access.token, refresh, nonce: null });
}

const invalidCode = () =>
  new OAuthError("invalid_grant", "The code is unknown, was used, or its session has ended.");

/** A device whose code was entered, for the person to compare. */
export interface EnteredDevice {
  readonly device: StoredDevice;
  readonly client: StoredClient;
  /** For which the person may use the client. */
  readonly organizations: readonly Membership[];
  /** True if it asked from another address than the person's. */
  readonly isElsewhere: boolean;
}

/**
 * Ties the device with a code to the session, so that only this session can allow it.
 *
 * @throws {AppError} `validation_failed` for a wrong code, `rate_limited` after too many of the person, `unauthenticated`.
 */
export async function enterDeviceCode(
  context: SessionContext,
  actor: SessionActor,
  text: string,
): Promise<EnteredDevice> {
  const { deviceEntries } = context.rateLimits;
  requireAllowed(deviceEntries.peek(actor.user.id));
  const userCode = parseUserCode(text);
  const entered = { userCode: userCode ?? "", sessionId: actor.id, now: context.clock() };
  const results = userCode === null
    ? []
    : await context.writeAs(actor, [enterCode(entered), selectEntered(entered)]);
  if (results.at(-1)?.rows.length === 1) {
    return await withClient(context, actor, rowOf<StoredDevice>(results));
  }
  requireAllowed(deviceEntries.take(actor.user.id));
  throw wrongCodeError();
}

const wrongCodeError = () =>
  validationError([{
    path: "user_code",
    message: "is wrong or has expired. Check the code on your device.",
  }]);

async function withClient(
  { database }: SessionContext,
  { memberships, client: { address } }: SessionActor,
  device: StoredDevice,
): Promise<EnteredDevice> {
  const client = await findClient(database, device.clientId);
  if (client === undefined || !client.enabled) throw wrongCodeError();
  return {
    device,
    client,
    organizations: memberships.filter((member) => permitsMember(client.access, member)),
    isElsewhere: addressGroup(address) !== device.address,
  };
}

/**
 * Allows or denies a device whose code was entered in this session.
 *
 * @param options `organizationId`: for which the access is; null for people without one.
 * @throws {AppError} `validation_failed` if it was entered elsewhere or has expired, `forbidden` without access, `unauthenticated`.
 */
export async function decideOnDevice(
  context: SessionContext,
  actor: SessionActor,
  { code, isAllowed, organizationId }: { code: string; isAllowed: boolean; organizationId: string | null },
): Promise<EnteredDevice> {
  const now = context.clock();
  const entered = { userCode: parseUserCode(code) ?? "", sessionId: actor.id, now };
  const stored = await context.database.readFirst<StoredDevice>(selectEntered(entered));
  if (stored === undefined) throw wrongCodeError();
  const found = await withClient(context, actor, stored);
  const { client, device, organizations } = found;
  const isPermitted = organizationId === null
    ? client.access === "everyone" && actor.memberships.length === 0
    : organizations.some((one) => one.organizationId === organizationId);
  if (isAllowed && (!isPermitted || !actor.user.emailVerified)) {
    throw new AppError("forbidden", `${client.name} isn't open to your account.`);
  }
  const provider = await findDomainProvider(context.database, actor.user.email);
  const scopes = device.scopes.split(" ").filter((scope) =>
    scope !== "offline_access" || provider?.enforced !== 1
  );
  const { resourceId } = device;
  const key = { userId: actor.user.id, clientId: client.id, organizationId, resourceId };
  const [decided] = await context.writeAs(actor, [
    decideDevice(entered, isAllowed ? { organizationId, scopes } : null),
    ...(isAllowed ? [insertConsent(key, { scopes, now })] : []),
  ]);
  if (decided?.changes !== 1) throw wrongCodeError();
  return found;
}
