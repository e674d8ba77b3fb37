// What the audit log says in sentences. Who did it stands beside them: they begin with what was done.
import { type AuditAction, auditActions, type AuditEvent } from "../../domain/audit.ts";

/** A part of a sentence: words of ours, or somebody's text, which the page sets apart. */
export type AuditPart = string | { readonly name: string };

/** `{…}` is the target's name or one of the details; what is in brackets is left out where one of its own is missing. */
const sentences: Readonly<Record<AuditAction, string>> = {
  "session.created": "Signed in[ with {method}]",
  "session.refused": "Could not sign in[ as {target}]",
  "session.limited": "Tried to sign in too often[ as {target}]",
  "session.second_step_asked": "Gave the right password[ of {target}], and was asked for the second step",
  "session.second_step_refused": "Failed the second step of signing in[ as {target}]",
  "session.proved": "Confirmed who they are[ with {method}]",
  "session.ended": "Signed out",
  "session.others_ended": "Signed out everywhere else",
  "account.created": "Made an account[ with {target}]",
  "account.renamed": "Changed their name[ from {from}][ to {to}]",
  "account.taken_back":
    "Took back the account[ of {target}]: ended all other access and removed other members",
  "account.deleted": "Deleted their account[, {target}]",
  "account.disabled": "Disabled the account[ of {target}]",
  "account.enabled": "Enabled the account[ of {target}]",
  "email.verification_requested": "Asked for a mail to confirm their address[, {target}]",
  "email.verified": "Confirmed their address[, {target}]",
  "email.change_requested": "Asked to change their address[ from {from}][ to {to}]",
  "email.changed": "Changed their address[ from {from}][ to {to}]",
  "password.reset_requested": "Asked to reset the password[ of {target}]",
  "password.reset": "Reset the password[ of {target}]",
  "password.changed": "Changed their password",
  "password.refused": "Gave a wrong password",
  "two_step.enabled": "Turned two-step sign-in on[ for {target}]",
  "two_step.disabled": "Turned two-step sign-in off[ for {target}]",
  "two_step.turn_off_requested": "Asked for a link that turns two-step sign-in off",
  "two_step.locked": "Gave too many wrong codes[ as {target}]: the app’s codes are locked",
  "recovery_codes.replaced": "Replaced their recovery codes",
  "passkey.added": "Added a passkey[, {target}]",
  "passkey.renamed": "Renamed a passkey[ from {from}][ to {to}]",
  "passkey.removed": "Removed a passkey[, {target}]",
  "organization.created": "Created the organization[ {target}]",
  "organization.renamed": "Renamed the organization[ from {from}][ to {to}]",
  "organization.transferred": "Handed the organization over[ to {target}]",
  "organization.deleted": "Deleted the organization[ {target}]",
  "member.joined": "Joined the organization[ as {role}]",
  "member.role_changed": "Changed {target}’s role[ from {from}][ to {to}]",
  "member.removed": "Removed {target}[, who was {role}][; their keys were {keys}]",
  "member.left": "Left the organization[; their keys were {keys}]",
  "invitation.created": "Invited {target}[ as {role}]",
  "invitation.resent": "Sent the invitation of {target} again",
  "invitation.revoked": "Revoked the invitation of {target}",
  "api_key.created": "Created the key {target}",
  "api_key.renamed": "Renamed a key to {target}",
  "api_key.rotated": "Replaced the key {target} by a new one",
  "api_key.revoked": "Revoked the key {target}",
  "api_key.limited": "Called more often than a key may",
  "mail.limited": "Asked for more mails than there may be[, for {target}]",
  "access.denied": "Tried what they may not do[: {request}]",
};
const endedOther = "Ended one of their other sessions";
const removedAll = "Removed every passkey of {target}";
const madeMember = "Made {target} a member[ as {role}]";
const fromAnotherSite = "Another site tried something in their name[: {request}]";

/** Values that are stored as programs write them. */
const valueWords: ReadonlyMap<string, string> = new Map([
  ["OWNER", "Owner"],
  ["ADMIN", "Admin"],
  ["MEMBER", "Member"],
  ["revoked", "revoked"],
  ["handed over", "handed over"],
]);
/** Details whose values are words of ours; all others may be anybody’s text. */
const ownDetails: ReadonlySet<string> = new Set(["role", "keys"]);

/** @returns What was done, in parts that make a sentence without its full stop. */
export function auditSentence({ action, actor, target, details }: AuditEvent): AuditPart[] {
  const values = new Map<string, AuditPart>();
  for (const [name, value] of Object.entries(details)) {
    const word = ownDetails.has(name) || action === "member.role_changed" ? valueWords.get(value) : undefined;
    values.set(name, word ?? { name: value });
  }
  const name = target?.name ?? target?.id ?? null;
  if (name !== null) values.set("target", { name });
  const { method, path } = details;
  if (method !== undefined && path !== undefined) values.set("request", `${method} ${path}`);
  else if (method !== undefined) values.set("method", `a ${method.replaceAll(" and ", " and a ")}`);
  const sentence = action === "session.ended" && target !== null
    ? endedOther
    : details["reason"] === "cross_site"
    ? fromAnotherSite
    : action === "passkey.removed" && details["passkeys"] === "all"
    ? removedAll
    : action === "member.joined" && actor.type === "operator"
    ? madeMember
    : sentences[action] ?? auditActions[action];
  return joined(
    sentence.split(/[[\]]/).flatMap((segment, index) =>
      filled(segment, { values, isOptional: index % 2 === 1 })
    ),
  );
}

/** @returns Who did it. */
export function auditActorName({ actor, target }: AuditEvent): string {
  switch (actor.type) {
    case "session":
      return actor.name ?? "A former member";
    case "apiKey":
      return target?.name ?? "An API key";
    case "operator":
      return "An operator";
    case "system":
      return "Gatehouse";
    case "anonymous":
      return "Somebody";
  }
}

/** @returns A word for an entry that says that something was not done; null for all others. */
export function auditRefusal(action: AuditAction): string | null {
  const [, word = null] = /(refused|limited|denied|locked)$/.exec(action) ?? [];
  return word === null ? null : word.charAt(0).toUpperCase() + word.slice(1);
}

function filled(
  segment: string,
  { values, isOptional }: { values: ReadonlyMap<string, AuditPart>; isOptional: boolean },
): AuditPart[] {
  const parts = segment.split(/[{}]/);
  const names = parts.filter((_, index) => index % 2 === 1);
  if (isOptional && names.some((name) => !values.has(name))) return [];
  return parts.map((part, index) => index % 2 === 0 ? part : values.get(part) ?? "somebody");
}

/** Neighbouring words become one part. */
function joined(parts: readonly AuditPart[]): AuditPart[] {
  const all: AuditPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (typeof part === "string" && typeof last === "string") all[all.length - 1] = last + part;
    else if (part !== "") all.push(part);
  }
  return all;
}
