// Limits per value over the JSON API.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { holdScene } from "./holds.ts";

/** A limit per user and day, which an operator sets for an organization. */
export const perUser = { metric: "requests", per: "day", by: "user", quantity: 5 };
export const ofUser = (user: string) => ({ properties: { user } });

type Values = readonly [value: string, used: number, held: number, remaining: number];
interface Standing {
  readonly by?: string;
  readonly value: string;
  readonly used: number;
  readonly held: number;
  readonly remaining: number;
}

/** The standings of limits per value. */
export const valuesIn = (limits: readonly Standing[] = []): Values[] =>
  limits.filter(({ by }) => by !== undefined)
    .map(({ value, used, held, remaining }) => [value, used, held, remaining]);

/** An organization with limits per value, and a limit in total that nothing reaches. */
export async function valueScene(test: TestApp, ...limits: readonly object[]) {
  const scene = await holdScene(test, { per: "total", quantity: 1_000_000 });
  const { organizationId } = scene.person;
  const path = `/organizations/${organizationId}`;
  const change = (json: object) => scene.operator(`PATCH ${path}`, json);
  const setLimits = async (...limits: readonly object[]) => {
    const { status, body } = await change({ overrides: { limits } });
    assert.equal(status, 200, JSON.stringify(body));
    return body.organization.overrides.limits as (Record<string, unknown> & { id: string })[];
  };
  if (limits.length > 0) await setLimits(...limits);
  return {
    ...scene,
    organizationId,
    path,
    change,
    setLimits,
    values: async (query = "") => {
      const { status, body } = await scene.get(`/api/v1/limits${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return valuesIn(body.limits);
    },
    /** Records with a user. Returns the id of the record, or null if it was rejected. */
    use: async (user: string, quantity: number, more: object = {}): Promise<string | null> => {
      const { status, body } = await scene.record(quantity, { ...ofUser(user), ...more });
      assert.ok([201, 429].includes(status), JSON.stringify(body));
      return status === 201 ? body.usageRecord.id : null;
    },
    holdFor: (user: string, quantity: number, more: object = {}) =>
      scene.post("", {
        records: [{ productSlug: "tiles", metric: "requests", quantity, ...ofUser(user) }],
        ...more,
      }),
    void: async (id: string | null) => {
      const response = await test.send(`/api/v1/usage/records/${id}/void`, {
        apiKey: scene.apiKey,
        json: { reason: "Wrong." },
      });
      assert.equal(response.status, 200, await response.text());
    },
  };
}

/** Usage of one user, for a verification, a record or a hold. */
export const usageOf = (user: string, quantity: number, more: object = {}) => ({
  productSlug: "tiles",
  metric: "requests",
  quantity,
  ...ofUser(user),
  ...more,
});
