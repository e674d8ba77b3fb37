// A person's browser on its way from an application through our pages and back: it signs in, confirms, consents and signs out.
import assert from "node:assert/strict";
import { type TestApp, testPassword } from "../app/app.ts";
import type { Visited, Visitor } from "../identity_providers/visitor.ts";
import { formsOf, type PageForm } from "../portal/markup.ts";

/** Says how a visit ended: where our pages sent the browser, and the paths of the forms that the person answered. */
export interface Passed {
  /** The address at the application; null if the last page leads nowhere. */
  readonly answer: URL | null;
  readonly asked: readonly string[];
  readonly page: Visited;
}

/** How a person answers each form, by its path. */
const answers: Readonly<Record<string, (email: string) => Record<string, string>>> = {
  "/sign-in": (email) => ({ email, password: testPassword }),
  "/portal/confirm-password": () => ({ password: testPassword }),
  "/authorize/decision": () => ({ decision: "allow" }),
  "/sign-out/confirm": () => ({}),
};
const headers = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" };

/**
 * Opens an address and answers every page that asks something, until one sends the browser to another site.
 *
 * @param options `from`: the site with the link. `stopAt`: the path of a form that the person doesn't answer.
 * `site`: the origin of an application that is visited, too.
 */
export async function passPages(
  browser: Visitor,
  address: string | URL,
  { test, email, from = "https://app.example.com", stopAt, site }: {
    test: Pick<TestApp, "config" | "advance">;
    email: string;
    from?: string;
    stopAt?: string;
    site?: string;
  },
): Promise<Passed> {
  const isOutside = ({ origin }: URL) => origin !== test.config.baseUrl.origin && origin !== site;
  const asked: string[] = [];
  let page = await browser.open(address, { from, headers, stopAt: isOutside });
  for (;;) {
    const next = page.location ?? goesOnTo(page);
    if (next !== null && isOutside(next)) return { answer: next, asked, page };
    const form = next === null
      ? formsOf(page.html).find(({ action }) => Object.hasOwn(answers, action))
      : null;
    if (form === undefined || form !== null && form.action === stopAt) return { answer: null, asked, page };
    if (form !== null) asked.push(form.action);
    // No one answers within the same millisecond.
    test.advance(1);
    assert.ok(asked.length < 5, `asked again and again: ${asked}`);
    const options = { from: page.url.origin, headers, stopAt: isOutside };
    page = form === null
      ? await browser.open(next ?? "", options)
      : await browser.open(new URL(form.action, page.url), {
        ...options,
        form: { ...hiddenOf(form), ...answers[form.action]?.(email) },
      });
  }
}

/** Returns where a page goes on by itself; null if it stays. */
function goesOnTo({ html, url }: Visited): URL | null {
  const [, target] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(html) ?? [];
  return target === undefined ? null : new URL(target.replaceAll("&amp;", "&"), url);
}

function hiddenOf({ fields, options }: PageForm): Record<string, string> {
  const hidden = fields.filter(({ attributes }) => attributes.get("type") === "hidden")
    .map(({ attributes }) => [attributes.get("name") ?? "", attributes.get("value") ?? ""]);
  const chosen = [...options].map(([name, [first = ""]]) => [name, first]);
  return Object.fromEntries([...hidden, ...chosen]);
}
