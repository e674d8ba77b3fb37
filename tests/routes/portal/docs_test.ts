// The documentation: it covers the whole OpenAPI document, its links lead somewhere, its examples work, and strangers get pages
// that can be cached.
import assert from "node:assert/strict";
import { errorStatuses } from "../../../domain/errors.ts";
import { errorCodesOf } from "../../../routes/api/openapi/error_responses.ts";
import { Documentation } from "../../../routes/portal/docs/documentation.ts";
import { referenceGroups } from "../../../routes/portal/docs/reference.ts";
import { searchDocs, sectionsOf } from "../../../routes/portal/docs/search.ts";
import { renderMarkdown, splitMarkdown } from "../../../views/docs/markdown.tsx";
import { publicWord } from "../../../views/docs/reference.tsx";
import { createTestKey, startTestApp, type TestApp, testApp } from "../../support/app/app.ts";
import { documentOf } from "../../support/app/documented.ts";
import { isMissing } from "../../support/runner/needs.ts";
import { openPage } from "../../support/portal/pages.ts";
import { freePort } from "../../support/database/sqld.ts";

const origin = "http://localhost:8000";

/** @returns The text of an HTML page or a part of it. */
function textOf(html: string): string {
  return html.replaceAll(/<[^>]+>/g, "").replaceAll("&quot;", '"').replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** @returns The article of a page, without the navigation. */
const articleOf = (html: string) => /<article[^]*<\/article>/.exec(html)?.[0] ?? "";

/** @returns The paths of all pages: those in the navigation, and below them. */
function allPaths(test: TestApp): string[] {
  const { navigation } = new Documentation(documentOf(test.app), origin);
  const links = navigation.flatMap(({ links }) => links);
  return links.flatMap(({ path, below = [] }) => [path, ...below.map((one) => one.path)])
    .filter((path) => path.startsWith("/docs"));
}

testApp("the reference publicly lists every operation, error, parameter and field", async (test) => {
  const document = documentOf(test.app);
  const groups = referenceGroups(document);
  let all = "";
  for (const { path: groupPath, operations } of groups) {
    const { html: list } = await openPage(test, groupPath);
    for (const { id, method, path, summary } of operations) {
      assert.ok(list.includes(`<a href="${groupPath}/${id}">`), `${id} is not in its group`);
      const { status, html } = await openPage(test, `${groupPath}/${id}`);
      assert.equal(status, 200, id);
      all += html;
      const { parameters = [], responses } = document.paths[path]?.[method.toLowerCase()] ?? assert.fail(id);
      assert.ok(textOf(html).includes(`${method} ${path}`), id);
      assert.ok(textOf(html).includes(summary), id);
      for (const { name } of parameters) assert.ok(html.includes(`<code>${name}</code>`), `${id} ${name}`);
      for (const [status, { $ref, headers }] of Object.entries(responses)) {
        for (const [name, header] of Object.entries(headers ?? {})) {
          if (header.$ref === undefined) assert.ok(html.includes(`<code>${name}</code>`), name);
        }
        if ($ref === undefined) assert.ok(html.includes(`<strong>${status}</strong>`), `${id} ${status}`);
        for (const code of $ref === undefined ? [] : errorCodesOf($ref)) {
          assert.ok(html.includes(`href="/docs/errors#error-${code}"`), `${id} ${code}`);
        }
      }
    }
  }
  assert.equal(
    groups.flatMap(({ operations }) => operations).length,
    Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length,
  );
  const errors = await openPage(test, "/docs/errors");
  for (const code of Object.keys(errorStatuses)) assert.ok(errors.html.includes(`id="error-${code}"`), code);
  const fields = [...(all + errors.html).matchAll(/<code>(?:\S*[.])?(\w+)<\/code>/g)].map(([, name]) => name);
  const shown = new Set(fields);
  for (const { properties = {} } of Object.values(document.components.schemas)) {
    for (const name of Object.keys(properties)) assert.ok(shown.has(name), name);
  }
  // This operation accepts anonymous callers, but its example sends a session.
  const me = await openPage(test, "/docs/reference/sign-in/getSessionUser");
  assert.match(textOf(me.html), new RegExp(`Authentication: ${publicWord}[^]*access_token=\\$ACCESS_TOKEN`));
});

testApp("every link in the documentation leads to a page and to a place on it", async (test) => {
  const anchors = new Map<string, Set<string>>();
  const links = new Set<string>();
  const paths = allPaths(test);
  for (const path of paths) {
    const { status, html } = await openPage(test, path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(html, /<script(?![^>]* src="\/static\/)|style="|<iframe|<img|<!--/, path);
    assert.equal(html.match(/<h1/g)?.length, 1, path);
    assert.ok(textOf(articleOf(html)).length > 100, `${path} has no text`);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id);
    assert.equal(new Set(ids).size, ids.length, path);
    anchors.set(path, new Set(ids));
    for (const [, href = ""] of html.matchAll(/ href="([^"]+)"/g)) {
      const { origin: from, pathname, hash } = new URL(href.replaceAll("&amp;", "&"), origin + path);
      if (from === origin) links.add(pathname + hash);
    }
  }
  for (const link of links) {
    const [path = "", anchor] = link.split("#");
    if (anchors.has(path)) assert.ok(anchor === undefined || anchors.get(path)?.has(anchor), link);
    else {
      const { status } = await test.send(path);
      assert.ok(status === 200 || (path.startsWith("/portal") && status < 400), `${link}: ${status}`);
    }
  }
  assert.ok(links.has("/download/gatehouse.py"));
  const [listing, bodies] = ["/docs/reference/webhooks/listEvents", "/docs/reference/events"];
  for (const [from, to] of [[listing, bodies], [bodies, listing]] as const) {
    assert.ok(articleOf((await openPage(test, from)).html).includes(`<a href="${to}">`), from);
  }
});

testApp("pages of strangers can be cached; signed-in readers see their organization", async (test) => {
  const stranger = await openPage(test, "/docs");
  assert.match(stranger.answer.headers.get("cache-control") ?? "", /^public/);
  assert.equal(stranger.answer.headers.get("vary"), "Cookie");
  assert.match(stranger.html, /href="\/sign-in\?/);
  assert.ok(stranger.html.includes(test.config.baseUrl.origin));
  assert.doesNotMatch(stranger.html, /auth\.example\.com/);
  const person = await test.signUp();
  for (const path of ["/docs", "/docs/record-usage", "/docs/search?q=void"]) {
    const { html, answer } = await openPage(test, path, { person });
    assert.match(answer.headers.get("cache-control") ?? "", /no-store/, path);
    assert.match(html, /<a class="up-link" href="\/portal">/, path);
    assert.equal(html.includes("You are signed in to"), path === "/docs", path);
  }
  const after = await openPage(test, "/docs");
  assert.equal(after.html, stranger.html);
});

testApp("the search finds guides, operations, fields and errors, and bounds what it reads", async (test) => {
  const resultsOf = async (query: string) => {
    const { html, status } = await openPage(test, `/docs/search?q=${encodeURIComponent(query)}`);
    assert.equal(status, 200);
    const [, list = ""] = html.split('class="doc-results"');
    return { html, hrefs: [...list.matchAll(/<li><a href="([^"]+)"/g)].map(([, href = ""]) => href) };
  };
  assert.equal((await resultsOf("quick start")).hrefs[0], "/docs");
  assert.ok((await resultsOf("leaked key")).hrefs[0]?.startsWith("/docs/leaked-keys"));
  assert.ok((await resultsOf("Void a usage record")).hrefs.some((href) => href.includes("/voidUsageRecord")));
  assert.ok((await resultsOf("series_limit")).hrefs.some((href) => href.startsWith("/docs/errors")));
  assert.ok((await resultsOf("BACKUP_KEEP")).hrefs.includes("/docs/settings"));
  // Each word may be the beginning of one, and all must be there.
  assert.equal((await resultsOf("retry safely")).hrefs[0], "/docs/record-usage#retry-safely");
  assert.ok((await resultsOf("idempot retr")).hrefs.includes("/docs/record-usage#retry-safely"));
  assert.deepEqual((await resultsOf("usage xyzzy")).hrefs, []);
  assert.deepEqual((await resultsOf("")).hrefs, []);
  assert.ok((await resultsOf("usage")).hrefs.length <= 20);
  const odd = await resultsOf(`<b>"(.*${"[".repeat(300)}`);
  assert.doesNotMatch(odd.html, /<b>/);
  assert.ok(!odd.html.includes("[".repeat(101)));
});

testApp("the search finds words by their beginning, each once, and at most 20 pages", async (test) => {
  const docs = new Documentation(documentOf(test.app), origin);
  assert.equal((await docs.search("e a s t o i r c")).length, 20);
  assert.deepEqual(await docs.search("key key KEY"), await docs.search("key"));
  assert.deepEqual(await docs.search("_ __"), []);
  assert.ok((await docs.search("keep")).some(({ href }) => href === "/docs/settings"), "of BACKUP_KEEP");
});

testApp("recording usage is documented in JSON first, and as CloudEvents below", async (test) => {
  const { html } = await openPage(test, "/docs/reference/usage/recordUsage");
  const [json = "", others = ""] = html.split('<h2 id="other-formats">');
  assert.match(json, /<code>productSlug<\/code>/);
  assert.doesNotMatch(json, /specversion|CloudEvents 1/);
  assert.match(others, /<code>specversion<\/code>[^]*/);
  assert.match(others, /<code>ce-type<\/code>/);
  assert.ok(html.indexOf("<strong>201</strong>") < html.indexOf("<strong>200</strong>"));
});

/** @returns The example of a page in a language, without markup. */
function example(html: string, language: string): string {
  const [, shown = ""] = new RegExp(`aria-label="[^"]*, ${language}"[^>]*><pre>([^]*?)</pre>`).exec(html) ??
    [];
  return textOf(shown);
}

/** @returns All examples in a language, as code. */
function samplesIn(test: TestApp, language: string): string[] {
  return referenceGroups(documentOf(test.app)).flatMap(({ operations }) =>
    operations.map(({ read }) => read().samples.find((one) => one.language === language)?.code ?? "")
  );
}

const recordsInAll = "the reference records with curl, TypeScript and Python, and all of its Python is valid";
Deno.test({ name: recordsInAll, ignore: isMissing("python3-requests") }, async () => {
  const port = freePort();
  const test = await startTestApp({ PORT: String(port), BASE_URL: `http://localhost:${port}` });
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {} },
    (request) => test.app.fetch(request),
  );
  try {
    const { fullKey } = await createTestKey(test, await test.signUp());
    const { html } = await openPage(test, "/docs/reference/usage/recordUsage");
    const run = async (command: string, args: readonly string[]) => {
      const { success, stdout, stderr } = await new Deno.Command(command, {
        args: [...args],
        env: { GATEHOUSE_KEY: fullKey, NO_COLOR: "1" },
      }).output();
      const text = new TextDecoder();
      assert.ok(success, text.decode(stderr));
      return text.decode(stdout);
    };
    const command = example(html, "curl").replace("curl ", "curl --silent --show-error --fail-with-body ");
    const { usageRecord } = JSON.parse(await run("bash", ["-c", command]));
    assert.equal(usageRecord.quantity, 1);
    assert.deepEqual(usageRecord.properties, { region: "eu-central" });
    // The same idempotency key again: the response is 200, with the first record.
    const ts = await run(Deno.execPath(), ["eval", example(html, "TypeScript")]);
    assert.match(ts, new RegExp(`^200 .*${usageRecord.id}`));
    const py = await run("python3", ["-c", example(html, "Python")]);
    assert.match(py, new RegExp(`^200 .*${usageRecord.id}`));
    const samples = JSON.stringify(JSON.stringify(samplesIn(test, "py")));
    await run("python3", ["-c", `import json\nfor one in json.loads(${samples}): compile(one, one, "exec")`]);
  } finally {
    await server.shutdown();
    await test.dispose();
  }
});

testApp("every TypeScript example of the reference is valid", async (test) => {
  const AsyncFunction = (async () => {}).constructor as new (code: string) => unknown;
  const samples = samplesIn(test, "ts");
  for (const code of samples) assert.doesNotThrow(() => new AsyncFunction(code), code);
  assert.ok(samples.length > 100 && !samples.includes(""));
  await Promise.resolve();
});

testApp("the reference describes limits in words, and quotes arguments for the shell", async (test) => {
  const document = structuredClone(documentOf(test.app));
  const { content } = document.paths["/api/portal/alerts"]?.["post"]?.requestBody ?? assert.fail();
  const example = { per: "it's $HOME", apiKeyId: null, "a-b": [true, 1.5] };
  Object.assign(content["application/json"] ?? {}, { example });
  Object.assign(document, { tags: [...document.tags, { name: "Empty", description: "" }] });
  const groups = referenceGroups(document);
  assert.ok(!JSON.stringify(groups).includes("Empty"));
  const all = Object.fromEntries(
    groups.flatMap(({ operations }) => operations.map(({ id, read }) => [id, read()])),
  );
  assert.equal(all["listApiKeys"]?.parameters[0]?.type, "in the query, integer, 1 to 100, default 50");
  const fields = ["createAlert", "recordUsageBatch"].flatMap((id) =>
    all[id]?.body?.fields.map(({ name, type, isRequired }) => `${name}: ${type}, ${isRequired}`) ?? []
  );
  for (
    const field of [
      "per: one of minute, hour, day, month, total, true",
      "notifyAt: list, or null, false",
      "apiKeyId: string, up to 100 characters, default null, or null, false",
      "records[].timestamp: time, or null, false",
    ]
  ) assert.ok(fields.includes(field), `${field} is not in ${fields.join("; ")}`);
  const { errors = [], schemes, samples = [] } = all["createAlert"] ?? {};
  assert.deepEqual(errors.filter(({ status }) => status === 403), [
    ...["forbidden", "cross_site", "organization_suspended"].map((code) => ({ code, status: 403 })),
  ]);
  assert.deepEqual(schemes, ["Session"]);
  const [curl = "", ts = "", py = ""] = samples.map(({ code }) => code);
  assert.doesNotMatch(curl, /Origin/);
  assert.ok(curl.includes(`it'\\''s $HOME`), curl);
  assert.ok(ts.includes(`per: "it's $HOME"`) && ts.includes(`"a-b": [`), ts);
  assert.ok(py.includes(`"apiKeyId": None`) && py.includes("True"), py);
  await Promise.resolve();
});

Deno.test("headings and words with combining marks are linked and found whole", () => {
  const part = splitMarkdown("Intro.\n\n## क्षेत्र के नाम\n\nText.", []).get("") ?? assert.fail();
  const { html } = renderMarkdown(part, { link: (href) => href, code: (text) => text });
  const sections = sectionsOf({ path: "/docs/x", group: "Guides", title: "X", html });
  assert.deepEqual(searchDocs(sections, "क्षेत्र").map(({ href }) => href), ["/docs/x#क्षेत्र-के-नाम"]);
  assert.deepEqual(searchDocs(sections, "षेत्र"), [], "not from within a word");
});

Deno.test("tables of guides align numbers, and label cells with the words of their column", () => {
  const table = "Intro.\n\n| Step | `used` |\n| ---- | -----: |\n| one  |      1 |";
  const part = splitMarkdown(table, []).get("") ?? assert.fail();
  const { html } = renderMarkdown(part, { link: (href) => href, code: (text) => text });
  assert.ok(html.includes(`<td class="num" data-label="used">1</td>`), html);
});
