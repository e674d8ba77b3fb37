// Tests two-step sign-in and passkeys in a real browser with a virtual authenticator: adding, signing in alone and as the
// second step, and removing. Also checks the accessibility of each page on phone and desktop, light and dark.
import assert from "node:assert/strict";
import { type TestApp, testPassword } from "../support/app/app.ts";
import {
  type BrowserContext,
  browserMissing,
  type Page,
  problemsOnScreens,
  signOut,
  watchedPage,
} from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";
import { codeOf } from "../support/people/second_step.ts";
import { poll } from "../support/runner/poll.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const options = { ignore: browserMissing(), sanitizeOps: false, sanitizeResources: false };
const email = "ada@example.com";

/** Adds a virtual fingerprint reader. */
async function authenticator(context: BrowserContext, page: Page) {
  const session = await context.newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Sets whether the user's fingerprint is recognized. */
    setVerified: (isUserVerified: boolean) =>
      session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    credentials: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
  };
}

async function signUp(page: Page, baseUrl: string): Promise<void> {
  await page.goto(`${baseUrl}/sign-up`);
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.locator("#email").fill(email);
  await page.getByLabel("Password").fill(testPassword);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: /^Welcome to/, level: 1 }).waitFor();
}

async function givePassword(page: Page): Promise<void> {
  await page.locator("#email").fill(email);
  await page.getByLabel("Password").fill(testPassword);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Turns on two-step sign-in. @returns The secret and the recovery codes. */
async function turnOnTwoStep(page: Page, test: TestApp): Promise<{ secret: string; codes: string[] }> {
  await page.goto(`${test.config.baseUrl.origin}/portal/account/two-step`);
  await page.getByRole("button", { name: signInWords.setUp }).click();
  await page.getByRole("heading", { name: signInWords.setUp, level: 1 }).waitFor();
  const secret = (await page.locator("#totp-secret").innerText()).replaceAll(" ", "");
  await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, test.now()));
  await page.getByRole("button", { name: signInWords.turnOn }).click();
  await page.getByText(signInWords.codesShownOnce).first().waitFor();
  const codes = await page.locator("#recovery-codes code").allInnerTexts();
  return { secret, codes: codes.map((code) => code.trim()) };
}

Deno.test({
  ...options,
  name: "a passkey signs in alone and as the second step, and is rejected once it is removed",
  fn: () =>
    withApp("localhost", async (test, browser) => {
      const { origin: baseUrl } = test.config.baseUrl;
      const context = await browser.newContext();
      const { page, errors } = await watchedPage(context);
      const device = await authenticator(context, page);
      await signUp(page, baseUrl);
      await page.goto(`${baseUrl}/portal/account/passkeys`);
      await page.getByRole("link", { name: "Add a passkey" }).click();
      await page.getByLabel("Name").fill("Laptop");
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByText(signInWords.passkeyAdded).first().waitFor();
      assert.match(await page.locator("table").innerText(), /Laptop/);
      assert.equal((await device.credentials()).length, 1);

      // A device has only one passkey per account.
      await page.getByRole("link", { name: "Add a passkey" }).click();
      await page.getByLabel("Name").fill("Again");
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByText(signInWords.passkeyExists).waitFor();
      assert.equal(await page.getByLabel("Name").inputValue(), "Again");

      await signOut(page);
      await page.goto(`${baseUrl}/portal/usage`);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();

      // It also confirms who someone is, here on the page that asks for a password.
      const confirm = `${baseUrl}/portal/confirm-password?again=1&return_to=/portal/account/email`;
      assert.deepEqual(await visit(page, confirm), []);
      await page.getByRole("button", { name: "Use a passkey" }).click();
      await page.waitForURL(`${baseUrl}/portal/account/email`);

      const { secret } = await turnOnTwoStep(page, test);
      assert.match(secret, /^[A-Z2-7]{32}$/);
      await signOut(page);
      await givePassword(page);
      await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
      // An unrecognized fingerprint is rejected, and the user can try again.
      await device.setVerified(false);
      await page.getByRole("button", { name: "Use a passkey" }).click();
      await page.getByText(signInWords.passkeyCanceled).waitFor();
      await device.setVerified(true);
      await page.getByRole("button", { name: "Use a passkey" }).click();
      await page.getByRole("heading", { name: /^Welcome to/, level: 1 }).waitFor();

      await page.goto(`${baseUrl}/portal/account/passkeys`);
      await page.getByRole("link", { name: /Remove/ }).click();
      await page.getByRole("button", { name: "Remove passkey" }).click();
      await page.getByText(signInWords.passkeyRemoved).first().waitFor();
      await signOut(page);
      // The device still offers the removed passkey.
      assert.equal((await device.credentials()).length, 1);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByText(signInWords.passkeyRejected).waitFor();
      await givePassword(page);
      await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Use a passkey" }).count(), 0);
      assert.deepEqual(errors, []);
    }),
});

for (const scripts of [true, false]) {
  Deno.test({
    ...options,
    name: `two-step sign-in works in a browser ${scripts ? "with scripts" : "without scripts"}`,
    fn: () =>
      withApp("localhost", async (test, browser) => {
        const { origin: baseUrl } = test.config.baseUrl;
        const context = await browser.newContext({
          javaScriptEnabled: scripts,
          permissions: ["clipboard-read", "clipboard-write"],
        });
        const { page, errors } = await watchedPage(context);
        await signUp(page, baseUrl);
        const { codes } = await turnOnTwoStep(page, test);
        assert.equal(codes.length, 10);
        assert.equal(new URL(page.url()).pathname, `/portal/account/two-step${scripts ? "" : "/set-up"}`);
        const copy = page.getByRole("button", { name: "Copy codes" });
        if (scripts) {
          await copy.click();
          await page.getByText("Copied").first().waitFor();
          const copied = await page.evaluate("navigator.clipboard.readText()") as string;
          assert.deepEqual(copied.trim().split("\n").map((line) => line.trim()), codes);
        } else assert.equal(await copy.isVisible(), false);
        const saving = page.waitForEvent("download");
        await page.getByRole("link", { name: "Save as a file" }).click();
        const saved = await saving;
        assert.equal(saved.suggestedFilename(), "gatehouse-recovery-codes.txt");
        const text = await Deno.readTextFile(await saved.path());
        for (const code of codes) assert.ok(text.includes(code));

        await signOut(page);
        await page.goto(`${baseUrl}/portal/usage`);
        await givePassword(page);
        await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
        // There is no session yet.
        await page.goto(`${baseUrl}/portal/api-keys`);
        await page.getByRole("heading", { name: "Sign in" }).waitFor();
        await page.goto(`${baseUrl}/sign-in/second-step?return_to=%2Fportal%2Fusage`);
        await page.getByRole("link", { name: "Use a recovery code" }).click();
        await page.getByLabel("Recovery code").fill("0000-0000-0000-0000");
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByText(signInWords.wrongCode).waitFor();
        assert.equal(await page.getByLabel("Recovery code").inputValue(), "0000-0000-0000-0000");
        await page.getByLabel("Recovery code").fill(codes[0]?.toLowerCase() ?? "");
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
        await page.goto(`${baseUrl}/portal/account/two-step`);
        await page.getByText("9 codes left").waitFor();
        await page.goto(`${baseUrl}/portal/account/passkeys/new`);
        if (!scripts) {
          await page.getByText(signInWords.passkeysNeedScripts).waitFor();
          assert.equal(await page.getByRole("button", { name: "Add passkey" }).isVisible(), false);
        }
        assert.deepEqual(errors, []);
      }),
  });
}

Deno.test({
  ...options,
  name: "recovery codes and the second step pass axe, and phones can scan the code",
  fn: () =>
    withApp("localhost", async (test, browser) => {
      const { origin: baseUrl } = test.config.baseUrl;
      const first = await browser.newContext();
      const { page } = await watchedPage(first);
      await authenticator(first, page);
      await signUp(page, baseUrl);
      await page.goto(`${baseUrl}/portal/account/passkeys/new`);
      await page.getByLabel("Name").fill(`“${"Wörld<wide>".repeat(8)}” 🗝`);
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByText(signInWords.passkeyAdded).first().waitFor();
      await page.goto(`${baseUrl}/portal/account/two-step`);
      await page.getByRole("button", { name: signInWords.setUp }).click();
      await page.getByRole("heading", { name: signInWords.setUp, level: 1 }).waitFor();
      const cookies = await first.cookies();
      const member = await browser.newContext();
      await member.addCookies(cookies);
      const { page: shown, errors } = await watchedPage(member);
      await shown.goto(`${baseUrl}/portal/account/two-step/set-up`);
      for (const colorScheme of ["light", "dark"] as const) {
        await shown.emulateMedia({ colorScheme });
        const qr = await shown.evaluate("getComputedStyle(document.querySelector('.qr')).backgroundColor");
        assert.equal(qr, "rgb(255, 255, 255)", "phones can only scan dark codes on white");
      }
      await page.goto(`${baseUrl}/portal/account/two-step/set-up`);
      const secret = (await page.locator("#totp-secret").innerText()).replaceAll(" ", "");
      await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, test.now()));
      await page.getByRole("button", { name: signInWords.turnOn }).click();
      await page.getByText(signInWords.codesShownOnce).first().waitFor();
      assert.deepEqual(await problemsOnScreens(page), [], "recovery codes");
      assert.deepEqual(errors, []);
      const gate = await (await browser.newContext()).newPage();
      assert.deepEqual(await visit(gate, `${baseUrl}/sign-in`), []);
      await givePassword(gate);
      await gate.getByRole("heading", { name: signInWords.secondStep }).waitFor();
      await poll(() => gate.getByRole("button", { name: "Use a passkey" }).isVisible());
      assert.deepEqual(await problemsOnScreens(gate), []);
      await gate.goto(`${baseUrl}/sign-in/second-step?recovery=1`);
      await gate.getByLabel("Recovery code").fill("not a code");
      await gate.getByRole("button", { name: "Sign in" }).click();
      await gate.getByText(signInWords.wrongCode).waitFor();
      assert.deepEqual(await problemsOnScreens(gate), []);
    }),
});

async function visit(page: Page, url: string): Promise<string[]> {
  await page.goto(url);
  return await problemsOnScreens(page);
}
