// Opens portal sessions, as a product's server and its customer's browser do.
import assert from "node:assert/strict";
import { cookieOf, type TestApp } from "../app/app.ts";
import { newOperatorToken } from "./operators.ts";

/** The headers of a browser that opens a frame or a tab. */
export const navigation = {
  "Sec-Fetch-Mode": "navigate",
  "Sec-Fetch-Dest": "iframe",
  "Sec-Fetch-Site": "same-site",
};

/** An open session. */
export interface OpenPortalSession {
  readonly id: string;
  /** The path that opened it, with its token. */
  readonly entry: string;
  readonly cookie: string;
  /** Its pages' paths begin with it. */
  readonly base: string;
}

/** @param given Fields of the request, besides `organizationId`. By default, all pages. */
export async function createPortalSession(
  test: TestApp,
  organizationId: string,
  given: Record<string, unknown> = {},
): Promise<{ id: string; entry: string }> {
  const { fullToken: apiKey } = await newOperatorToken(test, ["portal_sessions:write"]);
  const json = { organizationId, pages: ["keys", "usage", "limits", "webhooks"], ...given };
  const response = await test.send("/api/operator/portal-sessions", { apiKey, json });
  assert.equal(response.status, 201, await response.clone().text());
  const { id, url } = await response.json();
  return { id, entry: url.slice(test.config.baseUrl.origin.length) };
}

/** Creates a session, and opens it. */
export async function openPortalSession(
  test: TestApp,
  organizationId: string,
  given: Record<string, unknown> = {},
): Promise<OpenPortalSession> {
  const created = await createPortalSession(test, organizationId, given);
  const response = await test.send(created.entry, { headers: navigation });
  assert.equal(response.status, 303, await response.clone().text());
  const base = response.headers.get("location") ?? "";
  assert.equal(base, `/embed/${created.id}`);
  return { ...created, base, cookie: cookieOf(response) };
}
