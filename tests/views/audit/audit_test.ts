// The audit log page: a sentence for every action, filters, empty lists.
import assert from "node:assert/strict";
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditEvent,
  auditGroups,
} from "../../../domain/audit.ts";
import { limitsText } from "../../../domain/meter/usage_limit.ts";
import { auditPage, type AuditPageProps } from "../../../views/audit/audit.tsx";
import { auditHref, wholeAuditLog } from "../../../views/audit/audit_filters.tsx";
import { auditActorName, auditDenial, auditSentence } from "../../../views/audit/audit_text.ts";
import { auditWords } from "../../support/portal/words/audit.ts";
import { auditProps } from "../sample.ts";

const event = auditProps("x").events[0] as AuditEvent;
const say = (more: Partial<AuditEvent>) =>
  auditSentence({ ...event, target: null, details: {}, ...more })
    .map((part) => typeof part === "string" ? part : `“${part.name}”`).join("");
const htmlOf = async (props: AuditPageProps) =>
  String(await auditPage(props)).replaceAll(/\s+/g, " ").replaceAll(" >", ">");
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
    { productSlug: "tiles", metric: null, per: "total", mode: "hard", quantity: 0.5 },
  ] as const;
  const budget = (to: string) =>
    say({ action: "api_key.budget_changed", target: ada, details: { from: "none", to } });
  assert.equal(
    budget(limitsText(limits)),
    "Changed the budget of the key “Ada” to “6,000,000 requests per month (soft); 0.5 all metrics of tiles in total (hard)”",
  );
  assert.equal(budget("none"), "Removed the budget of the key “Ada”");
  const voided = { quantity: "919720892", metric: "bytes", product: "tiles", reason: "Twice" };
  assert.equal(
    say({ action: "usage.voided", details: voided }),
    "Voided “919,720,892” “bytes” of “tiles”: “Twice”",
  );
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
        const ours = auditSentence({ ...event, action, target, details })
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
    ["Ada", "Production", "Operator", "Gatehouse", "Someone"],
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
    actions.filter((action) => action.startsWith("organization.")),
  );
});

Deno.test("auditPage() keeps the filters in the links to other pages, and selects the chosen ones", async () => {
  const address = {
    organizationId: null,
    action: "people",
    actorId: "usr_2",
    from: "2026-11-01",
    to: null,
    cursor: "5.aud_1",
  };
  const people = [
    { id: "usr_1", name: "Ada", email: "ada@example.com" },
    { id: "usr_2", name: "Ada", email: "other@example.com" },
    { id: "usr_3", name: "Grace", email: null },
  ];
  const html = await htmlOf({ ...auditProps("x"), address, people, errors: {}, nextCursor: "4.aud_0" });
  const kept = "/portal/audit?action=people&amp;actorId=usr_2&amp;from=2026-11-01";
  assert.ok(html.includes(`href="${kept}&amp;cursor=4.aud_0"`));
  assert.ok(html.includes(`href="${kept}"`), "the link to the newest entries");
  assert.match(html, /<option value="people" selected>/);
  assert.match(html, /<option value="usr_2" selected>Ada \(other@example.com\)<\/option>/);
  assert.match(
    html,
    new RegExp(`<optgroup label="${auditWords.formerMembers}"> ?<option value="usr_3">Grace</option>`),
  );
  assert.doesNotMatch(html, /name="cursor"/);
  assert.equal(auditHref(wholeAuditLog, "/portal/audit"), "/portal/audit");
});

Deno.test("auditPage() explains why a list is empty, and what to do about it", async () => {
  const props = { ...auditProps("x"), events: [], errors: {}, nextCursor: null };
  const filtered = await htmlOf({ ...props, address: { ...wholeAuditLog, action: "keys" } });
  assert.match(
    filtered,
    new RegExp(
      `${auditWords.noMatches}.*<a class="button plain" href="/portal/audit"> ?${auditWords.clearFilters}`,
    ),
  );
  assert.match(await htmlOf({ ...props, address: wholeAuditLog }), new RegExp(auditWords.noEntries));
  const wrong = await htmlOf({
    ...props,
    address: wholeAuditLog,
    csvHref: null,
    errors: { from: "Choose a day." },
  });
  assert.match(wrong, new RegExp(auditWords.nothing));
  assert.match(wrong, /id="from-error"/);
  assert.doesNotMatch(wrong, /Download CSV/);
});

Deno.test("entries link to the keys, members and records that they are about", async () => {
  const digits = "0123456789abcdef0123456789abcdef";
  const { events: [first], ...props } = auditProps("x");
  assert.ok(first);
  const hrefsOf = async (isConsole: boolean) => {
    const html = await htmlOf({
      ...props,
      frame: { ...props.frame, isConsole },
      events: [
        { ...first, action: "api_key.revoked", target: { id: `key_${digits}`, name: "<Production>" } },
        { ...first, target: { id: `usr_${digits}`, name: "Ada" } },
        {
          ...first,
          action: "usage.voided",
          actor: { type: "apiKey", id: `key_${digits}`, name: "Import" },
          target: { id: "use_0123", name: null },
          details: { quantity: "12", metric: "requests", product: "tiles", reason: "Twice" },
        },
      ],
    });
    return [...html.matchAll(/<a class="name" href="([^"]+)"><bdi>([^<]+)/g)].map((
      [, href, name],
    ) => [href, name]);
  };
  assert.deepEqual(await hrefsOf(false), [
    [`/portal/api-keys/key_${digits}`, "&lt;Production&gt;"],
    [`/portal/members#usr_${digits}`, "Ada"],
    [`/portal/api-keys/key_${digits}`, "Import"],
    ["/portal/usage/records/use_0123", "12"],
  ]);
  assert.deepEqual(await hrefsOf(true), [[`/operator/users/usr_${digits}`, "Ada"]]);
});
