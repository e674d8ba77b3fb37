// Rules for every page: user text never becomes markup, nothing violates the content security policy, and screen readers can
// use it. A page that isn't well-formed breaks the first of them while it is read.
import assert from "node:assert/strict";
// deno-lint-ignore no-import-prefix
import { HtmlValidate, StaticConfigLoader } from "npm:html-validate@11.18.0";
import type { CrawledPage } from "./crawl.ts";
import type { Element } from "./markup.ts";

/** Addresses of links and files: of this app, in emails, and files without scripts. */
const safeAddress = /^([/#?]|https?:\/\/|mailto:|otpauth:|data:text\/plain)/;

/** Resolves the configuration once, because that takes as long as validating a page. */
class FixedConfigLoader extends StaticConfigLoader {
  #resolved: ReturnType<StaticConfigLoader["getConfigFor"]> | undefined;

  override getConfigFor(...given: Parameters<StaticConfigLoader["getConfigFor"]>) {
    return this.#resolved ??= super.getConfigFor(...given);
  }
}

const validator = new HtmlValidate(new FixedConfigLoader({ extends: ["html-validate:standard"] }));

/** Attributes with values that people or programs choose. The validator looks only at their form. */
const chosenValue =
  /^(href|src|action|formaction|id|for|value|class|d|points|x|y|[xyr][12xy]?|c[xy]|width|height|name|content|title|datetime|placeholder|viewBox|transform|max|min|high|low|optimum|maxlength|colspan|pattern|rows|hx-.*|data-.*|aria-(label|labelledby|describedby|controls))$/;

/** @returns True for a page with an element, or an attribute of one, in a place where no earlier page has it. */
export function newMarkup(): (page: CrawledPage) => boolean {
  const seen = new Set<string>();
  const forms = new Map<Element["attributes"], string>();
  return ({ html, elements }) => {
    const before = seen.size;
    for (const { name, attributes, place } of elements) {
      const form = forms.get(attributes) ?? [...attributes].map(formOf).join();
      forms.set(attributes, form);
      seen.add(`${place} ${name} ${form}`);
    }
    for (const [childless] of html.matchAll(/<(\w+)[^<>]*><\/\1>/g)) {
      seen.add(childless.replaceAll(/="[^"]*"/g, ""));
    }
    return seen.size > before;
  };
}

/** @returns An attribute with its value, or with the form of one that was chosen: empty, a number, words, or a word. */
function formOf([name, value]: readonly [string, string]): string {
  if (!chosenValue.test(name) || value === "") return `${name}=${value}`;
  return name + (/^\d+$/.test(value) ? "=0" : /\s/.test(value) ? "=a b" : "=a");
}

/** The rules by what they promise. */
export const pageRules: Readonly<Record<string, (page: CrawledPage) => void>> = {
  "is valid HTML": ({ html }) => {
    const [result] = validator.validateStringSync(html).results;
    const faults = result?.messages.map(({ message, line, column }) =>
      `${message}: ${html.split("\n")[line - 1]?.slice(Math.max(0, column - 100), column + 60)}`
    );
    assert.deepEqual(faults ?? [], []);
  },
  "has as many cells in each row of a table as headings": ({ html }) => {
    const cells = (row: string) =>
      (row.match(/<t[hd]\b[^>]*>/g) ?? []).reduce(
        (sum, cell) => sum + Number(/ colspan="(\d+)"/.exec(cell)?.[1] ?? 1),
        0,
      );
    for (const [table] of html.matchAll(/<table\b.*?<\/table>/gs)) {
      const [headings, ...rows] = table.split(/<tr\b/).slice(1).map(cells);
      for (const row of rows) assert.equal(row, headings, table.slice(0, 1_000));
    }
  },
  "has no inline style, no inline script and no other images than its own": ({ html, elements }) => {
    for (const { name, attributes } of elements) {
      assert.ok(name !== "style" && name !== "img", name);
      for (const key of attributes.keys()) assert.doesNotMatch(key, /^(style|on.*|hx-on.*|hx-vals)$/);
      for (const key of ["href", "src", "action", "formaction", "hx-get"]) {
        const address = attributes.get(key);
        if (address !== undefined) assert.match(address, safeAddress);
      }
    }
    for (const script of html.match(/<script\b[^>]*>[\s\S]*?<\/script>/g) ?? []) {
      assert.match(script, /^<script defer(="")? src="\/static\/[^"]+"><\/script>$/);
    }
  },
  "has a language, a title, one main heading and a skip link": ({ html, elements }) => {
    assert.match(html, /^<!doctype html><html lang="en"><head>/);
    assert.match(html, /<meta name="viewport" content="width=device-width, initial-scale=1"\/?>/);
    assert.match(html, /<title>[^<]+ · Gatehouse<\/title>/);
    assert.equal(elements.filter(({ name }) => name === "h1").length, 1);
    assert.match(html, /<a class="skip" href="#main">/);
    assert.equal(
      elements.filter(({ name, attributes }) => name === "main" && idOf({ attributes }) === "main").length,
      1,
    );
  },
  "has unique ids, and the ids that it refers to": ({ elements }) => {
    const ids = elements.map(idOf).filter((id) => id !== undefined);
    assert.deepEqual(ids, [...new Set(ids)]);
    const references = elements.flatMap(({ attributes }) =>
      ["for", "aria-describedby", "aria-labelledby", "data-copy"].flatMap((key) =>
        attributes.get(key)?.split(" ") ?? []
      )
    );
    for (const id of references) assert.ok(ids.includes(id), `no element has the id ${id}`);
  },
  "has a label for every field, and never sends a password back": ({ html, elements }) => {
    for (const { name, attributes } of elements) {
      if (!["input", "select", "textarea"].includes(name)) continue;
      const type = attributes.get("type") ?? "";
      if (/hidden|radio|checkbox/.test(type) || attributes.get("aria-label")) continue;
      assert.ok(html.includes(`<label for="${attributes.get("id")}">`), attributes.get("name") ?? name);
      if (type === "password") assert.ok(!attributes.has("value"));
    }
  },
};

function idOf({ attributes }: Pick<Element, "attributes">): string | undefined {
  return attributes.get("id");
}
