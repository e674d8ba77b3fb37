// Every page of the console in a real browser. every_page_test.ts looks at the portal.
import { browserMissing } from "../support/browser/browser.ts";
import { lookAtEveryPage } from "../support/browser/every_page.ts";
import { faultsTimeoutMs } from "../support/runner/random.ts";

Deno.test({
  name: "every page of the console passes axe and scrolls sideways in no width",
  ignore: browserMissing(),
  sanitizeOps: false,
  sanitizeResources: false,
  // A browser looks at dozens of pages on four screens each.
  timeout: 2 * faultsTimeoutMs,
  fn: () =>
    lookAtEveryPage(({ operator }) => [{
      cookie: operator.cookie,
      start: ["/operator", "/operator/statements/close", "/operator/organizations?search=nothing"],
    }], { below: "/operator", routesMin: 45 }),
});
