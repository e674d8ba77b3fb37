// The list of API keys with statuses and actions, and the page of a new key.
import assert from "node:assert/strict";
import { apiKeysPage } from "../../../views/api_keys/api_keys.tsx";
import { createdKeyPage } from "../../../views/api_keys/new_api_key.tsx";
import { apiKeyWords } from "../../support/portal/words/api_keys.ts";
import { inPage } from "../../support/portal/words/sign_in.ts";
import { apiKeysProps, createdKeyProps } from "../api_keys_sample.ts";
import { asMember } from "../key_list_sample.ts";
import { portalFrame } from "../sample.ts";

const props = apiKeysProps("Production", portalFrame("Production"));

Deno.test("createdKeyPage() shows a new key with an example command, and says that it is shown only once", async () => {
  const html = String(await createdKeyPage(createdKeyProps("Production", portalFrame("Production"))));
  assert.match(html, /<code id="new-key" class="pick">service_live_1<\/code>/);
  assert.match(html, /curl https:\/\/auth\.example\.com\/api\/v1\/usage/);
  assert.match(html, /Authorization: Bearer service_live_1&quot;/);
  assert.match(html, inPage(apiKeyWords.shownOnce));
  assert.match(
    html,
    new RegExp(
      `${apiKeyWords.oldKeyUntil} <time datetime="2026-11-22T14:05:11\\.000Z"[^>]*>in 24 hours</time>`,
    ),
  );
});

Deno.test("apiKeysPage() says when keys were used, expire and ended, in the table and on cards", async () => {
  const html = String(await apiKeysPage(props));
  assert.match(html, /title="Nov 21, 2026, 14:03:11 UTC"><span class="on-card">Used 2 minutes ago</);
  assert.match(html, /<span class="badge soon"><span class="on-card">Expires <\/span><time[^>]*>in 6 days</);
  assert.match(html, /Old key stops <time[^>]*>in 24 hours</);
  assert.match(html, /<span class="on-card">Never used<\/span>/);
  const [line] = props.lines;
  if (line === undefined || props.list === null) throw new Error("There is no list.");
  const ended = String(
    await apiKeysPage({
      ...props,
      lines: [
        { ...line, status: "revoked", revokedAt: "2026-08-24T00:00:00.000Z" },
        { ...line, status: "expired", expiresAt: "2026-10-04T00:00:00.000Z" },
      ],
      list: { ...props.list, state: "inactive" },
    }),
  );
  assert.match(ended, /Revoked <time[^>]*>Aug 24</);
  assert.match(ended, /Expired <time[^>]*>Oct 4</);
  assert.doesNotMatch(ended, /row-menu/);
});

Deno.test("apiKeysPage() has one menu of actions for each line, and escapes their ids", async () => {
  const html = String(await apiKeysPage({ ...props, frame: asMember(props.frame) }));
  assert.equal(html.match(/<details class="menu row-menu end" name="menu">/g)?.length, props.lines.length);
  const ids = [...html.matchAll(/href="\/portal\/api-keys\/(key_[^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(ids.slice(0, 5), ["key_1", "key_1", "key_1/edit", "key_1/rotate", "key_1/revoke"]);
  assert.ok(ids.includes("key_2%2FProduction/revoke"));
  assert.ok(!ids.includes("key_1/budget"));
  assert.match(String(await apiKeysPage(props)), /key_1\/budget/);
});

Deno.test("apiKeysPage() keeps the other choices in its links", async () => {
  const html = String(await apiKeysPage(props)).replaceAll("&amp;", "&");
  for (
    const address of [
      "?status=expiring&search=Production",
      "?search=Production&sort=name",
      "?search=Production&sort=usage",
      "?search=Production&sort=usage&page=3",
      "?sort=usage",
    ]
  ) assert.ok(html.includes(`href="/portal/api-keys${address}"`), address);
  assert.match(html, /<th[^>]* aria-sort="descending"><a href="[^"]*sort=usage">/);
  assert.match(html, /<input type="hidden" name="sort" value="usage"/);
  assert.match(html, /51–100 of 120 active keys/);
});

Deno.test("apiKeysPage() names the metric in the heading if all keys have the same", async () => {
  const [line] = props.lines;
  const usage = line?.usage;
  if (!usage || usage === "unavailable") throw new Error("There is no usage.");
  const bytes = {
    ...usage,
    metric: { slug: "bytes", name: "Transfer", unit: "bytes" },
    micros: 2_000_000_000n,
  };
  const headingOf = async (lines: typeof props.lines) =>
    /aria-sort="descending"><a[^>]*>([^<]*), 30 days</.exec(String(await apiKeysPage({ ...props, lines })))
      ?.[1];
  assert.equal(await headingOf([{ ...line, usage: bytes }]), "Transfer");
  assert.equal(await headingOf([{ ...line, usage: bytes }, line]), "Usage");
});
