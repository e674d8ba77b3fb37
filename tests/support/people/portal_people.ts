// Loads pages of the portal as a browser without JavaScript does, and reads what they say about people.
import type { Role } from "../../../domain/access/session.ts";
import type { TestApp, TestPerson } from "../app/app.ts";
import { openPage, type TestPage } from "../portal/pages.ts";
import { joinedPerson } from "./people.ts";
import { run } from "./scene.ts";

/** Requests a page. */
export function page(test: TestApp, path: string, person?: Pick<TestPerson, "cookie">): Promise<TestPage> {
  return openPage(test, path, person === undefined ? {} : { cookie: person.cookie });
}

/** Creates an account with a name from an invitation. */
export async function joinBy(
  test: TestApp,
  by: TestPerson,
  { name, role = "MEMBER" }: { name: string; role?: Role },
): Promise<TestPerson> {
  const person = await joinedPerson(test, by, role);
  await run(test, "UPDATE users SET name = ? WHERE id = ?", name, person.userId);
  return person;
}

/** @returns The success and error notices on a page, without markup. */
export function noticesOf(html: string): string[] {
  return [...html.matchAll(/<div class="note (?:done|error)".*?<p>(.*?)<\/p>/g)].map(([, text = ""]) => text);
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
