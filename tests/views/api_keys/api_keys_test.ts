// The API keys page: the new key, rejected forms, statuses and actions.
import assert from "node:assert/strict";
import { apiKeysPage } from "../../../views/api_keys/api_keys.tsx";
import { apiKeyWords } from "../../support/words/api_keys.ts";
import { inPage } from "../../support/words/sign_in.ts";
import { apiKeysProps } from "../sample.ts";

const props = apiKeysProps("Production");

Deno.test("apiKeysPage() shows a new key with an example command, and says that it is shown only once", async () => {
  const html = String(await apiKeysPage(props));
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

Deno.test("apiKeysPage() has no full key unless one was just created", async () => {
  const html = String(await apiKeysPage({ ...props, newKey: null }));
  assert.ok(!html.includes("service_live_1") && !html.includes("curl"));
});

Deno.test("apiKeysPage() keeps the input of a rejected form and shows the error at its field", async () => {
  const html = String(
    await apiKeysPage({
      ...props,
      form: {
        values: { ...props.form.values, name: "a | b", expires: "90d" },
        fields: { name: "Too odd." },
        message: null,
      },
    }),
  );
  assert.match(html, /<input type="text" id="name" name="name" value="a \| b"[^>]*aria-invalid="true"/);
  assert.match(html, /<p class="refusal" id="name-error">.*?<span>Too odd\.<\/span><\/p>/);
  assert.match(html, /<option value="90d" selected[^>]*>/);
});

Deno.test("apiKeysPage() shows each status in words, with the exact time as a title", async () => {
  const html = String(await apiKeysPage(props));
  const states = [...html.matchAll(/<span class="badge [a-z]+">(.*?)<\/span>/g)].map(([, words = ""]) =>
    words.replaceAll(/<[^>]*>/g, "").trim()
  );
  assert.deepEqual(states, ["Active", "Expires soon", "Revoked Aug 24", "Expired"]);
  assert.match(html, /title="Nov 21, 2026, 14:03:11 UTC">2 minutes ago<\/time>/);
});

Deno.test("apiKeysPage() offers actions on active keys only, and escapes their ids", async () => {
  const html = String(await apiKeysPage(props));
  assert.deepEqual([...html.matchAll(/href="\/portal\/api-keys\/([^"]+)"/g)].map(([, path]) => path), [
    "key_1",
    "key_1/edit",
    "key_1/rotate",
    "key_1/revoke",
    "key_2%2FProduction",
    "key_2%2FProduction/edit",
    "key_2%2FProduction/rotate",
    "key_2%2FProduction/revoke",
    "key_3",
    "key_4",
  ]);
});
