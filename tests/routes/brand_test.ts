// The company's name, logo and color on pages and in emails.
import assert from "node:assert/strict";
import { accentsOf } from "../../domain/brand.ts";
import { parseLogo } from "../../domain/logo.ts";
import { testApp } from "../support/app/app.ts";

const color = "#7c3aed";
const source = '<svg viewBox="0 0 20 20"><script>canary()</script><path d="M0 0h20v20H0z"/></svg>';
const wide = '<svg viewBox="0 0 90 20"><path d="M0 0h90v20H0z"/></svg>';

function logoUrl(source: string): string {
  const logo = parseLogo(new TextEncoder().encode(source));
  if (typeof logo === "string") assert.fail(logo);
  return `data:${logo.type};base64,${logo.content.toBase64()}`;
}

testApp("pages and emails have the company's name, logo and color", async (test) => {
  const { light, dark } = accentsOf(color);
  const person = await test.signUp();
  for (const path of ["/sign-in", "/portal/api-keys", "/docs", "/nowhere"]) {
    const html = await (await test.send(path, { cookie: path === "/sign-in" ? "" : person.cookie })).text();
    assert.match(html, /<title>[^<]* · Acme &lt;Maps&gt;<\/title>/, path);
    assert.match(html, /<img src="\/static\/logo\.[0-9a-f]{10}\.svg" alt=""/, path);
    assert.match(html, /<bdi class="cut">Acme &lt;Maps&gt;<\/bdi>/, path);
    assert.doesNotMatch(html, /· Gatehouse/, path);
    const [, css = ""] = /href="(\/static\/portal[^"]*\.css)"/.exec(html) ?? [];
    const styles = await (await test.send(css)).text();
    assert.ok(styles.includes(`--accent: light-dark(${light.accent}, ${dark.accent});`), path);
    const [, logo = ""] = /<img src="([^"]+)"/.exec(html) ?? [];
    assert.match(html, new RegExp(`<link rel="icon" href="${logo}" type="image/svg\\+xml"`));
    const answer = await test.send(logo);
    assert.equal(answer.headers.get("content-type"), "image/svg+xml");
    assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'.*sandbox$/);
    assert.doesNotMatch(await answer.text(), /canary/);
  }
  const [mail] = await test.mails();
  // An invisible character keeps mail programs from making links of names.
  assert.match(mail?.text ?? "", /Acme <Maps> at localhost:8000\. Please don't reply/);
  assert.ok(mail?.html.includes(`background: ${light.accent}; color: ${light.ink};`));
  assert.match(mail?.html ?? "", /Acme &lt;Maps&gt;/);
  assert.doesNotMatch(mail?.html ?? "", /#0e6652|Gatehouse/);
}, { BRAND_NAME: "Acme <Maps>", BRAND_COLOR: color.toUpperCase(), BRAND_LOGO: logoUrl(source) });

testApp("a wide logo stands alone, with the name as its text", async (test) => {
  const html = await (await test.send("/sign-in")).text();
  assert.match(html, /<img class="wide" src="\/static\/logo\.\w+\.svg" alt="Acme" height="26"\/?>\s*<\/a>/);
  assert.match(html, /<link rel="icon" href="\/static\/favicon/);
}, { BRAND_NAME: "Acme", BRAND_LOGO: logoUrl(wide) });
