// Tests how people without access to an application see why and can get it, without redirect loops. Runs Chromium through
// the real nginx and Caddy with the configuration that `gatehouse proxy` prints.
import assert from "node:assert/strict";
import { testPassword } from "../support/app/app.ts";
import {
  type BrowserContext,
  browserMissing,
  launchBrowser,
  type Page,
  problemsOnScreens,
  watchedPage,
} from "../support/browser/browser.ts";
import { readGuide } from "../support/runner/guides.ts";
import { proxyKinds } from "../support/network/proxies.ts";
import {
  mailedToken,
  type ProxyScene,
  type ScenePerson,
  withProxyScene,
} from "../support/network/proxy_scene.ts";

const documented = await readGuide("forward-auth.md");
const recipe = { settings: documented("settings"), command: documented("four applications") };
const hosts = ["auth", "app", "team", "admin"].map((name) => [`${name}.example.com`, "127.0.0.1"]);

for (const kind of proxyKinds) {
  Deno.test({
    name: `${kind.name}: a rejected browser sees a page that says why, and can get access`,
    ignore: kind.ignore || browserMissing(),
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () =>
      withProxyScene({ kind, recipe }, async (scene) => {
        const browser = await launchBrowser(Object.fromEntries(hosts));
        try {
          // Pages without scripts are the same behind every proxy.
          for (const javaScriptEnabled of kind === proxyKinds[0] ? [true, false] : [true]) {
            const given = {
              scene,
              scripts: javaScriptEnabled,
              open: () => browser.newContext({ javaScriptEnabled }),
            };
            await anotherAccount(given);
            await roleIsMissing(given);
          }
          await confirmsEmail({ scene, scripts: true, open: () => browser.newContext() });
        } finally {
          await browser.close();
        }
      }),
  });
}

interface Given {
  readonly scene: ProxyScene;
  readonly scripts: boolean;
  open(): Promise<BrowserContext>;
}

/** Runs with a page of a browser in which a person is signed in, and asserts that no script fails. */
async function withPage(
  { scene, open }: Given,
  { cookie }: ScenePerson,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await open();
  const [name = "", value = ""] = cookie.split("=");
  await context.addCookies([{ name, value, domain: ".example.com", path: "/" }]);
  const { page, errors } = await watchedPage(context);
  try {
    await run(page);
    assert.deepEqual(errors, []);
  } catch (error) {
    throw new Error(`at ${page.url()}\n${scene.program.output()}`, { cause: error });
  } finally {
    await context.close();
  }
}

const at = ({ port }: ProxyScene, host: string) => `http://${host}.example.com:${port}/reports/7?tab=a`;
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const press = (page: Page, name: string) => page.getByRole("button", { name }).click();

/** Loads a page of an application. @returns The number of redirects. */
async function load(page: Page, address: string): Promise<number> {
  let redirects = 0;
  let request = (await page.goto(address))?.request().redirectedFrom() ?? null;
  for (; request !== null; request = request.redirectedFrom()) redirects++;
  return redirects;
}

async function confirmsEmail(given: Given): Promise<void> {
  const { scene } = given;
  const { uma, program } = scene;
  await withPage(given, uma, async (page) => {
    for (let visit = 0; visit < 3; visit++) assert.equal(await load(page, at(scene, "app")), 1);
    await heading(page, "Confirm your email address");
    assert.deepEqual(await problemsOnScreens(page), []);
    await press(page, "Resend email");
    await page.getByText("Email sent.").waitFor();
    // Trying again too early shows the same page.
    await page.getByRole("link", { name: "Try again" }).click();
    await heading(page, "Confirm your email address");
    const token = await mailedToken(program, uma.email, 2);
    const link = await page.context().newPage();
    await link.goto(`http://auth.example.com:${scene.port}/verify-email?token=${token}`);
    await link.getByRole("button", { name: "Confirm" }).click();
    await link.waitForURL(/\/portal\//);
    await page.reload();
    await heading(page, "You have access");
    await page.getByRole("link", { name: "Continue" }).click();
    await heading(page, `Hello ${uma.userId}`);
    assert.equal(page.url(), at(scene, "app"));
  });
}

async function anotherAccount(given: Given): Promise<void> {
  const { scene } = given;
  const { eve, bob } = scene;
  // The test signs out, so use a separate session.
  const cookie = await scene.signInAgain(eve);
  await withPage(given, { ...eve, cookie }, async (page) => {
    assert.equal(await load(page, at(scene, "team")), 1);
    await heading(page, "You don't have access");
    await page.getByText("only open to members of another organization").waitFor();
    await press(page, "Use another account");
    await page.locator("#email").fill(bob.email);
    await page.getByLabel("Password", { exact: true }).fill(testPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await heading(page, `Hello ${bob.userId}`);
    assert.equal(page.url(), at(scene, "team"));
  });
}

async function roleIsMissing(given: Given): Promise<void> {
  const { scene } = given;
  await withPage(given, scene.bob, async (page) => {
    assert.equal(await load(page, at(scene, "admin")), 1);
    await heading(page, "You don't have access");
    await page.getByText("requires the role Admin or higher").waitFor();
    await page.getByRole("listitem").getByText("Zoë 100%").waitFor();
    // Without scripts the document is the same, but axe-core would hang.
    if (given.scripts) assert.deepEqual(await problemsOnScreens(page), []);
    // Requests by scripts get a status, not a redirect.
    const { status, headers } = await scene.isBlocked({
      host: "admin.example.com",
      headers: { cookie: scene.bob.cookie, "sec-fetch-mode": "cors" },
    });
    assert.deepEqual([status, headers["location"]], [403, undefined]);
  });
}
