// Reads pages strictly: what is not well-formed, such as text that was not escaped, is an error.
import assert from "node:assert/strict";

/** An element of a page, without its content. */
export interface Element {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** The names of the elements that it is in, and of the one before it, such as `html/body/main:h1`. */
  readonly place: string;
}

/** A form with its fields. */
export interface PageForm {
  readonly action: string;
  readonly method: string;
  readonly fields: readonly Element[];
  /** The values of each `select`, by name, the selected one first. */
  readonly options: ReadonlyMap<string, readonly string[]>;
}

const token =
  /<!doctype html>|<(\/?)([a-z][a-zA-Z0-9]*)((?:\s+[a-zA-Z0-9:-]+(?:="[^"<]*")?)*)\s*\/?>|[^<]+/gy;
const attribute = /\s([a-zA-Z0-9:-]+)(?:="([^"]*)")?/g;
const empty = new Set(["meta", "link", "input", "br", "hr", "img", "wbr", "source"]);

/** Lists the elements of a page in their order. @throws If it isn't well-formed. */
export function elementsOf(html: string): Element[] {
  const elements: Element[] = [];
  const open: { name: string; place: string; last: string }[] = [{ name: "", place: "", last: "" }];
  let end = 0;
  for (const [text, closing, name, attributes = ""] of html.matchAll(token)) {
    end += text.length;
    if (name === undefined) continue;
    const parent = open.at(-1) ?? { name: "", place: "", last: "" };
    if (closing === "/") {
      assert.equal(name, parent.name, html.slice(Math.max(0, end - 200), end));
      open.pop();
      continue;
    }
    elements.push({ name, attributes: attributesOf(attributes), place: `${parent.place}:${parent.last}` });
    parent.last = name;
    if (!empty.has(name) && !text.endsWith("/>")) {
      open.push({ name, place: `${parent.place}/${name}`, last: "" });
    }
  }
  assert.equal(end, html.length, `not well-formed: ${html.slice(end, end + 200)}`);
  assert.deepEqual(open.slice(1), []);
  return elements;
}

/** Remembered, because most elements of a crawl repeat those of other pages. */
const known = new Map<string, ReadonlyMap<string, string>>();

function attributesOf(text: string): ReadonlyMap<string, string> {
  let attributes = known.get(text);
  if (attributes === undefined) {
    const pairs = [...text.matchAll(attribute)].map(([, key = "", value = ""]) =>
      [key, unescaped(value)] as const
    );
    attributes = new Map(pairs);
    assert.equal(attributes.size, pairs.length, text);
    known.set(text, attributes);
  }
  return attributes;
}

/** Lists the forms of a page. */
export function formsOf(html: string): PageForm[] {
  return (html.match(/<form\b.*?<\/form>/gs) ?? []).map((part) => {
    const elements = elementsOf(part);
    const [form] = elements;
    const options = new Map<string, string[]>();
    for (const select of part.match(/<select\b.*?<\/select>/gs) ?? []) {
      const [list, ...items] = elementsOf(select);
      const values = items.filter(({ name }) => name === "option")
        .toSorted((a, b) => Number(b.attributes.has("selected")) - Number(a.attributes.has("selected")))
        .map(({ attributes }) => attributes.get("value") ?? "");
      options.set(list?.attributes.get("name") ?? "", values);
    }
    return {
      action: form?.attributes.get("action") ?? "",
      method: form?.attributes.get("method") ?? "get",
      fields: elements.filter(({ name, attributes }) =>
        ["input", "textarea", "button"].includes(name) && attributes.has("name")
      ),
      options,
    };
  });
}

/** Escapes text as pages do. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
    '"',
    "&quot;",
  )
    .replaceAll("'", "&#39;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll(
    "&#39;",
    "'",
  )
    .replaceAll("&amp;", "&");
}

/** @returns The words of a page as people read them, with one space between them. */
export function textOf(html: string): string {
  const main = html.slice(html.indexOf("<main"));
  return main.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ").trim();
}
