// Tells applications that a session, or access, has ended (OpenID Connect Back-Channel Logout 1.0).
import { randomUUID } from "node:crypto";
import { type ClaimedLogout, claimLogouts, endLogout } from "../../db/oauth/logouts.ts";
import { isDocumentId } from "../../domain/oauth/client_document.ts";
import {
  logoutLeaseMs,
  logoutsAtOnceMax,
  logoutTimeoutMs,
  logoutTokenMs,
  logoutWaitsMs,
} from "../../domain/oauth/oauth_limits.ts";
import { sessionBounds } from "../access/mod.ts";
import type { Context } from "../context.ts";
import { post } from "../outbox/mod.ts";

/** Sends some logouts that are due, and waits for the responses. Returns true if there may be more. */
export async function sendLogouts(context: Context): Promise<boolean> {
  const { config, database, clock } = context;
  const bounds = sessionBounds(config, clock());
  const claim = { leasedUntil: bounds.now + logoutLeaseMs, limit: logoutsAtOnceMax };
  const results = await database.write(claimLogouts(bounds, claim));
  const claimed = (results.at(-1)?.rows ?? []) as unknown as ClaimedLogout[];
  await Promise.all(claimed.map((logout) => send(context, logout)));
  return claimed.length === logoutsAtOnceMax;
}

async function send(context: Context, logout: ClaimedLogout): Promise<void> {
  const { addressGuard, database, clock, onBackgroundError } = context;
  let isDelivered = false;
  try {
    const body = new URLSearchParams({ logout_token: await logoutToken(context, logout) }).toString();
    // Operators choose the addresses of others, which may be in a private network.
    const guard = isDocumentId(logout.clientId) ? addressGuard : null;
    const { code } = await post(guard, {
      url: new URL(logout.uri),
      headers: { "content-type": "application/x-www-form-urlencoded", "user-agent": "Gatehouse" },
      body,
      timeoutMs: logoutTimeoutMs,
    });
    isDelivered = code === null;
  } catch (error) {
    onBackgroundError(error);
  }
  const waitMs = isDelivered ? undefined : logoutWaitsMs[logout.attempts - 1];
  await database.write([endLogout(logout, waitMs === undefined ? null : clock() + waitMs)]);
}

function logoutToken(
  { config, clock, signingKeys }: Context,
  { clientId, userId, sessionId, algorithm }: ClaimedLogout,
): Promise<string> {
  const iat = Math.floor(clock() / 1000);
  const claims = {
    iss: config.baseUrl.origin,
    aud: clientId,
    iat,
    exp: iat + logoutTokenMs / 1000,
    jti: randomUUID(),
    sub: userId,
    sid: sessionId,
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
  };
  return signingKeys.sign(claims, { alg: algorithm, typ: "logout+jwt" });
}
