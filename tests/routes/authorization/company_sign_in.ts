// Who is allowed to use the routes of an organization's single sign-on, and what they write for a session.
import { newId } from "../../../domain/id.ts";
import { companySlug } from "../../../domain/people/company_sign_in.ts";
import { run, type Scene } from "../../support/people/scene.ts";
import { type Attempt, byOperator, type Entry, inActiveForOwner, inNamedForOwner } from "./entry.ts";

const issuer = "https://github.com";
const given = { issuer, clientId: "a", role: "MEMBER" };
const domain = "a.example";

/** @returns An attempt on the organization, which has a provider that needn't be reached, and a domain that isn't verified. */
export const withSingleSignOn =
  (more: Attempt = {}, { enforced = 1 }: { enforced?: 0 | 1 } = {}) =>
  async ({ test, organizationId: id }: Scene) => {
    await run(
      test,
      `INSERT INTO identity_providers (id, organization_id, slug, kind, name, issuer, client_id, client_secret, role,
      enforced, tested_at, position, created_at, updated_at)
      VALUES (?, ?, ?, 'github', 'A', '${issuer}', 'a', 'plain:a', 'MEMBER', ${enforced}, 0, 0, 0, 0)
      ON CONFLICT (organization_id) DO UPDATE SET client_id = 'a', enforced = ${enforced}, tested_at = 0, updated_at = updated_at + 1`,
      newId("idp"),
      id,
      companySlug(id),
    );
    await run(
      test,
      "INSERT OR IGNORE INTO organization_domains (organization_id, domain, token, created_at) VALUES (?, ?, 'a', 0)",
      id,
      domain,
    );
    return { ...more, params: { id, domain } };
  };

const api = (more: Attempt, also: readonly number[] = []) => ({
  who: inNamedForOwner,
  attempt: withSingleSignOn(more),
  also,
});
const path = "/api/portal/organizations/:id/sso";
let domains = 0;

export const companyApiEntries: Readonly<Record<string, Entry>> = {
  [`GET ${path}`]: api({}),
  [`PUT ${path}`]: api({ json: { ...given, clientId: "b", enforced: false } }),
  [`DELETE ${path}`]: api({}),
  [`POST ${path}/test`]: api({}),
  [`POST ${path}/domains`]: {
    ...api({}),
    attempt: (scene) => withSingleSignOn({ json: { domain: `a${++domains}.example` } })(scene),
  },
  [`DELETE ${path}/domains/:domain`]: api({}),
  // The record isn't found.
  [`POST ${path}/domains/:domain/verify`]: { ...api({}, [409]), writes: [] },
};

export const companyOperatorEntries: Readonly<Record<string, Entry>> = {
  "GET /api/operator/organizations/:id/sso": byOperator("organizations:read", withSingleSignOn()),
  "PATCH /api/operator/organizations/:id/sso": byOperator(
    "organizations:write",
    withSingleSignOn({ json: { enforced: false } }),
  ),
};

/** A form's page, and what sends it. A stranger's own organization has no provider and no domain. */
const form = (
  end: string,
  { fields = {}, enforced = 1, ...more }: Pick<Entry, "also" | "writes"> & {
    fields?: Readonly<Record<string, string>>;
    enforced?: 0 | 1;
  } = {},
): Record<string, Entry> => {
  const page = { who: inActiveForOwner, also: [404, ...more.also ?? []] };
  return {
    [`GET /portal/organization/single-sign-on/${end}`]: { ...page, attempt: withSingleSignOn() },
    [`POST /portal/organization/single-sign-on/${end}`]: {
      ...page,
      ...(more.writes === undefined ? {} : { writes: more.writes }),
      attempt: withSingleSignOn({ form: fields }, { enforced }),
    },
  };
};

export const companyPortalEntries: Readonly<Record<string, Entry>> = {
  "GET /portal/organization/single-sign-on": { who: inActiveForOwner },
  ...form("edit", { fields: { ...given, clientId: "b" }, enforced: 0, also: [422] }),
  ...form("test"),
  ...form("require", { enforced: 0 }),
  ...form("stop"),
  ...form("remove"),
  ...form("domains/new", { fields: { domain: "b.example" } }),
  ...form("domains/:domain/verify", { also: [409], writes: [] }),
  ...form("domains/:domain/remove"),
};
