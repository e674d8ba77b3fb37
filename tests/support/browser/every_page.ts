// Every page in a real browser: accessible on phones and desktops, light and dark, and scrolling sideways in no width.
import assert from "node:assert/strict";
import { type FilledPortal, fillPortal } from "../filled/portal.ts";
import { addPasskey } from "../people/second_step.ts";
import { crawl, routeFinder } from "../portal/crawl.ts";
import { withApp } from "./app.ts";
import { problemsOnScreens, watchedPage } from "./browser.ts";

/** From the smallest phone to a very wide screen, without those that every page is checked with. */
const widths = [320, 768, 1024, 1920, 2560];
const longName = `“${"Wörld<wide>".repeat(8)}” 🗝`;

/** The pages of someone with a cookie. */
interface Pages {
  readonly cookie: string;
  /** From which all others are found, unless `isAlone`. */
  readonly start: readonly string[];
  readonly isAlone?: boolean;
  /** Further addresses of the same pages. */
  readonly more?: readonly string[];
}

/** Looks at a page of each route outside the documentation. @param options `below`: only of routes that begin so. `routesMin`: so that no page is missed. */
export function lookAtEveryPage(
  pagesOf: (filled: FilledPortal) => readonly Pages[],
  { below = "", routesMin }: { below?: string; routesMin: number },
): Promise<void> {
  return withApp("console.example", async (test, browser) => {
    const filled = await fillPortal(test, {
      days: 2,
      named: (name) => /Hackathon|Katherine|experiments|Tessellate/.test(name) ? longName : name,
    });
    await test.send("/api/portal/account/two-step/totp", { method: "POST", cookie: filled.member.cookie });
    await addPasskey(test, filled.owner.cookie, longName);
    await test.signUp(longName);
    await test.mails();
    const { origin } = test.config.baseUrl;
    const routeOf = routeFinder(test);
    const seen = new Set<string>();
    const problems: string[] = [];
    for (const { cookie, start, isAlone = false, more = [] } of pagesOf(filled)) {
      const viewer = { name: cookie, cookie: cookie || undefined, paths: start };
      const pages = (await crawl(test, viewer)).filter(({ address }) => {
        const route = routeOf(address);
        const isNew = !seen.has(route) && route.startsWith(below) && !route.startsWith("/docs");
        if (isAlone) return start.includes(address);
        if (isNew) seen.add(route);
        return isNew || start.includes(address);
      });
      const context = await browser.newContext();
      const [name = "", value = ""] = cookie.split("=");
      if (cookie !== "") await context.addCookies([{ name, value, url: origin }]);
      const { page, errors } = await watchedPage(context);
      for (const path of [...pages.map(({ address }) => address), ...more]) {
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
    assert.ok(seen.size > routesMin, `only ${seen.size} routes`);
    assert.deepEqual(problems, []);
  });
}
