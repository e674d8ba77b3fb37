// Tests two-step sign-in and passkeys in a real browser with a virtual authenticator: adding, signing in alone and as the
// second step, and removing. Also checks the accessibility of each page on phone and desktop, light and dark.
import assert from "node:assert/strict";
import {
  heading,
  type Page,
  problemsOnScreens,
  signIn,
  signOut,
  signUp,
} from "../support/browser/browser.ts";
import { type AppScene, browserTest, browserTests } from "../support/browser/app.ts";
import { codeOf } from "../support/people/second_step.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const email = "ada@example.com";

/** Adds a virtual fingerprint reader. */
async function authenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
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

/** Turns on two-step sign-in. @returns The secret and the recovery codes. */
async function turnOnTwoStep(
  page: Page,
  { test, origin }: AppScene,
): Promise<{ secret: string; codes: string[] }> {
  await page.goto(`${origin}/portal/account/two-step`);
  await page.getByRole("button", { name: signInWords.setUp }).click();
  await heading(page, signInWords.setUp);
  const secret = (await page.locator("#totp-secret").innerText()).replaceAll(" ", "");
  await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, test.now()));
  await page.getByRole("button", { name: signInWords.turnOn }).click();
  await page.getByText(signInWords.codesShownOnce).first().waitFor();
  const codes = await page.locator("#recovery-codes code").allInnerTexts();
  return { secret, codes: codes.map((code) => code.trim()) };
}

browserTest(
  "a passkey signs in alone and as the second step, and is rejected once it is removed",
  async (scene) => {
    const { origin, open } = scene;
    const page = await open();
    const device = await authenticator(page);
    await signUp(page, origin);
    await page.goto(`${origin}/portal/account/passkeys`);
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
    await page.getByText("This device already has a passkey for this account.").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "Again");

    await signOut(page);
    await page.goto(`${origin}/portal/usage`);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await heading(page, "Usage");

    // It also confirms who someone is, here on the page that asks for a password.
    const confirm = `${origin}/portal/confirm-password?again=1&return_to=/portal/account/email`;
    await page.goto(confirm);
    assert.deepEqual(await problemsOnScreens(page), []);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForURL(`${origin}/portal/account/email`);

    const { secret } = await turnOnTwoStep(page, scene);
    assert.match(secret, /^[A-Z2-7]{32}$/);
    await signOut(page);
    await signIn(page, email);
    await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
    // An unrecognized fingerprint is rejected, and the user can try again.
    await device.setVerified(false);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.getByText("That was canceled or took too long. Try again.").waitFor();
    await device.setVerified(true);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await heading(page, /^Welcome to/);

    await page.goto(`${origin}/portal/account/passkeys`);
    await page.getByRole("link", { name: /Remove/ }).click();
    await page.getByRole("button", { name: "Remove passkey" }).click();
    await page.getByText("Passkey removed. It can no longer be used to sign in.").first().waitFor();
    await signOut(page);
    // The device still offers the removed passkey.
    assert.equal((await device.credentials()).length, 1);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText(signInWords.passkeyRejected).waitFor();
    await signIn(page, email);
    await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Use a passkey" }).count(), 0);
  },
);

browserTests("two-step sign-in works in a browser", async (scene, scripts) => {
  const { origin, open } = scene;
  const page = await open(undefined, { permissions: ["clipboard-read", "clipboard-write"] });
  await signUp(page, origin);
  const { codes } = await turnOnTwoStep(page, scene);
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
  await page.goto(`${origin}/portal/usage`);
  await signIn(page, email);
  await page.getByRole("heading", { name: signInWords.secondStep }).waitFor();
  // There is no session yet.
  await page.goto(`${origin}/portal/api-keys`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(`${origin}/sign-in/second-step?return_to=%2Fportal%2Fusage`);
  await page.getByRole("link", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill("0000-0000-0000-0000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText(signInWords.wrongCode).waitFor();
  assert.equal(await page.getByLabel("Recovery code").inputValue(), "0000-0000-0000-0000");
  await page.getByLabel("Recovery code").fill(codes[0]?.toLowerCase() ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading(page, "Usage");
  await page.goto(`${origin}/portal/account/two-step`);
  await page.getByText("9 codes left").waitFor();
  await page.goto(`${origin}/portal/account/passkeys/new`);
  if (!scripts) {
    await page.getByText(signInWords.passkeysNeedScripts).waitFor();
    assert.equal(await page.getByRole("button", { name: "Add passkey" }).isVisible(), false);
  }
});

browserTest(
  "recovery codes and the second step pass axe, and phones can scan the code",
  async ({ test, open, origin }) => {
    const page = await open();
    await authenticator(page);
    await signUp(page, origin);
    await page.goto(`${origin}/portal/account/passkeys/new`);
    await page.getByLabel("Name").fill(`“${"Wörld<wide>".repeat(8)}” 🗝`);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByText(signInWords.passkeyAdded).first().waitFor();
    await page.goto(`${origin}/portal/account/two-step`);
    await page.getByRole("button", { name: signInWords.setUp }).click();
    await heading(page, signInWords.setUp);
    const shown = await open();
    await shown.context().addCookies(await page.context().cookies());
    await shown.goto(`${origin}/portal/account/two-step/set-up`);
    for (const colorScheme of ["light", "dark"] as const) {
      await shown.emulateMedia({ colorScheme });
      const qr = await shown.evaluate("getComputedStyle(document.querySelector('.qr')).backgroundColor");
      assert.equal(qr, "rgb(255, 255, 255)", "phones can only scan dark codes on white");
    }
    await page.goto(`${origin}/portal/account/two-step/set-up`);
    const secret = (await page.locator("#totp-secret").innerText()).replaceAll(" ", "");
    await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, test.now()));
    await page.getByRole("button", { name: signInWords.turnOn }).click();
    await page.getByText(signInWords.codesShownOnce).first().waitFor();
    assert.deepEqual(await problemsOnScreens(page), [], "recovery codes");
    const gate = await open("/sign-in");
    assert.deepEqual(await problemsOnScreens(gate), []);
    await signIn(gate, email);
    await gate.getByRole("heading", { name: signInWords.secondStep }).waitFor();
    await gate.getByRole("button", { name: "Use a passkey" }).waitFor();
    assert.deepEqual(await problemsOnScreens(gate), []);
    await gate.goto(`${origin}/sign-in/second-step?recovery=1`);
    await gate.getByLabel("Recovery code").fill("not a code");
    await gate.getByRole("button", { name: "Sign in" }).click();
    await gate.getByText(signInWords.wrongCode).waitFor();
    assert.deepEqual(await problemsOnScreens(gate), []);
  },
);
