// The API reference in a real browser: accessible on phones and desktops, light and dark, with and without scripts.
import assert from "node:assert/strict";
import { startTestApp } from "../support/app.ts";
import { browserMissing, launchBrowser, problemsOnScreens, watchedPage } from "../support/browser.ts";
import { freePort } from "../support/sqld.ts";

Deno.test({
  name:
    "/docs passes axe on phones and desktops, light and dark, with and without scripts, and loads nothing from other servers",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const port = freePort();
    const origin = `http://localhost:${port}`;
    const test = await startTestApp({ PORT: String(port), BASE_URL: origin });
    const server = Deno.serve(
      { port, hostname: "127.0.0.1", onListen() {} },
      (request) => test.app.fetch(request),
    );
    const browser = await launchBrowser();
    try {
      for (
        const { width, colorScheme, javaScriptEnabled } of [
          { width: 360, colorScheme: "light", javaScriptEnabled: true },
          { width: 360, colorScheme: "dark", javaScriptEnabled: false },
          { width: 1440, colorScheme: "dark", javaScriptEnabled: true },
        ] as const
      ) {
        const context = await browser.newContext({
          viewport: { width, height: 900 },
          colorScheme,
          javaScriptEnabled,
        });
        const { page, errors } = await watchedPage(context);
        const asked: string[] = [];
        page.on("request", (request) => asked.push(new URL(request.url()).origin));
        await page.goto(`${origin}/docs`);
        const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.ok(Number(wide) <= 0, `scrolls horizontally by ${wide} px`);
        const operation = page.locator("#recordUsage");
        await operation.locator("summary").first().click();
        await operation.getByText("usageRecord.voidedAt", { exact: true }).first().waitFor();
        await operation.getByRole("link", { name: "idempotency_conflict" }).click();
        await page.locator("#error-idempotency_conflict").waitFor();
        assert.equal(new URL(page.url()).hash, "#error-idempotency_conflict");
        // axe needs seconds for all operations, so on the phone it checks only one of each group.
        if (width === 360) {
          await page.evaluate(
            `for (const one of document.querySelectorAll("article + article")) one.remove()`,
          );
        }
        if (javaScriptEnabled) assert.deepEqual(await problemsOnScreens(page, [{ colorScheme, width }]), []);
        assert.deepEqual([...new Set(asked)], [origin]);
        assert.deepEqual(errors, []);
        await context.close();
      }
    } finally {
      await browser.close();
      await server.shutdown();
      await test.dispose();
    }
  },
});
