// Follows every link and submits every form of the portal, as people with different rights.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { type Element, elementsOf, formsOf, type PageForm } from "./markup.ts";

/** A page that someone got. */
export interface CrawledPage {
  readonly viewer: string;
  readonly cookie: string | undefined;
  /** Its address, after the method if that isn't GET. */
  readonly address: string;
  readonly status: number;
  readonly html: string;
  readonly elements: readonly Element[];
  readonly forms: readonly PageForm[];
}

/** Someone whose pages are visited. `cookie`: undefined for visitors. `paths`: where to begin. */
export interface Viewer {
  readonly name: string;
  readonly cookie: string | undefined;
  readonly paths: readonly string[];
}

/** How many pages of one route are visited, how many of them without filters, and how many with the same filters. */
const usual = { ofRoute: 9, plain: 8, ofFilters: 1 };
/** Links to files. */
const files = /^\/(static|api)\/|\.(md|txt|json)$/;

/** @returns The pages that links lead to, each once. @throws If a link is dead. */
export async function crawl(
  test: TestApp,
  { name, cookie, paths }: Viewer,
  most = usual,
): Promise<CrawledPage[]> {
  const pages: CrawledPage[] = [];
  const routeOf = routeFinder(test);
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  const waiting: { path: string; from: string }[] = paths.map((path) => ({ path, from: "the start" }));
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { path, from } = next;
    if (seen.has(path) || !isWanted(path, { route: routeOf(path), counts, most })) continue;
    seen.add(path);
    const page = await open(test, path, { viewer: name, cookie });
    if (page === null) continue;
    if ("location" in page) {
      waiting.unshift({ path: page.location, from: path });
      continue;
    }
    assert.ok(
      page.status === 200 || /^(the start|\/dev)/.test(from),
      `${name}: ${from} links to ${path}: ${page.status}`,
    );
    pages.push(page);
    waiting.push(...linksOf(test, page).map((link) => ({ path: link, from: path })));
  }
  return pages;
}

/** Returns a function that finds the route of an address: its path with names instead of values. */
export function routeFinder({ app }: TestApp): (address: string) => string {
  const routes = app.routes.filter(({ method, path }) => method === "GET" && !path.endsWith("*")).map((
    { path },
  ) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/:\w+(?:\{[^/]*\})?/g, "[^/]+")}$`),
  }));
  return (address) => {
    const [path = ""] = address.replace("POST ", "").split("?");
    return routes.find(({ pattern }) => pattern.test(path))?.path ?? path;
  };
}

/**
 * Submits each kind of form that has fields to fill in, with a value that none of them takes.
 *
 * @returns The pages that say so.
 */
export async function rejectForms(
  test: TestApp,
  pages: readonly CrawledPage[],
  value: string,
): Promise<CrawledPage[]> {
  const rejected: CrawledPage[] = [];
  const routeOf = routeFinder(test);
  const kinds = new Set<string>();
  for (const { viewer, cookie, forms } of pages) {
    for (const { action, method, fields, options } of forms) {
      const kind = `${method} ${routeOf(action)} ${
        fields.map(({ attributes }) => attributes.get("name")).join(" ")
      }`;
      if (kinds.has(kind) || !fields.some(isFilledIn)) continue;
      kinds.add(kind);
      const values = fields.flatMap((field): [string, string][] => {
        const { attributes } = field;
        const own = isFilledIn(field) ? value : attributes.get("value") ?? "on";
        const isSent = !/radio|checkbox|submit/.test(attributes.get("type") ?? "") ||
          attributes.has("checked");
        return isSent ? [[attributes.get("name") ?? "", own]] : [];
      });
      const form = Object.fromEntries([
        ...[...options].map(([name, [first = ""]]) => [name, first]),
        ...values,
      ]);
      const page = method === "get"
        ? await open(test, `${action}?${new URLSearchParams(form)}`, { viewer, cookie })
        : await open(test, action, { viewer, cookie, form });
      if (page !== null && "html" in page) rejected.push(page);
    }
  }
  return rejected;
}

/** Requests a page. @returns Null for what isn't a page. */
export async function open(
  test: TestApp,
  path: string,
  { viewer, cookie, form }: { viewer: string; cookie: string | undefined; form?: Record<string, string> },
): Promise<CrawledPage | { location: string } | null> {
  const response = await test.send(path, {
    ...(cookie === undefined ? {} : { cookie }),
    ...(form === undefined ? {} : { form }),
  });
  const location = response.headers.get("location");
  const html = await response.text();
  if (location !== null) return { location: local(test, location) ?? "/sign-in" };
  if (!(response.headers.get("content-type") ?? "").startsWith("text/html")) {
    assert.ok(response.status < 400, `${viewer}: ${path}: ${response.status}`);
    return null;
  }
  const address = form === undefined ? path : `POST ${path}`;
  try {
    return {
      viewer,
      cookie,
      address,
      status: response.status,
      html,
      elements: elementsOf(html),
      forms: formsOf(html),
    };
  } catch (error) {
    throw new Error(`${viewer}: ${address}`, { cause: error });
  }
}

function isFilledIn({ name, attributes }: Element): boolean {
  return name === "textarea" ||
    name === "input" && !/hidden|radio|checkbox|submit/.test(attributes.get("type") ?? "text");
}

function isWanted(
  path: string,
  { route, counts, most }: { route: string; counts: Map<string, number>; most: typeof usual },
): boolean {
  const names = [...new URL(path, "http://x").searchParams.keys()].sort();
  const filters = `${route}?${names}`;
  const [ofRoute = 0, ofFilters = 0] = [counts.get(route), counts.get(filters)];
  if (ofRoute >= most.ofRoute || ofFilters >= (names.length === 0 ? most.plain : most.ofFilters)) {
    return false;
  }
  counts.set(route, ofRoute + 1).set(filters, ofFilters + 1);
  return true;
}

function linksOf(test: TestApp, { elements }: CrawledPage): string[] {
  return elements.flatMap(({ attributes }) =>
    ["href", "hx-get"].flatMap((name) => {
      const path = local(test, attributes.get(name) ?? "");
      return path === null || files.test(path) ? [] : [path];
    })
  );
}

/** Returns the path and query of an address of this app, or null. */
function local({ config }: TestApp, address: string): string | null {
  if (address === "" || address.startsWith("#")) return null;
  const { origin, pathname, search } = new URL(address, config.baseUrl);
  return origin === config.baseUrl.origin ? pathname + search : null;
}
