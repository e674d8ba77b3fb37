// SQL of devices that ask to be connected (RFC 8628). Only the SHA-256 of a device code is stored.
import { expiredRowsMax } from "../../domain/oauth/oauth_limits.ts";
import { type DatabaseReader, sql, type Statement } from "../engine/database.ts";
import { insertGrant, type NewGrant } from "./tokens.ts";

export interface NewDevice {
  readonly deviceHash: string;
  readonly userCode: string;
  readonly clientId: string;
  readonly resourceId: string | null;
  readonly scopes: readonly string[];
  /** The group of the client's address, and its `User-Agent`. */
  readonly address: string;
  readonly userAgent: string;
  readonly now: number;
  readonly expiresAt: number;
}

/** Inserts a device, unless its code is taken, or too many of the address or the client wait. */
export function insertDevice(device: NewDevice, max: { ofAddress: number; ofClient: number }): Statement[] {
  const { address, clientId, now } = device;
  return [
    sql`DELETE FROM oauth_devices WHERE device_hash IN (
      SELECT device_hash FROM oauth_devices WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${expiredRowsMax})`,
    sql`INSERT INTO oauth_devices (device_hash, user_code, client_id, resource_id, scopes, address, user_agent, created_at,
        expires_at, status)
      SELECT ${device.deviceHash}, ${device.userCode}, ${clientId}, ${device.resourceId}, ${
      device.scopes.join(" ")
    }, ${address}, ${device.userAgent}, ${now}, ${device.expiresAt}, 'waiting'
      WHERE (SELECT count(*) FROM oauth_devices WHERE address = ${address} AND expires_at > ${now}) < ${max.ofAddress}
        AND (SELECT count(*) FROM oauth_devices WHERE client_id = ${clientId}) < ${max.ofClient}
      ON CONFLICT DO NOTHING`,
  ];
}

export interface StoredDevice {
  readonly clientId: string;
  readonly userCode: string;
  /** With spaces between them. */
  readonly scopes: string;
  readonly resourceId: string | null;
  readonly resourceName: string | null;
  readonly address: string;
  readonly userAgent: string;
  readonly expiresAt: number;
  readonly status: "waiting" | "allowed" | "denied";
}

const select =
  sql`SELECT d.client_id AS clientId, d.user_code AS userCode, d.scopes, d.resource_id AS resourceId,
    r.name AS resourceName, d.address, d.user_agent AS userAgent, d.expires_at AS expiresAt, d.status
  FROM oauth_devices d LEFT JOIN oauth_resources r ON r.id = d.resource_id`;

export function findDevice(
  database: DatabaseReader,
  { deviceHash, clientId }: { deviceHash: string; clientId: string },
): Promise<StoredDevice | undefined> {
  return database.readFirst(sql`${select} WHERE d.device_hash = ${deviceHash} AND d.client_id = ${clientId}`);
}

interface EnteredCode {
  readonly userCode: string;
  readonly sessionId: string;
  readonly now: number;
}

/** Ties a waiting device to the session in which its code was entered. */
export const enterCode = ({ userCode, sessionId, now }: EnteredCode): Statement =>
  sql`UPDATE oauth_devices SET session_id = ${sessionId}
    WHERE user_code = ${userCode} AND status = 'waiting' AND expires_at > ${now}`;

/** Selects the device whose code was entered in a session. */
export const selectEntered = ({ userCode, sessionId, now }: EnteredCode): Statement =>
  sql`${select} WHERE d.user_code = ${userCode} AND d.session_id = ${sessionId} AND d.status = 'waiting'
    AND d.expires_at > ${now}`;

/** Allows or denies the device whose code was entered in this session. */
export function decideDevice(
  { userCode, sessionId, now }: EnteredCode,
  decision: { readonly organizationId: string | null; readonly scopes: readonly string[] } | null,
): Statement {
  return sql`UPDATE oauth_devices SET status = ${decision === null ? "denied" : "allowed"},
      organization_id = ${decision?.organizationId ?? null},
      scopes = coalesce(${decision?.scopes.join(" ") ?? null}, scopes)
    WHERE user_code = ${userCode} AND session_id = ${sessionId} AND status = 'waiting' AND expires_at > ${now}`;
}

/** Inserts the grant of an allowed device whose session lasts. Followed by {@linkcode deleteDevice}, it works once. */
export const insertGrantOfDevice = (grant: NewGrant, deviceHash: string): Statement =>
  insertGrant(
    grant,
    sql`SELECT d.client_id, s.user_id, s.id AS session_id, d.organization_id, d.resource_id, d.scopes,
      s.proved_at AS auth_time, s.amr FROM oauth_devices d JOIN sessions s ON s.id = d.session_id
    WHERE d.device_hash = ${deviceHash} AND d.status = 'allowed' AND d.expires_at > ${grant.now}`,
  );

export const deleteDevice = (deviceHash: string): Statement =>
  sql`DELETE FROM oauth_devices WHERE device_hash = ${deviceHash} AND status <> 'waiting'`;
