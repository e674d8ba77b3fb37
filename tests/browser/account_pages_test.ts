// Tests the account pages in a real browser with and without scripts, and the headers that browsers send with forms.
import assert from "node:assert/strict";
import { recentAuthenticationMs } from "../../domain/limits.ts";
import { testPassword } from "../support/app/app.ts";
import { addCookie, heading } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";
import { linkToken } from "../support/people/links.ts";
import { signInAgain } from "../support/portal/pages.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const newPassword = "nine purple otters sing";

// Browsers send no `Sec-Fetch-Site` to untrustworthy hosts (http, not localhost). There the check relies on `Origin`.
for (const [scripts, host] of [[true, "localhost"], [false, "gatehouse.test"]] as const) {
  browserTest(
    `handles emailed links and the account's forms in a browser ${scripts ? "with" : "without"} scripts`,
    async ({ test, open, origin }) => {
      const person = await test.signUp();
      const page = await open(undefined, { javaScriptEnabled: scripts });

      await page.goto(`${origin}/sign-in`);
      await page.getByRole("link", { name: "Forgot your password?" }).click();
      await page.locator("#email").fill(person.email);
      await page.getByRole("button", { name: "Send link" }).click();
      await page.getByText(`If ${person.email} has an account`).waitFor();
      await page.goto(
        `${origin}/reset-password?token=${await linkToken(test, person, { purpose: "reset_password" })}`,
      );
      await page.getByLabel("New password").fill(newPassword);
      await page.getByRole("button", { name: "Reset password" }).click();
      await page.getByText(signInWords.passwordReset).waitFor();

      const verify = `${origin}/verify-email?token=${await linkToken(test, person, {
        purpose: "verify_email",
      })}`;
      await addCookie(page.context(), origin, (await test.signUp("Grace")).cookie);
      await page.goto(verify);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText(signInWords.signedOut).waitFor();
      await page.goto(verify);
      await page.getByRole("link", { name: "Sign in to confirm" }).click();
      await page.locator("#email").fill(person.email);
      await page.getByLabel("Password").fill(newPassword);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      assert.equal(page.url(), verify);
      await page.getByRole("button", { name: `Confirm ${person.email}` }).click();
      await page.locator(".note.done").first().waitFor();
      await heading(page, "Account");

      // The page asks for the password again before it opens.
      test.advance(recentAuthenticationMs);
      await page.getByRole("link", { name: "Change address" }).click();
      await heading(page, signInWords.confirmIdentity);
      await page.getByLabel("Password", { exact: true }).fill("not my password");
      await page.getByRole("button", { name: signInWords.continue }).click();
      await page.locator("[id$=assword-error]").waitFor();
      assert.match(page.url(), /confirm-password\?return_to|confirm-password$/);
      if (scripts) assert.match(page.url(), /return_to=/);
      await page.getByLabel("Password", { exact: true }).fill(newPassword);
      await page.getByRole("button", { name: signInWords.continue }).click();
      await heading(page, "Change your email address");
      await page.getByLabel("New address").fill("new@example.com");
      await page.getByRole("button", { name: "Send link" }).click();
      await page.locator(".aside-note").waitFor();

      // End the session of another browser.
      const other = await signInAgain(test, person, { password: newPassword });
      await page.goto(`${origin}/portal/account/security`);
      await page.getByRole("button", { name: "Sign out “Unknown device" }).click();
      await page.getByText(signInWords.sessionEnded).first().waitFor();
      assert.equal((await test.send("/portal/account", { cookie: other })).status, 303);
      await page.getByLabel("Current password").fill("not my password");
      await page.getByLabel("New password").fill(testPassword);
      await page.getByRole("button", { name: "Change password" }).click();
      await page.locator("[id$=assword-error]").waitFor();
      await page.getByLabel("Current password").fill(newPassword);
      await page.getByLabel("New password").fill(testPassword);
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByText(signInWords.passwordChanged).first().waitFor();

      await page.goto(`${origin}/portal/account`);
      await page.getByRole("link", { name: "Delete account" }).click();
      await page.getByLabel("Type your email address").fill(person.email);
      await page.getByRole("button", { name: "Delete account" }).click();
      await page.getByText(signInWords.accountDeleted).waitFor();
      await heading(page, "Sign in");
    },
    { host },
  );
}
