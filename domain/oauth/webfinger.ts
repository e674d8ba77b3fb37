// WebFinger (RFC 7033): which provider signs in the people of a domain.

const issuerRelation = "http://openid.net/specs/connect/1.0/issuer";

/**
 * Describes an account, as a JSON resource descriptor. The response is the same for every local part, so it doesn't tell which accounts exist.
 *
 * @param query `resource`: the account, such as `acct:ada@example.com`; `rel`: the relations to return, none for all.
 * @returns Null for any other domain.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * const served = { domains: ["example.com"], issuer: "https://auth.example.com" };
 * assert.equal(describeAccount({ resource: "acct:ada@Example.com", rel: [] }, served)?.links[0]?.href, served.issuer);
 * assert.equal(describeAccount({ resource: "acct:ada@example.org", rel: [] }, served), null);
 * ```
 */
export function describeAccount(
  { resource, rel }: { readonly resource: string; readonly rel: readonly string[] },
  { domains, issuer }: { readonly domains: readonly string[]; readonly issuer: string },
) {
  const [, domain] = /^acct:[^@/?#\s]+@([^@/?#\s]+)$/i.exec(resource) ?? [];
  if (domain === undefined || !domains.includes(domain.toLowerCase())) return null;
  const links = [{ rel: issuerRelation, href: issuer }];
  return {
    subject: resource,
    links: rel.length === 0 ? links : links.filter((link) => rel.includes(link.rel)),
  };
}
