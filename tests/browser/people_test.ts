// A team in real browsers, with scripts and without: sign up, confirm the address, invite, accept, change a role, switch
// organizations, use two-step sign-in, reset the password, end a session.
import assert from "node:assert/strict";
import { totpPeriodMs } from "../../domain/limits.ts";
import { type TestApp, testPassword } from "../support/app/app.ts";
import { follow, heading, openMenu, type Page, press, signIn, signOut } from "../support/browser/browser.ts";
import { browserTests } from "../support/browser/app.ts";
import { lastMail } from "../support/people/people.ts";
import { codeOf } from "../support/people/second_step.ts";
import { organizationWords as words } from "../support/portal/words/organization.ts";
import { signInWords } from "../support/portal/words/sign_in.ts";

const newPassword = "nine purple otters sing";

/** Opens the link in the latest email to an address. */
async function openMail(test: TestApp, page: Page, email: string): Promise<void> {
  await page.goto((await lastMail(test, email)).link ?? "about:blank");
}

/** A notice is shown once, and the error of a form far down the page is in view and read out. */
async function rejectedFarDown(page: Page, { scripts }: { scripts: boolean }): Promise<void> {
  const desktop = page.viewportSize() ?? { width: 1280, height: 720 };
  await page.setViewportSize({ ...desktop, height: 400 });
  await page.locator("#email").fill("ada@example.com");
  await press(page, "Send invitation");
  const message = page.getByText(words.alreadyMember).last();
  await message.waitFor();
  const { y = -1, height = 0 } = await message.boundingBox() ?? {};
  assert(y > 0 && y + height < 400, `the message is at ${y}`);
  await page.setViewportSize(desktop);
  if (!scripts) return;
  await page.locator("[aria-describedby=email-error]:focus").waitFor();
  assert.equal(await page.locator("#announcer").innerText(), "");
  assert.equal(new URL(page.url()).search, "");
  await page.reload();
  await page.getByText(words.pending).first().waitFor();
  assert.equal(await page.getByText(words.invited("grace@example.com")).count(), 0);
  await follow(page, /^Organization$/);
  await heading(page, "Analytical Engines");
  await page.locator("#announcer", { hasText: /^Organization · Gatehouse$/ }).waitFor({ state: "attached" });
}

browserTests(
  "people join, get roles, sign in with two steps and are signed out",
  async ({ test, open, origin }, scripts) => {
    const [ada, grace] = [await open(), await open()];

    // Sign up, and confirm the address with the link in the email.
    await ada.goto(`${origin}/sign-up`);
    await ada.getByLabel("Your name").fill("Ada Lovelace");
    await ada.locator("#email").fill("ada@example.com");
    await ada.getByLabel("Password").fill(testPassword);
    await ada.getByLabel("Organization").fill("Analytical Engines");
    await press(ada, "Create account");
    await heading(ada, /^Welcome to/);
    await ada.getByText("Confirm your email address").first().waitFor();
    await openMail(test, ada, "ada@example.com");
    await press(ada, /Confirm/);
    await ada.locator(".note.done").first().waitFor();

    // Invite, and accept in another browser.
    await ada.goto(`${origin}/portal/members`);
    await ada.locator("#email").fill("grace@example.com");
    await press(ada, "Send invitation");
    await ada.getByText(words.pending).first().waitFor();
    await rejectedFarDown(ada, { scripts });
    await openMail(test, grace, "grace@example.com");
    await heading(grace, "Join Analytical Engines");
    await grace.getByLabel("Your name").fill("Grace Hopper");
    await grace.getByLabel("Password").fill(testPassword);
    await press(grace, /Create account|Join/);
    await heading(grace, "Members");
    assert.equal(await grace.getByRole("link", { name: "Audit log" }).count(), 0);

    // A new role takes effect with the next request.
    await ada.goto(`${origin}/portal/members`);
    await ada.getByLabel("Actions for Grace Hopper").click();
    await follow(ada, "Change role");
    await ada.getByRole("radio", { name: /Admin/ }).check();
    await press(ada, /Change|Save/);
    await heading(ada, "Members");
    await follow(grace, "Usage");
    await heading(grace, "Usage");
    await grace.goto(`${origin}/portal/audit`);
    await heading(grace, "Audit log");
    await grace.locator("tr", { hasText: /Ada Lovelace.*role.*Grace Hopper|Grace Hopper.*role/s }).first()
      .waitFor();

    // A second organization, and back to the first with the menu.
    await ada.goto(`${origin}/portal/organizations`);
    await ada.getByLabel("Name").fill("Second Venture");
    await press(ada, "Create organization");
    await heading(ada, "Members");
    assert.match(await ada.locator("#side").innerText(), /Second Venture/);
    await openMenu(ada);
    await ada.locator("#side button.menu-item:visible", { hasText: "Analytical Engines" }).first()
      .click();
    await ada.locator("#side summary:visible", { hasText: "Analytical Engines" }).first().waitFor();

    // Two-step sign-in: the password alone starts no session.
    await ada.goto(`${origin}/portal/account/two-step`);
    await press(ada, /Set up/);
    await heading(ada, signInWords.setUp);
    const secret = (await ada.locator("#totp-secret").innerText()).replaceAll(/\s/g, "");
    await ada.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
    await press(ada, signInWords.turnOn);
    await ada.getByText(/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/).first().waitFor();
    await signOut(ada);
    await heading(ada, "Sign in");
    await signIn(ada, "ada@example.com", testPassword);
    await heading(ada, signInWords.secondStep);
    const between = await ada.context().newPage();
    await between.goto(`${origin}/portal/members`);
    await heading(between, "Sign in");
    await between.close();
    test.advance(totpPeriodMs);
    await ada.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
    await press(ada, /^Sign in$/);
    await heading(ada, /^Welcome to/);

    // Resetting the password ends all sessions; two-step sign-in stays on.
    const other = await open();
    await other.goto(`${origin}/sign-in`);
    await follow(other, "Forgot your password?");
    await other.locator("#email").fill("ada@example.com");
    await press(other, /Send/);
    await other.getByText("If ada@example.com has an account").waitFor();
    await openMail(test, other, "ada@example.com");
    await other.getByLabel("New password").fill(newPassword);
    await press(other, "Reset password");
    await heading(other, "Sign in");
    await follow(ada, "Usage");
    await heading(ada, "Sign in");
    await signIn(other, "ada@example.com", newPassword);
    test.advance(totpPeriodMs);
    await other.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
    await press(other, /^Sign in$/);
    await heading(other, /^Welcome to/);

    // Ending a session signs the other browser out.
    await signIn(ada, "ada@example.com", newPassword);
    test.advance(totpPeriodMs);
    await ada.getByRole("textbox", { name: "Code" }).fill(codeOf(secret, test.now()));
    await press(ada, /^Sign in$/);
    await heading(ada, "Usage");
    await other.goto(`${origin}/portal/account/security`);
    await other.locator("table").getByRole("button", { name: /Sign out/ }).first().click();
    await other.getByText("Session ended.").first().waitFor();
    await follow(ada, "API keys");
    await heading(ada, "Sign in");
    await follow(grace, /^Members$/);
    await heading(grace, "Members");
  },
  { plainOnlyInFull: true },
);
