// The colors of a brand are readable, and the usual ones are those of the style sheet.
import assert from "node:assert/strict";
import fc from "../support/runner/fast_check.ts";
import { accentsOf, contrast, logoAspect, type Scheme, surfaces } from "../../domain/brand.ts";
import { logoBytesMax, parseLogo } from "../../domain/logo.ts";

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, "0")}`);
const readable = 4.5;

Deno.test("text and links stay readable in 1,000 random colors, in light and dark mode", () => {
  fc.assert(
    fc.property(color, (brand) => {
      const accents = accentsOf(brand);
      for (const scheme of ["light", "dark"] satisfies Scheme[]) {
        const { accent, ink, soft } = accents[scheme];
        for (const surface of [...surfaces[scheme].all, soft]) {
          assert.ok(contrast(accent, surface) >= readable, `${brand}: ${accent} on ${surface}`);
        }
        assert.ok(contrast(ink, accent) >= readable, `${brand}: ${ink} on ${accent}`);
        assert.ok(contrast(surfaces[scheme].muted, soft) >= readable, `${brand}: muted on ${soft}`);
      }
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("a readable color stays as it is, and black and white are 21 to 1", () => {
  assert.equal(accentsOf("#0e6652").light.accent, "#0e6652");
  assert.equal(contrast("#000000", "#ffffff"), 21);
});

Deno.test("the surfaces are those of the style sheet", async () => {
  const css = await Deno.readTextFile(new URL("../../static/styles/base.css", import.meta.url));
  const tokens = ["surface", "paper", "sunken", "hover", "raised", "muted"].map((name) => {
    const [, light = "", dark = ""] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css) ??
      [];
    return { name, light, dark };
  });
  for (const scheme of ["light", "dark"] satisfies Scheme[]) {
    const { all, muted } = surfaces[scheme];
    const sheet = tokens.filter(({ name }) => name !== "muted").map((token) => token[scheme]);
    assert.deepEqual(new Set(all), new Set(sheet));
    assert.equal(muted, tokens.find(({ name }) => name === "muted")?.[scheme]);
  }
});

const svg = (inside: string, more = "") =>
  new TextEncoder().encode(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 20" ${more}>${inside}</svg>`,
  );

function kept(bytes: Uint8Array): string {
  const logo = parseLogo(bytes);
  if (typeof logo === "string") assert.fail(logo);
  return new TextDecoder().decode(logo.content);
}

Deno.test("a logo keeps what draws", () => {
  const drawing =
    '<defs><linearGradient id="a"><stop offset="0" stop-color="#fff"></stop></linearGradient></defs>' +
    '<g transform="scale(2)" style="fill: url(#a); stroke: red"><path d="M0 0h8" class="b"></path></g>' +
    '<style>.b { fill: url("#a") }</style><use href="#a"></use><text x="1">A &amp; B</text>';
  const text = kept(svg(drawing.replace("<g ", '<metadata><x>1</x></metadata><g data-name="1" ')));
  assert.ok(text.endsWith(`${drawing.replace('url("#a")', "url(&quot;#a&quot;)")}</svg>`), text);
  assert.match(text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" [^>]*viewBox="0 0 60 20">/);
  const logo = parseLogo(new TextEncoder().encode('<svg width="90" height="30px"/>'));
  assert.ok(typeof logo !== "string");
  assert.equal(logoAspect(logo.content), 3);
});

Deno.test("a logo keeps nothing that runs or loads", () => {
  const attacks = [
    "<script>canary()</script>",
    '<script href="https://evil.example/canary.js"/>',
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="canary()"/></foreignObject>',
    '<a href="javascript:canary()"><path d="M0 0"/></a>',
    '<image href="https://evil.example/canary.png"/>',
    '<use href="https://evil.example/canary.svg#a"/>',
    '<use xlink:href="data:image/svg+xml,canary"/>',
    '<path d="M0 0" onclick="canary()" onmouseover="canary()"/>',
    '<path style="fill: url(https://evil.example/canary)"/>',
    '<path style="fill: u\\72l(https://evil.example/canary)"/>',
    '<path fill="url( //evil.example/canary#a)"/>',
    '<style>@import "https://evil.example/canary";</style>',
    "<style><![CDATA[ * { background: url('https://evil.example/canary') } ]]></style>",
    '<style>* { background: image-set("https://evil.example/canary" 1x) }</style>',
    '<animate attributeName="href" to="javascript:canary()"/>',
    '<set attributeName="onload" to="canary()"/>',
    '<handler type="text/javascript">canary()</handler>',
    "<svg:script xmlns:svg='http://www.w3.org/2000/svg'>canary()</svg:script>",
    "<?xml-stylesheet href='https://evil.example/canary.css'?>",
    "<!-- canary -->",
  ];
  for (const attack of attacks) {
    const text = kept(svg(attack));
    assert.doesNotMatch(text, /canary|<script|<foreignObject|<image|<a[ >]|<animate| on\w+=/i, attack);
  }
  assert.doesNotMatch(kept(svg("<path/>", 'onload="canary()"')), /canary/);
});

Deno.test("other files are not logos, and say why", () => {
  const text = (content: string) => parseLogo(new TextEncoder().encode(content));
  assert.match(String(text("<html></html>")), /neither/);
  assert.match(String(text("<svg viewBox='0 0 1 1'>")), /neither/);
  assert.match(String(text("<!DOCTYPE svg [<!ENTITY a 'b'>]><svg viewBox='0 0 1 1'>&a;</svg>")), /neither/);
  assert.match(String(text("<svg/>")), /viewBox/);
  assert.match(String(parseLogo(new Uint8Array(logoBytesMax + 1))), /100 KiB/);
  const png = new Uint8Array(40);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  new DataView(png.buffer).setUint32(16, 300);
  new DataView(png.buffer).setUint32(20, 100);
  const logo = parseLogo(png);
  assert.ok(typeof logo !== "string");
  assert.deepEqual([logo.type, logoAspect(logo.content)], ["image/png", 3]);
  new DataView(png.buffer).setUint32(20, 100_000);
  assert.match(String(parseLogo(png)), /4096 pixels/);
});
