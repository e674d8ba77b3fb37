// Sends a table of requests, and checks what each returns.
import assert from "node:assert/strict";
import { noticesOf } from "../people/portal_people.ts";
import { openPage, type TestPage } from "../portal/pages.ts";
import { assertError, type SendOptions, type TestApp } from "./app.ts";

/** Who sends the requests of a table, and the path before those of its rows. */
export interface Sender extends Pick<SendOptions, "cookie" | "apiKey" | "headers" | "peerAddress"> {
  readonly at?: string;
}

/** Text or patterns of a response's body. Text is escaped as pages do. */
export interface Content {
  readonly shows?: readonly (string | RegExp)[];
  readonly hides?: readonly (string | RegExp)[];
  /** All notices of the page. */
  readonly notices?: readonly string[];
}

/**
 * A request such as `POST /sign-in`, its body (JSON below `/api`, otherwise a form), and the outcome as `outcomeOf` states it, or
 * the status alone.
 */
export type Row = readonly [
  request: string,
  body: Readonly<Record<string, unknown>> | null,
  outcome: string | number,
  content?: Content,
];

/** Sends requests one after another. @returns The last response. */
export async function assertRows(
  test: TestApp,
  by: Sender,
  rows: readonly Row[],
): Promise<TestPage> {
  let page: TestPage | undefined;
  for (const [index, [request, body, outcome, content]] of rows.entries()) {
    const name = `row ${index + 1}, ${request}`;
    page = await sendRow(test, by, request, body);
    const actual = typeof outcome === "number" ? page.status : await outcomeOf(page.answer);
    assert.equal(actual, outcome, `${name}: ${page.html.slice(0, 500)}`);
    for (const text of content?.shows ?? []) assert.ok(contains(page.html, text), `${name} lacks ${text}`);
    for (const text of content?.hides ?? []) assert.ok(!contains(page.html, text), `${name} shows ${text}`);
    if (content?.notices !== undefined) assert.deepEqual(noticesOf(page.html), content.notices, name);
  }
  assert.ok(page);
  return page;
}

/** Sends one request of a table. */
export function sendRow(
  test: TestApp,
  by: Sender,
  request: string,
  body: Row[1] = null,
): Promise<TestPage> {
  const [method = "", rest = ""] = request.split(" ");
  const { at = "", cookie, apiKey, headers, peerAddress } = by;
  const path = at + rest;
  const isApi = path.startsWith("/api/");
  return openPage(test, path, {
    method,
    ...(cookie === undefined ? {} : { cookie }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(headers === undefined ? {} : { headers }),
    ...(peerAddress === undefined ? {} : { peerAddress }),
    ...(body !== null && isApi ? { json: body } : {}),
    ...(method === "POST" && !isApi ? { form: body as Record<string, string> ?? {} } : {}),
  });
}

/** Sends a request that succeeds. @returns The JSON of its response. */
export async function fetchJson(
  test: TestApp,
  by: Sender,
  request: string,
  body: Row[1] = null,
  // deno-lint-ignore no-explicit-any
): Promise<any> {
  const { status, html } = await sendRow(test, by, request, body);
  assert.ok(status < 300, `${request}: ${status} ${html}`);
  return JSON.parse(html);
}

/** Asserts what a response is: a status, or an outcome as {@linkcode outcomeOf} states it. */
export async function assertOutcome(response: Promise<Response>, outcome: string | number): Promise<void> {
  const given = await response;
  const actual = typeof outcome === "number" ? given.status : await outcomeOf(given);
  assert.equal(actual, outcome, given.bodyUsed ? "" : await given.text());
}

/**
 * States a response: its status, then the code and the rejected fields of an error of the API (`422 validation_failed email`), the
 * rejected fields of a page (`422 email`), or the target of a redirect (`303 /portal`).
 */
export async function outcomeOf(response: Response): Promise<string> {
  const { status } = response;
  const location = response.headers.get("location");
  if (location !== null) return `${status} ${location}`;
  const text = await response.clone().text();
  if (status >= 400 && text.startsWith("{")) {
    const { error } = await assertError(response.clone(), status, JSON.parse(text).error.code);
    return [status, error.code, ...(error.details ?? []).map(({ path }) => path)].join(" ");
  }
  const fields = [...text.matchAll(/ id="([\w-]+)-error"/g)].map(([, field]) => field);
  return [status, ...fields].join(" ");
}

function contains(html: string, text: string | RegExp): boolean {
  return typeof text === "string" ? html.includes(text.replaceAll("'", "&#39;")) : text.test(html);
}
