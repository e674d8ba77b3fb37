// Tests the main workflow in Firefox with and without scripts: sign up, create a key, record usage, see it, revoke the key.
import assert from "node:assert/strict";
import { testPassword } from "../support/app/app.ts";
import { withServer } from "../support/browser/app.ts";
import { firefoxMissing, type FirefoxWindow, withFirefox } from "../support/browser/firefox.ts";
import { isFull } from "../support/runner/extent.ts";
import { sendJson } from "../support/process/journey.ts";
import { apiKeyWords } from "../support/portal/words/api_keys.ts";

const options = { ignore: firefoxMissing(), sanitizeOps: false, sanitizeResources: false };

/** The narrowest phones, and a desktop. */
async function fits(window: FirefoxWindow): Promise<void> {
  for (const width of [320, 1280]) assert.equal(await window.overhangAt(width), 0, `at ${width} px`);
}

// A quick run does without scripts only what main_job_test.ts does in Chromium.
for (const scripts of isFull ? [true, false] : [true]) {
  Deno.test({
    ...options,
    name: `the main workflow works in Firefox ${scripts ? "with scripts" : "without scripts"}`,
    fn: () =>
      withServer("localhost", (_test, baseUrl) =>
        withFirefox({ scripts }, async (window) => {
          await window.open(`${baseUrl}/sign-up`);
          await window.fill("Your name", "Ada Lovelace");
          await window.fill("Email", "ada@example.com");
          await window.fill("Password", testPassword);
          await window.use("Create account");
          await window.arriveAt("Welcome to Ada Lovelace’s organization");
          await fits(window);

          await window.use("Create key");
          await window.arriveAt("Create key");
          await window.fill("Name", "Production");
          await window.use("Create key");
          await window.see("Waiting for the first request");
          const apiKey = (await window.textsOf("code")).find((text) => /^service_live_\w{38}$/.test(text)) ??
            "";
          await fits(window);

          const json = { productSlug: "tiles", metric: "requests", quantity: 41 };
          assert.equal((await sendJson(baseUrl, "/api/v1/usage", { apiKey, json })).status, 201);
          // With scripts, the page waits for the request.
          if (!scripts) await window.use("Check again");
          await window.see("First request received");

          await window.use("Usage");
          await window.arriveAt("Usage");
          await window.see("tiles");
          assert((await window.textsOf("main")).some((text) => /\b41\b/.test(text)));
          await fits(window);

          await window.use("API keys");
          await window.arriveAt("API keys");
          await fits(window);
          await window.use("Actions for Production");
          await window.use("Revoke");
          await window.see(apiKeyWords.revocation);
          await window.use("Revoke key");
          await window.see(apiKeyWords.revoked("Production"));
          assert.equal((await sendJson(baseUrl, "/api/v1/usage", { apiKey, json })).status, 401);
          assert.deepEqual(window.errors, []);
        })),
  });
}
