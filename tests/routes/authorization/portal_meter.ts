// Who is allowed to use each page of API keys and usage. portal.ts has the others.
import { run, type Scene } from "../../support/people/scene.ts";
import { apiTable } from "./api.ts";
import {
  type Entry,
  formOf,
  inActive,
  inActiveFromAdmin,
  objectFromAdmin,
  objectInActive,
  recordOf,
  withAlert,
  withDisabledKey,
  withKey,
} from "./entry.ts";
import { onKeys } from "./writes.ts";

export const budgetForm = { "limits[0].per": "day", "limits[0].quantity": "1", "limits[0].mode": "hard" };
export const alertForm = { per: "day", quantity: "2" };

/** @returns The fields that select a key in the list. */
export async function selectedKey({ newApiKey }: Scene): Promise<Record<string, string>> {
  return { [(await newApiKey()).id]: "on" };
}

export async function unusedKey({ test, newApiKey }: Scene): Promise<Record<string, string>> {
  const { id } = await newApiKey();
  await run(test, "UPDATE api_keys SET created_at = 0 WHERE id = ?", id);
  return { [id]: "on" };
}

/** The pages of API keys and usage. */
export const portalMeterEntries: Readonly<Record<string, Entry>> = {
  "GET /portal/billing": { who: inActive },
  "GET /portal/billing/:period": { who: inActive, attempt: () => ({ params: { period: "open" } }) },
  "GET /portal/api-keys": { who: inActive },
  "GET /portal/api-keys/new": { who: inActive },
  "GET /portal/api-keys/revoke": { who: inActive },
  "POST /portal/api-keys/revoke": {
    who: inActive,
    attempt: async (scene) => ({ form: await selectedKey(scene) }),
  },
  "GET /portal/api-keys/revoke-unused": { who: inActive },
  "POST /portal/api-keys/revoke-unused": {
    who: inActive,
    attempt: async (scene) => ({ form: await unusedKey(scene) }),
  },
  "POST /portal/api-keys/new": {
    who: inActive,
    attempt: () => ({ form: { name: "Key", expires: "never" } }),
  },
  "GET /portal/api-keys/:keyId": { who: objectInActive, attempt: withKey() },
  "GET /portal/api-keys/:keyId/budget": { who: objectFromAdmin, attempt: withKey() },
  "POST /portal/api-keys/:keyId/budget": {
    who: objectFromAdmin,
    attempt: withKey({ form: budgetForm }),
    writes: onKeys({ form: budgetForm }),
  },
  "GET /portal/api-keys/:keyId/disable": { who: objectFromAdmin, attempt: withKey() },
  "POST /portal/api-keys/:keyId/disable": { who: objectFromAdmin, attempt: withKey({ form: {} }) },
  "GET /portal/api-keys/:keyId/enable": { who: objectFromAdmin, attempt: withDisabledKey() },
  "POST /portal/api-keys/:keyId/enable": { who: objectFromAdmin, attempt: withDisabledKey({ form: {} }) },
  "GET /portal/api-keys/:keyId/edit": { who: objectInActive, attempt: withKey() },
  "POST /portal/api-keys/:keyId/edit": formOf(apiTable["PATCH /api/portal/api-keys/:id"]),
  "GET /portal/api-keys/:keyId/first-request": { who: objectInActive, attempt: withKey() },
  "GET /portal/api-keys/:keyId/revoke": { who: objectInActive, attempt: withKey() },
  "POST /portal/api-keys/:keyId/revoke": formOf(apiTable["DELETE /api/portal/api-keys/:id"]),
  "GET /portal/api-keys/:keyId/rotate": { who: objectInActive, attempt: withKey() },
  "POST /portal/api-keys/:keyId/rotate": {
    who: objectInActive,
    attempt: withKey({ form: { expireOld: "now" } }),
    writes: onKeys({ form: { expireOld: "now" } }),
  },
  "GET /portal/alerts": { who: inActive },
  "GET /portal/alerts/new": { who: inActiveFromAdmin },
  "POST /portal/alerts/new": { who: inActiveFromAdmin, attempt: () => ({ form: alertForm }) },
  ...Object.fromEntries(
    ["edit", "delete"].flatMap((act) => [
      [`GET /portal/alerts/:alertId/${act}`, withAlert()] as const,
      [`POST /portal/alerts/:alertId/${act}`, withAlert({ form: alertForm })] as const,
    ]).map((
      [route, attempt],
    ) => [route, { who: objectFromAdmin, attempt }]),
  ),
  "GET /portal/usage": { who: inActive },
  "GET /portal/usage/records": { who: inActive },
  "GET /portal/usage/records/:recordId": {
    who: objectInActive,
    attempt: async (scene) => ({ params: { recordId: await recordOf(scene) } }),
  },
};
