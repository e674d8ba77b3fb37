// The example product shows pages of the portal in a frame on a sibling subdomain, and by a redirect, in two browsers.
import assert from "node:assert/strict";
import { respond } from "../../examples/embedding/embedding.ts";
import { startTestApp, type TestApp } from "../support/app/app.ts";
import {
  browserMissing,
  heading,
  problemsOnScreens,
  watchedPage,
  withBrowser,
} from "../support/browser/browser.ts";
import { firefoxMissing, withFirefox } from "../support/browser/firefox.ts";
import { freePort } from "../support/database/sqld.ts";
import { smtpTlsMissing, testAuthority } from "../support/network/smtp_tls.ts";
import { newOperatorToken } from "../support/operators/operators.ts";
import { run } from "../support/people/scene.ts";
import { poll } from "../support/runner/poll.ts";
import { embedWords } from "../support/portal/words/embed.ts";

const options = { sanitizeOps: false, sanitizeResources: false };
const hosts = ["auth", "app", "other"].map((name) => `${name}.example.test`);

/** Serves Gatehouse and the product on one port over TLS: browsers say how a page is opened only to secure addresses. */
async function withProduct(
  scene: (
    product: { test: TestApp; auth: string; app: string; other: string; tokenId: string },
  ) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const [auth = "", app = "", other = ""] = hosts.map((host) => `https://${host}:${port}`);
  const test = await startTestApp({ BASE_URL: auth, EMBED_ORIGINS: app });
  const authority = await testAuthority();
  const { organizationId } = await test.signUp();
  await run(test, "UPDATE organizations SET external_id = 'customer-4711' WHERE id = ?", organizationId);
  const { id: tokenId, fullToken: token } = await newOperatorToken(test, ["portal_sessions:write"]);
  const gatehouse = {
    url: auth,
    token,
    fetch: (...given: Parameters<typeof fetch>) => Promise.resolve(test.app.fetch(new Request(...given))),
  };
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen() {}, ...await authority.certify("*.example.test") },
    (request) => {
      const { host, pathname } = new URL(request.url);
      if (host.startsWith("auth.")) return test.app.fetch(request);
      // A page that tries to have the whole portal in a frame.
      return pathname === "/portal"
        ? new Response(`<iframe src="${auth}/sign-in"></iframe>`, {
          headers: { "Content-Type": "text/html" },
        })
        : respond(request, gatehouse);
    },
  );
  try {
    await scene({ test, auth, app, other, tokenId });
  } finally {
    await server.shutdown();
    await test.dispose();
    await authority.dispose();
  }
}

Deno.test({
  ...options,
  ignore: browserMissing() || smtpTlsMissing(),
  name: "in Chromium, a customer manages keys in the product's page until the product's token is revoked",
  fn: () =>
    withProduct(({ test, auth, app, other, tokenId }) =>
      withBrowser(async (browser) => {
        const context = await browser.newContext({ ignoreHTTPSErrors: true });
        const { page, errors } = await watchedPage(context);
        await page.goto(`${app}/`);
        const frame = page.frameLocator("iframe");
        await frame.getByLabel("Name", { exact: true }).fill("From the product");
        await frame.getByRole("button", { name: "Create key" }).click();
        await frame.getByText("Waiting for the first request").waitFor();
        await frame.getByRole("link", { name: "Limits", exact: true }).click();
        await heading(frame, "Limits");
        // The frame follows the height of its page, and has its ground.
        const inner = page.frames()[1];
        const heights = async () => [
          await page.evaluate("document.querySelector('iframe').getBoundingClientRect().height"),
          Math.ceil(
            await inner?.evaluate(
              "document.querySelector('.embedded').getBoundingClientRect().height",
            ) as number,
          ),
        ];
        await poll(async () => {
          const [outside, inside] = await heights();
          return outside === inside;
        });
        assert.equal(
          await inner?.evaluate("getComputedStyle(document.body).backgroundColor"),
          "rgba(0, 0, 0, 0)",
        );
        // The tabs follow without a new page.
        await frame.locator("#side [aria-current=page]", { hasText: "Limits" }).waitFor();
        await frame.getByRole("link", { name: "Usage", exact: true }).click();
        await heading(frame, "Usage");
        assert.equal(await frame.getByRole("link", { name: "Webhooks" }).count(), 0);
        assert.deepEqual((await context.cookies()).map(({ name, domain }) => [name, domain]).sort(), [
          ["portal_look", "auth.example.test"],
          ["portal_session", "auth.example.test"],
        ]);

        // By a redirect, and back.
        await page.goto(`${app}/keys`);
        await page.getByRole("link", { name: "From the product" }).waitFor();
        assert.match(page.url(), new RegExp(`^${auth}/embed/pse_\\w+/api-keys$`));
        assert.deepEqual(await problemsOnScreens(page), []);
        await page.getByRole("link", { name: `Back to ${new URL(app).host}` }).click();
        await page.waitForURL(`${app}/`);

        await run(test, "UPDATE operator_tokens SET revoked_at = 1 WHERE id = ?", tokenId);
        await frame.getByRole("link", { name: "Usage", exact: true }).click();
        await frame.getByRole("heading", { name: embedWords.ended }).waitFor();
        await run(test, "UPDATE operator_tokens SET revoked_at = NULL WHERE id = ?", tokenId);
        // Chromium notes that a frame of another origin doesn't take the focus.
        assert.deepEqual(errors.filter((error) => !/Blocked autofocusing/.test(error)), []);

        // No other page, and no other product: browsers show their own error page instead, or nothing.
        for (const address of [`${app}/portal`, `${other}/`]) {
          errors.length = 0;
          await page.goto(address);
          await poll(() => /frame-ancestors/.test(errors.join("\n")));
          const text = await page.frames()[1]?.evaluate("document.body?.innerText ?? ''").catch(() => "");
          assert.doesNotMatch(String(text), /Gatehouse|Sign in|API keys/, address);
        }
      })
    ),
});

Deno.test({
  ...options,
  ignore: firefoxMissing() || smtpTlsMissing(),
  name: "in Firefox, a customer creates a key in the product's page, and follows the redirect",
  fn: () =>
    withProduct(({ app }) =>
      withFirefox({ scripts: true, hosts }, async (window) => {
        await window.open(`${app}/`);
        const frame = await window.frame(/\/embed\/pse_\w+\/api-keys/);
        await frame.fill("Name", "From the product");
        await frame.use("Create key");
        await frame.see("Waiting for the first request");
        await frame.use("Usage");
        await frame.arriveAt("Usage");
        await window.use("API keys on their own page");
        await window.see("From the product");
        await window.use(`Back to ${new URL(app).host}`);
        await window.arriveAt("Settings");
        assert.deepEqual(window.errors, []);
      })
    ),
});
