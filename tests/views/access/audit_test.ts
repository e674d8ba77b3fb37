// The audit log: a sentence for every action, and links to what entries are about.
import assert from "node:assert/strict";
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditEvent,
  auditGroups,
} from "../../../domain/access/audit.ts";
import { catalogueOf } from "../../../domain/meter/catalogue.ts";
import { limitsText } from "../../../domain/meter/usage_limit.ts";
import { auditHref, wholeAuditLog } from "../../../views/access/audit_filters.tsx";
import { objectHref } from "../../../views/access/audit_table.tsx";
import { auditActorName, auditDenial, auditSentence } from "../../../views/access/audit_text.ts";

const event: AuditEvent = {
  id: "aud_1",
  at: "2026-11-21T14:03:11.000Z",
  action: "member.role_changed",
  actor: { type: "session", id: "usr_1", name: "Ada" },
  target: null,
  details: {},
  address: "198.51.100.7",
  userAgent: "",
  requestId: null,
};
const catalogue = catalogueOf({
  products: [{
    slug: "tiles",
    name: "Map tiles",
    metrics: [{ slug: "bytes", name: "Data transfer", unit: "bytes" }],
  }],
  used: [],
});
const say = (more: Partial<AuditEvent>) =>
  auditSentence({ ...event, target: null, details: {}, ...more }, catalogue)
    .map((part) => typeof part === "string" ? part : `“${part.name}”`).join("");
const actions = Object.keys(auditActions) as AuditAction[];

Deno.test("auditSentence() describes an action, and marks user text", () => {
  const ada = { id: "usr_1", name: "Ada" };
  assert.equal(
    say({ action: "member.role_changed", target: ada, details: { from: "MEMBER", to: "ADMIN" } }),
    "Changed “Ada”'s role from Member to Admin",
  );
  assert.equal(
    say({ action: "invitation.created", target: ada, details: { role: "OWNER" } }),
    "Invited “Ada” as Owner",
  );
  assert.equal(
    say({ action: "organization.renamed", details: { from: "MEMBER", to: "{target}" } }),
    "Renamed the organization from “MEMBER” to “{target}”",
  );
  assert.equal(
    say({ action: "member.removed", target: ada, details: { role: "MEMBER", keys: "revoked" } }),
    "Removed “Ada” (Member); their keys were revoked",
  );
  assert.equal(
    say({ action: "session.created", details: { method: "password and recovery code" } }),
    "Signed in with a password and a recovery code",
  );
  assert.equal(say({ action: "session.ended" }), "Signed out");
  assert.equal(
    say({ action: "session.ended", target: { id: "ses_1", name: null } }),
    "Ended one of their other sessions",
  );
  assert.equal(
    say({ action: "passkey.removed", target: ada, details: { passkeys: "all" } }),
    "Removed all passkeys of “Ada”",
  );
  const limits = [
    { productSlug: null, metric: "requests", per: "month", mode: "soft", quantity: 6_000_000 },
    { productSlug: "tiles", metric: null, per: "total", mode: "hard", quantity: 0.5, notifyAt: [100, 50] },
    { productSlug: "tiles", metric: "requests", per: "day", mode: "hard", quantity: 7, notifyAt: [80, 100] },
  ] as const;
  const budget = (to: string) =>
    say({ action: "api_key.budget_changed", target: ada, details: { from: "none", to } });
  assert.equal(
    budget(limitsText(limits)),
    "Changed the budget of the key “Ada”: set “Requests per month” to “6,000,000 (soft)”; set “Map tiles · all metrics in total” to “0.5 (hard, notify at 50, 100%)”; set “Map tiles · Requests per day” to “7 (hard)”",
  );
  assert.equal(budget("none"), "Removed the budget of the key “Ada”");
  const voided = { quantity: "919720892", metric: "bytes", product: "tiles", reason: "Twice" };
  assert.equal(
    say({ action: "usage.voided", details: voided }),
    "Voided “919.7 MB” “data transfer” of “Map tiles”: “Twice”",
  );
  const backdated = (records: string) =>
    say({ action: "usage.backdated", details: { records, from: "2026-10-12", to: "2026-10-12" } });
  assert.equal(backdated("1"), "Recorded an old record, from “Oct 12”");
  assert.equal(backdated("12"), "Recorded “12” old records, from “Oct 12” to “Oct 12”");
  const operator = { type: "operator", id: null, name: null } as const;
  assert.equal(
    say({ action: "member.joined", details: { role: "ADMIN" } }),
    "Joined the organization as Admin",
  );
  assert.equal(
    say({ action: "member.joined", actor: operator, target: ada, details: { role: "ADMIN" } }),
    "Added “Ada” to the organization as Admin",
  );
  const request = { method: "POST", path: "/api/portal/api-keys" };
  assert.equal(
    say({ action: "access.denied", details: { ...request, reason: "forbidden" } }),
    "Permission denied: POST /api/portal/api-keys",
  );
  assert.equal(
    say({ action: "access.denied", details: { ...request, reason: "cross_site" } }),
    "Cross-site request denied: POST /api/portal/api-keys",
  );
});

Deno.test("auditSentence() returns a complete sentence for every action, even if details are missing", () => {
  for (const action of actions) {
    for (
      const target of [null, { id: null, name: null }, { id: "x_1", name: null }, {
        id: "x_1",
        name: "[{to}]",
      }]
    ) {
      for (
        const details of [{}, { from: "a" }, { role: "", method: "" }, {
          from: "[",
          to: "{target}",
          role: "x",
        }]
      ) {
        const ours = auditSentence({ ...event, action, target, details }, catalogue)
          .filter((part) => typeof part === "string").join("");
        assert.match(ours, /^[A-Z][a-z]/, action);
        assert.doesNotMatch(ours, /[[\]{}]|undefined|null/, action);
      }
    }
  }
});

Deno.test("auditActorName() names every kind of actor, and auditDenial() marks what failed", () => {
  const by = (type: AuditEvent["actor"]["type"], name: string | null = null) =>
    auditActorName({
      ...event,
      actor: { type, id: null, name },
      target: { id: "key_1", name: "Production" },
    });
  assert.deepEqual(
    [by("session", "Ada"), by("apiKey"), by("operator"), by("system"), by("anonymous")],
    ["Ada", "Production", "Operator", "System", "Someone"],
  );
  assert.deepEqual(
    actions.map(auditDenial).filter((word) => word !== null).length,
    auditActionsOf("refusals").length,
  );
  assert.equal(auditDenial("session.second_step_refused"), "Failed");
  assert.equal(auditDenial("session.created"), null);
});

Deno.test("every action is in a group, and an unknown name has no actions", () => {
  const grouped = new Set(Object.keys(auditGroups).flatMap(auditActionsOf));
  assert.deepEqual([...grouped].sort(), [...actions].sort());
  for (const name of ["", "session", "toString", "__proto__", "constructor"]) {
    assert.deepEqual(auditActionsOf(name), []);
  }
  assert.deepEqual(
    auditActionsOf("organization"),
    actions.filter((action) => /^(organization|sso)\./.test(action)),
  );
});

Deno.test("auditHref() has every filter, and omits defaults", () => {
  const address = {
    ...wholeAuditLog,
    action: "people",
    actorId: "usr_2",
    from: "2026-11-01",
    cursor: "5.aud_1",
  };
  assert.equal(
    auditHref(address, "/portal/audit"),
    "/portal/audit?action=people&actorId=usr_2&from=2026-11-01&cursor=5.aud_1",
  );
  assert.equal(auditHref(wholeAuditLog, "/portal/audit"), "/portal/audit");
});

Deno.test("entries link to the keys, members and records that they are about", () => {
  const digits = "0123456789abcdef0123456789abcdef";
  const hrefs: [id: string, portal: string | null, console: string | null][] = [
    [`key_${digits}`, `/portal/api-keys/key_${digits}`, null],
    [`usr_${digits}`, `/portal/members#usr_${digits}`, `/operator/users/usr_${digits}`],
    [`org_${digits}`, "/portal/organization", `/operator/organizations/org_${digits}`],
    ["use_0123", "/portal/usage/records/use_0123", null],
    ["ses_0123", null, null],
  ];
  for (const [id, portal, console] of hrefs) {
    assert.deepEqual(
      [false, true].map((isConsole) => objectHref(id, { base: "/portal", isReadOnly: false, isConsole })),
      [portal, console],
      id,
    );
  }
});

Deno.test("auditSentence() names what a grant is of, with its unit and the day of its end", () => {
  const catalogue = catalogueOf({
    products: [{
      slug: "elevation",
      name: "Elevation",
      metrics: [{ slug: "compute_time", name: "Compute time", unit: "seconds" }],
    }],
    used: [],
  });
  const words = (action: AuditAction, name: string, details: AuditEvent["details"]) =>
    auditSentence({ ...event, action, target: { id: "gra_1", name }, details }, catalogue)
      .map((part) => typeof part === "string" ? part : part.name).join("");
  const details = { quantity: "500", expiresAt: "2026-11-28T00:00:00.000Z", reason: "Referral" };
  assert.equal(
    words("organization.grant_added", "elevation/compute_time", details),
    "Granted 8.33 min of Elevation · Compute time, until Nov 28 (Referral)",
  );
  assert.equal(
    words("organization.grant_added", "all products/all metrics", { quantity: "5000", reason: "Paid" }),
    "Granted 5,000 of All usage (Paid)",
  );
  assert.equal(
    words("organization.grant_voided", "all products/compute_time", { reason: "Refunded" }),
    "Voided a grant of Compute time (Refunded)",
  );
});

Deno.test("auditSentence() shows entries that tell less of a change, as earlier versions wrote them", () => {
  const target = { id: "x_1", name: "Northwind" };
  const limits = "all products/requests per month: hard 6000000; tiles/bytes per day: no limit";
  const entries: [AuditAction, AuditEvent["details"], string][] = [
    [
      "organization.limits_changed",
      { limits },
      "Set the limits to “6,000,000 requests per month (hard); no limit for data transfer of Map tiles per day” for “Northwind”",
    ],
    ["organization.limits_changed", { limits: "" }, "Removed all limits for “Northwind”"],
    ["plan.changed", { features: "satellite" }, "Set the features to “satellite” in the plan “Northwind”"],
    [
      "plan.changed",
      { featureNames: "beta, sso" },
      "Changed the names of “beta, sso” in the plan “Northwind”",
    ],
    ["plan.changed", {}, "Changed the plan “Northwind”"],
    [
      "product.changed",
      { prices: "bytes: 1 → none" },
      "Removed the price of “Data transfer” (“1”) for “Northwind”",
    ],
    [
      "product.created",
      { prices: "bytes: none → 0.5, map.loads: none → 1000", aggregations: "bytes: sum → unique user_id" },
      "Added the product “Northwind”: set the price of “Data transfer” to “0.5”; set the price of “Map loads” to “1,000”; " +
      "changed the aggregation of “Data transfer” from “sum of quantities” to “distinct values of user_id”",
    ],
    [
      "identity_provider.changed",
      { change: "name, issuer https://id.example, client secret" },
      "Changed the sign-in provider “Northwind”: “name”; “issuer https://id.example”; “client secret”",
    ],
    ["sso.changed", { change: "role ADMIN" }, "Changed single sign-on: “role Admin”"],
    ["sso.enforced", {}, "Required single sign-on"],
  ];
  for (const [action, details, sentence] of entries) {
    assert.equal(say({ action, target, details }), sentence);
  }
});

Deno.test("auditSentence() writes months, counts and reasons in words", () => {
  const target = { id: "x_1", name: "2026-10" };
  assert.equal(say({ action: "statement.closed", target }), "Closed the statement of “October 2026”");
  const hook = { id: "whk_1", name: "Billing" };
  assert.equal(
    say({ action: "webhook.disabled", target: hook, details: { reason: "gone" } }),
    "Disabled the webhook “Billing”: “it returned 410 Gone”",
  );
  assert.equal(
    say({ action: "webhook.replayed", target: hook, details: { deliveries: "1200" } }),
    "Replayed “1,200” deliveries of the webhook “Billing”",
  );
});
