// docs/single-sign-on.md: its commands run on free ports, and a real browser uses both products.
import assert from "node:assert/strict";
import { accepted } from "../config_assert.ts";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { browserMissing, launchBrowser, type Page, watchedPage } from "../support/browser/browser.ts";
import { npm, packClient } from "../support/client/package.ts";
import { installGatehouse, readGuide, runLines, startCommand } from "../support/runner/guides.ts";
import { poll } from "../support/runner/poll.ts";
import { freePort } from "../support/database/sqld.ts";

const guide = await readGuide("single-sign-on.md");

const says = (page: Page, text: string) => page.locator("#who", { hasText: text }).waitFor();
/** @returns The response of the product's own server to this browser. */
const secret = (page: Page) =>
  page.evaluate(async () => {
    const response = await fetch("/secret");
    return `${response.status} ${await response.text()}`;
  });

/** Gatehouse and both products, started with commands of the guide. */
interface Running {
  readonly at: (port: string, host?: string) => string;
  readonly block: (name: string) => string;
  readonly page: Page;
  readonly errors: readonly string[];
  readonly shell: { readonly cwd: string; readonly env: Record<string, string> };
  stopGatehouse(): Promise<number>;
}

/** @param names The blocks that start Gatehouse and the products. */
async function withProducts(
  names: readonly string[],
  test: (running: Running) => Promise<void>,
): Promise<void> {
  const ports = new Map(["8000", "3001", "3002"].map((port) => [port, String(freePort())]));
  // Any of these ports may be in use on this machine.
  const block = (name: string) =>
    guide(name).replaceAll(/\b(8000|3001|3002)\b/g, (port) => ports.get(port) ?? port);
  const at = (port: string, host = "localhost") => `http://${host}:${ports.get(port)}`;
  const base = await Deno.makeTempDir({ prefix: "gatehouse-sso-" });
  const bin = await installGatehouse(base);
  await runLines(block("folder"), { cwd: base });
  const cwd = `${base}/sso`;
  const [, command = ""] =
    /^npm (install) \.\.\/gatehouse\/dist\/[\w.-]+\.tgz$/.exec(block("install").trim()) ?? [];
  await npm(`${command} ${await packClient(base)}`, cwd);
  await Deno.writeTextFile(`${cwd}/product.mjs`, block("product.mjs"));
  const path = `${bin}:${Deno.env.get("PATH")}`;
  const env = { PATH: path, PORT: ports.get("8000") ?? "", LOG_FORMAT: "json" };
  const commands = names.map((name) => startCommand(block(name), { cwd, env }));
  const browser = await launchBrowser();
  try {
    for (const address of [`${at("8000")}/health/ready`, at("3001"), at("3002")]) {
      await poll(async () => {
        const response = await fetch(address).catch(() => null);
        await response?.body?.cancel();
        return response?.ok === true;
      });
    }
    await test({
      at,
      block,
      ...await watchedPage(await browser.newContext()),
      shell: { cwd, env },
      stopGatehouse: async () => await commands[0]?.stop() ?? -1,
    });
  } catch (error) {
    throw new Error(commands.map(({ output }) => output()).join("\n"), { cause: error });
  } finally {
    await browser.close();
    for (const command of commands) await command.stop();
    await Deno.remove(base, { recursive: true });
  }
}

async function signUp(page: Page, gatehouse: string): Promise<void> {
  await page.goto(`${gatehouse}/sign-up`);
  await page.getByLabel("Your name").fill("Ada Lovelace");
  await page.locator("#email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill(testPassword);
  await page.locator("form button[type=submit]").first().click();
  await page.waitForURL("**/portal");
}

Deno.test({
  name: "the products of the single sign-on guide share one account",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withProducts(
      ["gatehouse", "notes", "tasks"],
      async ({ at, block, page, errors, shell, stopGatehouse }) => {
        await page.goto(at("3001"));
        await says(page, "Not signed in.");
        assert.equal(await secret(page), "401 Sign in first.");
        await signUp(page, at("8000"));
        for (const [port, name] of [["3001", "Notes"], ["3002", "Tasks"]] as const) {
          await page.goto(at(port));
          await says(page, "Ada Lovelace, OWNER");
          assert.equal(await secret(page), `200 ${name} has a secret for ada@example.com.`);
        }
        await page.getByRole("button", { name: "Sign out" }).click();
        await says(page, "Not signed in.");
        await page.goto(at("3001"));
        await says(page, "Not signed in.");
        assert.equal(await secret(page), "401 Sign in first.");
        // Sign in through the link and return.
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.locator("#email").fill("ada@example.com");
        await page.getByLabel("Password", { exact: true }).fill(testPassword);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
        await page.waitForURL(`${at("3001")}/`);
        await says(page, "Ada Lovelace, OWNER");
        assert.deepEqual(errors, []);

        // Cookies of two people in one request count as not signed in, in either order.
        const eve = await fetch(`${at("8000")}/api/auth/sign-up`, {
          method: "POST",
          headers: { Origin: at("8000"), "Content-Type": "application/json" },
          body: JSON.stringify({ name: "Eve", email: "eve@example.com", password: testPassword }),
        });
        assert.equal(eve.status, 201, await eve.text());
        const planted = cookieOf(eve);
        const own = (await page.context().cookies()).find(({ name }) => name === "access_token")?.value;
        for (const cookie of [`${planted}; access_token=${own}`, `access_token=${own}; ${planted}`]) {
          const answer = await fetch(`${at("3001")}/secret`, { headers: { Cookie: cookie } });
          assert.equal(`${answer.status} ${await answer.text()}`, "401 Sign in first.");
        }

        const allowed = await runLines(block("allowed"), shell);
        assert.match(allowed.toLowerCase(), new RegExp(`access-control-allow-origin: ${at("3001")}\r\n`));
        const refused = await runLines(block("allowed").replace(at("3001"), "http://localhost:1"), shell);
        assert.doesNotMatch(refused.toLowerCase(), /access-control-allow-origin/);

        // Access is denied while Gatehouse is down.
        assert.equal(await stopGatehouse(), 0);
        assert.equal(await secret(page), "503 Try again shortly.");
      },
    ),
});

Deno.test({
  name: "the products of the single sign-on guide share one account on subdomains of localhost",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withProducts(
      ["gatehouse on a subdomain", "notes on a subdomain", "tasks on a subdomain"],
      async ({ at, page, errors }) => {
        await signUp(page, at("8000", "auth.acme.localhost"));
        const cookies = (await page.context().cookies()).filter(({ name }) => name === "access_token");
        assert.deepEqual(cookies.map(({ domain }) => domain), [".acme.localhost"]);
        for (const [port, host, name] of [["3001", "notes", "Notes"], ["3002", "tasks", "Tasks"]] as const) {
          await page.goto(at(port, `${host}.acme.localhost`));
          await says(page, "Ada Lovelace, OWNER");
          assert.equal(await secret(page), `200 ${name} has a secret for ada@example.com.`);
        }
        assert.deepEqual(errors, []);
        // The cookie stays below its domain.
        await page.goto(at("3001", "notes.other.localhost"));
        assert.equal(await secret(page), "401 Sign in first.");
        await page.goto(at("3002", "tasks.acme.localhost"));
        await page.getByRole("button", { name: "Sign out" }).click();
        await says(page, "Not signed in.");
        await page.goto(at("3001", "notes.acme.localhost"));
        await says(page, "Not signed in.");
        assert.equal(await secret(page), "401 Sign in first.");
      },
    ),
});

Deno.test("the settings for your own domain are valid, and allow only the products", () => {
  const lines = guide("settings").trim().split("\n").map((line) => line.split("=") as [string, string]);
  const { allowedOrigins, cookieDomain } = accepted(Object.fromEntries(lines));
  assert.equal(cookieDomain, ".example.com");
  const isAllowed = (origin: string) => allowedOrigins.some((allowed) => allowed.matches(origin));
  assert.deepEqual(
    ["https://notes.example.com", "https://tasks.example.com", "https://evil.example.com"].map(isAllowed),
    [true, true, false],
  );
});
