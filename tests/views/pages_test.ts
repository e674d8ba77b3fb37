// Rules for every page: user text never becomes markup, nothing violates the content security policy, and screen readers can
// use it.
import assert from "node:assert/strict";
import { everyPage } from "./sample.ts";

const evil = `<img src=x onerror=alert(1)>"'&</title></script>`;
const names = Object.keys(everyPage("Ada"));

async function textOf(name: string, text: string): Promise<string> {
  return String(await everyPage(text)[name]);
}

function count(html: string, pattern: RegExp): number {
  return html.match(pattern)?.length ?? 0;
}

for (const name of names) {
  Deno.test(`${name}: user text never becomes markup`, async () => {
    const html = await textOf(name, evil);
    assert.ok(!html.includes("<img") && !html.includes(`"'&<`));
    const shape = (page: string) => page.match(/<\/?[a-z][a-z0-9]*/gi)?.join(" ");
    assert.equal(shape(html), shape(await textOf(name, "Ada")));
  });

  Deno.test(`${name}: has no inline style and no inline script`, async () => {
    const html = await textOf(name, "Ada");
    assert.equal(count(html, /\sstyle=|<style|\son[a-z]+=|hx-on|javascript:|hx-vals/g), 0);
    for (const script of html.match(/<script\b[^>]*>[\s\S]*?<\/script>/g) ?? []) {
      assert.match(script, /^<script defer(="")? src="\/static\/[^"]+"><\/script>$/);
    }
  });

  Deno.test(`${name}: has a language, a title, one main heading and a skip link`, async () => {
    const html = await textOf(name, "Ada");
    assert.match(html, /^<!doctype html><html lang="en"><head>/);
    assert.match(html, /<meta name="viewport" content="width=device-width, initial-scale=1"\/?>/);
    assert.match(html, /<title>[^<]+ · Gatehouse<\/title>/);
    assert.equal(count(html, /<h1/g), 1);
    assert.match(html, /<a class="skip" href="#main">/);
    assert.equal(count(html, /<main id="main"/g), 1);
  });

  Deno.test(`${name}: ids are unique, and referenced ids exist`, async () => {
    const html = await textOf(name, "Ada");
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(ids, [...new Set(ids)]);
    const references = html.matchAll(/\s(?:for|aria-describedby|aria-labelledby|data-copy)="([^"]+)"/g);
    for (const [, list = ""] of references) {
      for (const id of list.split(" ")) assert.ok(ids.includes(id), `no element has the id ${id}`);
    }
  });

  Deno.test(`${name}: every field has a label, and passwords are never sent back`, async () => {
    const html = await textOf(name, "Ada");
    for (const [input] of html.matchAll(/<(?:input|select)\b[^>]*>/g)) {
      if (/type="(hidden|radio|checkbox)"|aria-label="[^"]/.test(input)) continue;
      const id = /\sid="([^"]+)"/.exec(input)?.[1];
      assert.ok(html.includes(`<label for="${id}">`), input);
      if (input.includes(`type="password"`)) assert.ok(!input.includes("value="), input);
    }
  });

  Deno.test(`${name}: renders the same for the same input`, async () => {
    assert.equal(await textOf(name, "Ada"), await textOf(name, "Ada"));
  });
}
