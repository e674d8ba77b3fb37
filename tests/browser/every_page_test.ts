// Every page in a real browser: accessible on phones and desktops, light and dark, and scrolling sideways in no width. docs_test.ts
// looks at the documentation.
import assert from "node:assert/strict";
import { browserMissing, problemsOnScreens, watchedPage } from "../support/browser/browser.ts";
import { withApp } from "../support/browser/app.ts";
import { fillPortal } from "../support/filled/portal.ts";
import { addPasskey } from "../support/people/second_step.ts";
import { crawl, routeFinder } from "../support/portal/crawl.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

/** From the smallest phone to a very wide screen, without those that every page is checked with. */
const widths = [320, 768, 1024, 1920, 2560];
const longName = `“${"Wörld<wide>".repeat(8)}” 🗝`;

Deno.test({
  name: "every page passes axe and scrolls sideways in no width",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  timeout: faultsTimeoutMs,
  fn: () =>
    withApp("console.example", async (test, browser) => {
      const { owner, member, newcomer, operator } = await fillPortal(test, {
        days: 2,
        named: (name) => /Hackathon|Katherine|experiments|Tessellate/.test(name) ? longName : name,
      });
      await test.send("/api/portal/account/two-step/totp", { method: "POST", cookie: member.cookie });
      await addPasskey(test, owner.cookie, longName);
      await test.signUp(longName);
      await test.mails();
      const days = "from=2026-11-22&to=2026-11-21";
      const paths: Readonly<Record<string, readonly string[]>> = {
        "": ["/sign-in", "/sign-up", "/forgot-password", "/reset-password", "/nowhere", "/dev/mail"],
        [newcomer.cookie]: ["/portal", "/portal/usage", "/portal/usage/records", "/portal/api-keys"],
        [member.cookie]: ["/portal/account/two-step/set-up"],
        [owner.cookie]: ["/portal", "/portal/confirm-password?again=1", "/portal/nowhere"],
        [operator.cookie]: [
          "/operator",
          "/operator/statements/close",
          "/operator/organizations?search=nothing",
        ],
      };
      const more = [
        `/portal/audit?action=people&${days}`,
        `/portal/usage/records?${days}`,
        "/portal/usage?range=24h",
      ];
      const routeOf = routeFinder(test);
      const seen = new Set<string>();
      const problems: string[] = [];
      for (const [cookie, start] of Object.entries(paths)) {
        const viewer = { name: cookie, cookie: cookie || undefined, paths: start };
        const pages = (await crawl(test, viewer)).filter(({ address }) => {
          const route = routeOf(address);
          const isNew = !seen.has(route) && !route.startsWith("/docs");
          if (cookie === newcomer.cookie) return start.includes(address);
          if (isNew) seen.add(route);
          return isNew || start.includes(address);
        });
        const context = await browser.newContext();
        const { origin } = test.config.baseUrl;
        const [name = "", value = ""] = cookie.split("=");
        if (cookie !== "") await context.addCookies([{ name, value, url: origin }]);
        const { page, errors } = await watchedPage(context);
        const addresses = pages.map(({ address }) => address);
        for (const path of cookie === owner.cookie ? [...addresses, ...more] : addresses) {
          await page.goto(origin + path);
          problems.push(...await problemsOnScreens(page));
          for (const width of widths) {
            await page.setViewportSize({ width, height: 900 });
            const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
            if (Number(over) > 0) problems.push(`${path} scrolls by ${over} px at ${width} px`);
          }
        }
        assert.deepEqual(errors, []);
        await context.close();
      }
      assert.ok(seen.size > 80, `only ${seen.size} routes`);
      assert.deepEqual(problems, []);
    }),
});
