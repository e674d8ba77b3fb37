// Tests the page with development emails in a real browser.
import assert from "node:assert/strict";
import { browserMissing, launchBrowser, problemsOnScreens, watchedPage } from "../support/browser.ts";
import { putIntoFile } from "../support/mails.ts";
import { poll } from "../support/poll.ts";
import { isReady, startProgram } from "../support/program.ts";
import { subjectOf } from "../support/words/mail.ts";

Deno.test({
  name: "/dev/mail passes axe on phone and desktop, light and dark, and its link can be clicked",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gatehouse-browser-" });
    const first = startProgram({ folder });
    await isReady(first);
    first.kill("SIGTERM");
    await first.ended();
    putIntoFile(folder, 3);
    const program = startProgram({ folder });
    await isReady(program);
    await poll(() => program.output().includes("person2@example.com"));
    const browser = await launchBrowser();
    const { page, errors } = await watchedPage(await browser.newContext());
    await page.goto(`${program.baseUrl}/dev/mail`);
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.getByRole("link", { name: subjectOf("reset_password") }).first().click();
    await page.getByRole("heading", { name: subjectOf("reset_password"), level: 1 }).waitFor();
    const link = page.getByRole("link", { name: /\/reset-password\?token=/ });
    assert.equal(await link.getAttribute("href"), await link.innerText());
    const frame = page.frameLocator("iframe");
    await frame.getByRole("link", { name: "Reset password" }).waitFor();
    assert.deepEqual(errors, []);
    assert.deepEqual(await problemsOnScreens(page), []);
    await browser.close();
    program.kill("SIGTERM");
    assert.equal(await program.ended(), 0);
    await Deno.remove(folder, { recursive: true });
  },
});
