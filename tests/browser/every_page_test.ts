// Every page of the portal in a real browser. every_console_page_test.ts looks at the console, and docs_test.ts at the documentation.
import { browserMissing } from "../support/browser/browser.ts";
import { lookAtEveryPage } from "../support/browser/every_page.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

Deno.test({
  name: "every page of the portal passes axe and scrolls sideways in no width",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  // A browser looks at dozens of pages on four screens each.
  timeout: 2 * faultsTimeoutMs,
  fn: () =>
    lookAtEveryPage(({ owner, member, newcomer }) => [
      {
        cookie: "",
        start: ["/sign-in", "/sign-up", "/forgot-password", "/reset-password", "/nowhere", "/dev/mail"],
      },
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
    ], { routesMin: 45 }),
});
