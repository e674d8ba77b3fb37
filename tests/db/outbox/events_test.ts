// Events of audited changes: the file that writes the entry of such a change writes its event, too.
import assert from "node:assert/strict";
import { readTree } from "../../tidy/source.ts";

/** The actions that are events, with their types. */
const told = {
  "api_key.created": "api_key.created",
  "api_key.rotated": "api_key.rotated",
  "api_key.revoked": "api_key.revoked",
  "member.joined": "member.added",
  "member.removed": "member.removed",
  "member.left": "member.removed",
  "organization.created": "organization.created",
  "organization.plan_changed": "organization.plan_changed",
  "organization.suspended": "organization.suspended",
  "organization.resumed": "organization.resumed",
  "organization.deleted": "organization.deleted",
  "statement.closed": "statement.closed",
};

/** Functions that write an event of a type, besides those that its name is given to. */
const writers: Readonly<Record<string, string>> = {
  "api_key.revoked": "insertRevokedEvents",
  "organization.deleted": "endOrganizationAccess",
  "organization.suspended": "insertChangeEvent\\(action",
  "organization.resumed": "insertChangeEvent\\(action",
  "statement.closed": "finishStatement",
};

Deno.test("files that write the audit entry of a change that is an event write the event", async () => {
  const tree = await readTree(new URL("../../../", import.meta.url));
  const files = tree.filter(({ path }) => /^(db|services)\/.*\.ts$/.test(path));
  const writes = files.flatMap(({ path, text }) =>
    Object.entries(told).flatMap(([action, type]) =>
      text.includes(`"${action}"`) ? [{ path, action, type, text }] : []
    )
  );
  assert.deepEqual(new Set(writes.map(({ action }) => action)), new Set(Object.keys(told)));
  for (const { path, action, type, text } of writes) {
    const event = RegExp(`insert(Change)?Events?\\(\\s*"${type}"|${writers[type] ?? "^$"}`);
    assert.match(text, event, `${path} writes “${action}” without its event`);
  }
});
