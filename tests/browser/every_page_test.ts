// Every page in a real browser: accessible on phones and desktops, light and dark, scrolling sideways in no width, and with tables
// below their headings. docs_test.ts looks at the documentation.
import assert from "node:assert/strict";
import { overhangs, problemsOnScreens } from "../support/browser/browser.ts";
import { browserTest } from "../support/browser/app.ts";
import { type FilledPortal, fillPortal } from "../support/filled/portal.ts";
import { addPasskey } from "../support/people/second_step.ts";
import { crawl, type CrawledPage, routeFinder } from "../support/portal/crawl.ts";
import { isFull } from "../support/runner/extent.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

/** From the smallest phone to a very wide screen, without those that every page is checked with. */
const widths = [320, 768, 1024, 1920, 2560];
const longName = `“${"Wörld<wide>".repeat(8)}” 🗝`;

/** The pages of someone with a cookie. */
interface Pages {
  readonly cookie?: string;
  /** From which all others are found, unless `isAlone`. */
  readonly start: readonly string[];
  readonly isAlone?: boolean;
  /** Further addresses of the same pages. */
  readonly more?: readonly string[];
}

const pagesOf = ({ owner, member, newcomer, operator, organizationId }: FilledPortal): Pages[] => [
  { start: ["/sign-in", "/sign-up", "/forgot-password", "/reset-password", "/nowhere", "/dev/mail"] },
  {
    cookie: newcomer.cookie,
    start: ["/portal", "/portal/usage", "/portal/usage/records", "/portal/api-keys"],
    isAlone: true,
  },
  { cookie: member.cookie, start: ["/portal/account/two-step/set-up"] },
  {
    cookie: owner.cookie,
    start: ["/portal", "/portal/confirm-password?again=1", "/portal/nowhere"],
    more: [
      "/portal/audit?action=people&from=2026-11-22&to=2026-11-21",
      "/portal/usage/records?from=2026-11-22&to=2026-11-21",
      "/portal/usage?range=24h",
    ],
  },
  {
    cookie: operator.cookie,
    start: [
      "/operator",
      "/operator/statements/close",
      "/operator/organizations?search=nothing",
      `/operator/organizations/${organizationId}`,
    ],
  },
];

/** Describes each element without what differs from row to row. */
const kindsOf = ({ elements }: CrawledPage) =>
  elements.map(({ name, attributes }) =>
    [name, ...["class", "type", "role"].map((key) => attributes.get(key))].join()
  );

browserTest(
  "every page passes axe and scrolls sideways in no width",
  async ({ test, open, origin }) => {
    const filled = await fillPortal(test, {
      days: 2,
      named: (name) => /Hackathon|Katherine|experiments|Tessellate/.test(name) ? longName : name,
    });
    await test.send("/api/portal/account/two-step/totp", { method: "POST", cookie: filled.member.cookie });
    await addPasskey(test, filled.owner.cookie, longName);
    await test.signUp(longName);
    await test.mails();
    const routeOf = routeFinder(test);
    const [routes, kinds] = [new Set<string>(), new Set<string>()];
    const problems: string[] = [];
    for (const { cookie, start, isAlone = false, more = [] } of pagesOf(filled)) {
      const viewer = { name: start[0] ?? "", cookie, paths: start };
      // A quick run looks at a page only for an element that no page before it has.
      const most = isFull ? undefined : { ofRoute: 2, plain: 2, ofFilters: 1 };
      const pages = (await crawl(test, viewer, most)).filter((page) => {
        const route = routeOf(page.address);
        if (isAlone) return start.includes(page.address);
        if (routes.has(route) || route.startsWith("/docs")) return isFull && start.includes(page.address);
        routes.add(route);
        const fresh = kindsOf(page).filter((kind) => !kinds.has(kind));
        for (const kind of fresh) kinds.add(kind);
        return isFull || fresh.length > 0;
      });
      const page = await open(undefined, cookie === undefined ? {} : { cookie });
      for (const path of [...pages.map(({ address }) => address), ...more]) {
        await page.goto(origin + path);
        problems.push(...await problemsOnScreens(page), ...await overhangs(page, widths));
      }
      await page.context().close();
    }
    assert.ok(routes.size > 140, `only ${routes.size} routes`);
    assert.deepEqual(problems, []);
  },
  { host: "console.example", settings: { CURRENCY: "EUR" }, timeout: (isFull ? 4 : 2) * faultsTimeoutMs },
);
