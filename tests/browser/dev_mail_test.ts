// Tests the page with development emails in a real browser.
import assert from "node:assert/strict";
import { heading, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";
import { putMails } from "../support/people/mails.ts";
import { subjectOf } from "../support/portal/words/mail.ts";

browserTest(
  "/dev/mail passes axe on phone and desktop, light and dark, and its link can be clicked",
  async ({ test, open }) => {
    const mails = ["usr_0", "usr_1", "usr_2"].map((subject) => {
      const to = `${subject}@example.com`;
      return { kind: "reset_password", to, subject, fields: { name: "Ada" } } as const;
    });
    await putMails(test.opened.database, mails, test.now());
    await test.mails();
    const page = await open("/dev/mail");
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.getByRole("link", { name: subjectOf("reset_password") }).first().click();
    await heading(page, subjectOf("reset_password"));
    const link = page.getByRole("link", { name: /\/reset-password\?token=/ });
    assert.equal(await link.getAttribute("href"), await link.innerText());
    const frame = page.frameLocator("iframe");
    await frame.getByRole("link", { name: "Reset password" }).waitFor();
    assert.deepEqual(await problemsOnScreens(page), []);
  },
);
