// Opens the portal's usage page and reads what it shows.
import assert from "node:assert/strict";
import type { TestApp, TestPerson } from "../app/app.ts";

/** Opens the usage page. @returns Its HTML and what it shows. */
export async function usagePage(
  test: TestApp,
  person: TestPerson,
  query: Record<string, string> | string = {},
) {
  const path = typeof query === "string" ? query : `/portal/usage?${new URLSearchParams(query)}`;
  const response = await test.send(path, { cookie: person.cookie });
  const html = await response.text();
  assert.equal(response.status, 200, `${path}: ${html.slice(0, 300)} ${test.logged()}`);
  return { html, ...shownOn(html) };
}

function text(html: string): string {
  return html.replaceAll(/<[^>]*>/g, "").replaceAll("&amp;", "&").replaceAll("\u2060", "").trim();
}

/** Reads the figures and tables of the explorer on a page. */
export function shownOn(html: string) {
  const tableOf = (pattern: RegExp): string[][] => {
    const [table = ""] = pattern.exec(html) ?? [];
    return [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].slice(1).map(([, row = ""]) =>
      [...row.matchAll(/<t[hd]\b[^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) => text(cell))
    );
  };
  return {
    ...stripOf(html),
    label: text(/<h1>Usage<\/h1><p class="muted">(.*?)<\/p>/s.exec(html)?.[1] ?? ""),
    // The page has the newest first.
    numbers: tableOf(/<details class="numbers"[^>]*>.*?<\/details>/s).toReversed(),
    // The table of the current tab.
    products: tableOf(/<table[^>]*aria-label="Product">.*?<\/table>/s),
    keys: tableOf(/<table[^>]*aria-label="API key">.*?<\/table>/s),
    organizations: tableOf(/<table[^>]*aria-label="Organization">.*?<\/table>/s),
    outcomes: tableOf(/<table[^>]*aria-label="Outcome">.*?<\/table>/s),
    tabs: [
      .../<nav class="tabs" aria-label="Usage by">.*?<\/nav>/s.exec(html)?.[0].matchAll(/<a .*?<\/a>/gs) ??
        [],
    ]
      .map(([tab]) => text(tab).replace(/\s+/g, " ")),
    chosen: Object.fromEntries(
      [...html.matchAll(/<select id="menu-([^"]+)".*?<\/select>/gs)].map(([select, name = ""]) => [
        name,
        /<option value="([^"]*)" selected/.exec(select)?.[1],
      ]),
    ),
    faults: [...html.matchAll(/<p class="field-error" id="([^"]+)-error">(.*?)<\/p>/gs)].map((
      [, field, words = ""],
    ) => `${field}: ${text(words)}`),
  };
}

/** @returns The metrics above the chart with their totals and changes, and those of the chosen one. */
function stripOf(html: string) {
  const strip = [...html.matchAll(/<a class="figure"[^>]*>.*?<\/a>/gs)].map(([figure]) => {
    const [metric = "", sum = "", change = ""] = ["label", "value", "change-line"].map((name) =>
      text(
        new RegExp(`<span class="${name}[^"]*">(.*?)</span>(?=<span class="(?:value|change-line)|</a>)`, "s")
          .exec(figure)?.[1] ?? "",
      )
    );
    return { metric, sum, change, isChosen: figure.includes("aria-current") };
  });
  const { metric = null, sum = "", change = "" } = strip.find(({ isChosen }) => isChosen) ?? {};
  return { strip: strip.map(({ metric, sum }) => [metric, sum]), metric, sum, change };
}

/** @returns The address of a link. */
export function hrefOf(html: string, words: string): string {
  const href = new RegExp(`<a [^>]*href="([^"]+)"[^>]*>(?:<bdi>)?${words}<`).exec(html)?.[1];
  return (href ?? assert.fail(`no link “${words}”`)).replaceAll("&amp;", "&");
}
