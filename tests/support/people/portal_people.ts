// Invites people through the portal, and loads its pages as a browser without JavaScript does.
import assert from "node:assert/strict";
import type { Role } from "../../../domain/sign_in/session.ts";
import { cookieOf, type TestApp, testPassword, type TestPerson } from "../app/app.ts";
import { openPage, type TestPage } from "../portal/pages.ts";

/** Requests a page. */
export function page(test: TestApp, path: string, person?: Pick<TestPerson, "cookie">): Promise<TestPage> {
  return openPage(test, path, person === undefined ? {} : { cookie: person.cookie });
}

/** Submits a form. */
export function submit(
  test: TestApp,
  path: string,
  { form = {}, person }: { form?: Record<string, string>; person?: Pick<TestPerson, "cookie"> },
): Promise<TestPage> {
  return openPage(test, path, { form, ...(person === undefined ? {} : { cookie: person.cookie }) });
}

/** Invites an address with the form on the page. @returns The path and token of the emailed link. */
export async function invite(
  test: TestApp,
  by: TestPerson,
  { email, role = "MEMBER" }: { email: string; role?: Role },
): Promise<{ path: string; token: string }> {
  const response = await submit(test, "/portal/members", { form: { email, role }, person: by });
  assert.match(
    response.location ?? "",
    /^\/portal\/members\?done=invited&id=inv_\w+#invitations$/,
    response.html,
  );
  return await latestLink(test, email);
}

/** @returns The link in the newest email to an address. */
export async function latestLink(test: TestApp, email: string): Promise<{ path: string; token: string }> {
  const link = (await test.mails()).findLast(({ to }) => to === email)?.link ?? "";
  const { pathname, search, searchParams } = new URL(link);
  return { path: pathname + search, token: searchParams.get("token") ?? "" };
}

let joiners = 0;

/** Creates an account from an invitation. */
export async function joinBy(
  test: TestApp,
  by: TestPerson,
  { name, role = "MEMBER" }: { name: string; role?: Role },
): Promise<TestPerson> {
  const email = `joiner${++joiners}@example.com`;
  const { token } = await invite(test, by, { email, role });
  const response = await test.send("/invitations/sign-up", {
    form: { token, name, password: testPassword },
    peerAddress: `10.2.${joiners >> 8}.${joiners & 255}`,
  });
  assert.equal(
    response.headers.get("location"),
    "/portal/members?done=joined",
    await response.clone().text(),
  );
  const cookie = cookieOf(response);
  const me = await (await test.send("/api/auth/me", { cookie })).json();
  return { email, cookie, userId: me.user.id, organizationId: me.organizationId };
}

/** @returns The success and error notices on a page, without markup. */
export function noticesOf(html: string): string[] {
  return [...html.matchAll(/<div class="note (?:done|error)".*?<p>(.*?)<\/p>/g)].map(([, text = ""]) =>
    text
  );
}

/** @returns The name of the organization that the portal shows. */
export function activeOrganization(html: string): string | undefined {
  return /class="org-name">.*?<bdi class="cut">([^<]*)</.exec(html)?.[1];
}

/** @returns The actions in the row of a member or an invitation, as in their addresses. */
export function actionsOf(html: string, text: string): string[] {
  const row = html.split("<tr").slice(1).find((part) => part.includes(`>${text}<`))?.split("</tr>")[0] ?? "";
  return [...row.matchAll(/(?:href|action)="[^"]*\/(\w+)(?:\?[^"]*)?"/g)].map(([, action = ""]) => action);
}
