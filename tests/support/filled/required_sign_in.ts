// The filled portal's company requires its own provider for a moment.
import assert from "node:assert/strict";
import type { TestApp } from "../app/app.ts";
import { run } from "../people/scene.ts";
import { type CrawledPage, open } from "../portal/crawl.ts";
import type { FilledPortal } from "./portal.ts";

/** The pages that are linked only while an organization requires single sign-on. */
export async function requiredSingleSignOn(
  test: TestApp,
  { owner, operator, organizationId }: FilledPortal,
): Promise<CrawledPage[]> {
  const require = (enforced: number) =>
    run(
      test,
      `UPDATE identity_providers SET enforced = ${enforced} WHERE organization_id = ?`,
      organizationId,
    );
  const links: [viewer: string, cookie: string, from: string, to: string][] = [
    [
      "owner",
      owner.cookie,
      "/portal/organization/single-sign-on",
      "/portal/organization/single-sign-on/stop",
    ],
    [
      "operator",
      operator.cookie,
      `/operator/organizations/${organizationId}`,
      `/operator/organizations/${organizationId}/single-sign-on`,
    ],
  ];
  await require(1);
  const found = await Promise.all(
    links.flatMap(([viewer, cookie, from, to]) =>
      [from, to].map((path) => open(test, path, { viewer, cookie }))
    ),
  );
  await require(0);
  const pages = found.map((page) => page as CrawledPage);
  for (const [index, [, , , to]] of links.entries()) {
    assert.ok(pages[2 * index]?.html.includes(`href="${to}"`), to);
  }
  return pages;
}
