// The page of the audit log: sentences for every action, filters that stay, a way out of every empty list.
import assert from "node:assert/strict";
import {
  type AuditAction,
  auditActions,
  auditActionsOf,
  type AuditEvent,
  auditGroups,
} from "../../../domain/audit.ts";
import { auditHref, auditPage, type AuditPageProps, wholeAuditLog } from "../../../views/audit/audit.tsx";
import { auditActorName, auditRefusal, auditSentence } from "../../../views/audit/audit_text.ts";
import { auditProps } from "../sample.ts";

const event = auditProps("x").events[0] as AuditEvent;
const say = (more: Partial<AuditEvent>) =>
  auditSentence({ ...event, target: null, details: {}, ...more })
    .map((part) => typeof part === "string" ? part : `“${part.name}”`).join("");
const htmlOf = async (props: AuditPageProps) =>
  String(await auditPage(props)).replaceAll(/\s+/g, " ").replaceAll(" >", ">");
const actions = Object.keys(auditActions) as AuditAction[];

Deno.test("auditSentence() says what was done, and sets apart what others wrote", () => {
  const ada = { id: "usr_1", name: "Ada" };
  assert.equal(
    say({ action: "member.role_changed", target: ada, details: { from: "MEMBER", to: "ADMIN" } }),
    "Changed “Ada”’s role from Member to Admin",
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
    "Removed “Ada”, who was Member; their keys were revoked",
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
    "Removed every passkey of “Ada”",
  );
  const operator = { type: "operator", id: null, name: null } as const;
  assert.equal(
    say({ action: "member.joined", details: { role: "ADMIN" } }),
    "Joined the organization as Admin",
  );
  assert.equal(
    say({ action: "member.joined", actor: operator, target: ada, details: { role: "ADMIN" } }),
    "Made “Ada” a member as Admin",
  );
  const request = { method: "POST", path: "/api/portal/api-keys" };
  assert.equal(
    say({ action: "access.denied", details: { ...request, reason: "forbidden" } }),
    "Tried what they may not do: POST /api/portal/api-keys",
  );
  assert.equal(
    say({ action: "access.denied", details: { ...request, reason: "cross_site" } }),
    "Another site tried something in their name: POST /api/portal/api-keys",
  );
});

Deno.test("auditSentence() has a whole sentence for every action, whatever an entry lacks", () => {
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

Deno.test("auditActorName() names everybody, and auditRefusal() marks what was not done", () => {
  const by = (type: AuditEvent["actor"]["type"], name: string | null = null) =>
    auditActorName({
      ...event,
      actor: { type, id: null, name },
      target: { id: "key_1", name: "Production" },
    });
  assert.deepEqual(
    [by("session", "Ada"), by("apiKey"), by("operator"), by("system"), by("anonymous")],
    ["Ada", "Production", "An operator", "Gatehouse", "Somebody"],
  );
  assert.deepEqual(
    actions.map(auditRefusal).filter((word) => word !== null).length,
    auditActionsOf("refusals").length,
  );
  assert.equal(auditRefusal("session.second_step_refused"), "Refused");
  assert.equal(auditRefusal("session.created"), null);
});

Deno.test("every action is in a group, and a name that is neither stands for none", () => {
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

Deno.test("auditPage() keeps the filters in the way to older entries, and marks what was chosen", async () => {
  const address = { action: "people", actorId: "usr_2", from: "2026-11-01", to: null, cursor: "5.aud_1" };
  const people = [
    { id: "usr_1", name: "Ada", email: "ada@example.com" },
    { id: "usr_2", name: "Ada", email: "other@example.com" },
    { id: "usr_3", name: "Grace", email: null },
  ];
  const html = await htmlOf({ ...auditProps("x"), address, people, faults: {}, nextCursor: "4.aud_0" });
  const kept = "/portal/audit?action=people&amp;actorId=usr_2&amp;from=2026-11-01";
  assert.ok(html.includes(`href="${kept}&amp;cursor=4.aud_0"`));
  assert.ok(html.includes(`href="${kept}"`), "the way back to the newest");
  assert.match(html, /<option value="people" selected>People<\/option>/);
  assert.match(html, /<option value="usr_2" selected>Ada \(other@example.com\)<\/option>/);
  assert.match(html, /<optgroup label="No longer here"> ?<option value="usr_3">Grace<\/option>/);
  assert.doesNotMatch(html, /name="cursor"/);
  assert.equal(auditHref(wholeAuditLog), "/portal/audit");
});

Deno.test("auditPage() says why nothing is there, and leads out of it", async () => {
  const props = { ...auditProps("x"), events: [], faults: {}, nextCursor: null };
  const filtered = await htmlOf({ ...props, address: { ...wholeAuditLog, action: "keys" } });
  assert.match(filtered, /Nothing fits.*<a class="button plain" href="\/portal\/audit"> ?Show everything/);
  assert.match(await htmlOf({ ...props, address: wholeAuditLog }), /No entries/);
  const wrong = await htmlOf({
    ...props,
    address: wholeAuditLog,
    csvHref: null,
    faults: { from: "Choose a day." },
  });
  assert.match(wrong, /Nothing to show/);
  assert.match(wrong, /id="from-error"/);
  assert.doesNotMatch(wrong, /Download CSV/);
});
