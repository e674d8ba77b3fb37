// Who is allowed to use each page of API keys and usage. portal.ts has the others.
import { run, type World } from "../../support/people/world.ts";
import {
  type Attempt,
  type Entry,
  inActive,
  objectFromAdmin,
  objectInActive,
  recordOf,
  withKey,
} from "./entry.ts";
import { onKeys } from "./writes.ts";

const budgetForm = { "limits[0].per": "day", "limits[0].quantity": "1", "limits[0].mode": "hard" };

async function withUnusedKey({ test, newApiKey }: World): Promise<Attempt> {
  const { id } = await newApiKey();
  await run(test, "UPDATE api_keys SET created_at = 0 WHERE id = ?", id);
  return { form: { [id]: "on" } };
}

/** The pages of API keys and usage. */
export const portalMeterEntries: Readonly<Record<string, Entry>> = {
  "GET /portal/api-keys": { who: inActive },
  "GET /portal/api-keys/new": { who: inActive },
  "GET /portal/api-keys/revoke-unused": { who: inActive },
  "POST /portal/api-keys/revoke-unused": { who: inActive, attempt: withUnusedKey },
  "POST /portal/api-keys/new": {
    who: inActive,
    attempt: () => ({ form: { name: "Key", expires: "never" } }),
  },
  "GET /portal/api-keys/:id": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "GET /portal/api-keys/:id/budget": { who: objectFromAdmin, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/budget": {
    who: objectFromAdmin,
    attempt: withKey({ form: budgetForm }),
    object: ["id", "key"],
    writes: onKeys({ form: budgetForm }),
  },
  "GET /portal/api-keys/:id/edit": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/edit": {
    who: objectInActive,
    attempt: withKey({ form: { name: "Renamed" } }),
    object: ["id", "key"],
    writes: onKeys({ form: { name: "Renamed" } }),
  },
  "GET /portal/api-keys/:id/first-request": {
    who: objectInActive,
    attempt: withKey(),
    object: ["id", "key"],
  },
  "GET /portal/api-keys/:id/revoke": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/revoke": {
    who: objectInActive,
    attempt: withKey({ form: {} }),
    object: ["id", "key"],
    writes: onKeys({ form: {} }),
  },
  "GET /portal/api-keys/:id/rotate": { who: objectInActive, attempt: withKey(), object: ["id", "key"] },
  "POST /portal/api-keys/:id/rotate": {
    who: objectInActive,
    attempt: withKey({ form: { expireOld: "now" } }),
    object: ["id", "key"],
    writes: onKeys({ form: { expireOld: "now" } }),
  },
  "GET /portal/usage": { who: inActive },
  "GET /portal/usage/records": { who: inActive },
  "GET /portal/usage/records/:recordId": {
    who: objectInActive,
    attempt: async (world) => ({ params: { recordId: await recordOf(world) } }),
    object: ["recordId", "use"],
  },
};
