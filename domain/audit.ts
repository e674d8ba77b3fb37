// What the audit log can say: a closed list of actions, and the words for each.
import type { Actor } from "./actor.ts";

/** Every action with what people read. A new act gets a line here. */
export const auditActions = {
  "session.created": "Signed in",
  "session.refused": "Sign-in refused",
  "session.limited": "Sign-ins slowed down",
  "session.second_step_asked": "Second step asked for",
  "session.second_step_refused": "Second step refused",
  "session.proved": "Confirmed with a code",
  "session.ended": "Signed out",
  "session.others_ended": "Signed out everywhere else",
  "account.created": "Account created",
  "account.renamed": "Name changed",
  "account.taken_back": "Account taken back",
  "account.deleted": "Account deleted",
  "account.disabled": "Account disabled",
  "account.enabled": "Account enabled",
  "email.verification_requested": "Confirmation mail asked for",
  "email.verified": "Address confirmed",
  "email.change_requested": "Change of address asked for",
  "email.changed": "Address changed",
  "password.reset_requested": "Password reset asked for",
  "password.reset": "Password reset",
  "password.changed": "Password changed",
  "password.refused": "Password refused",
  "two_step.enabled": "Two-step sign-in turned on",
  "two_step.disabled": "Two-step sign-in turned off",
  "two_step.turn_off_requested": "Link to turn off two-step sign-in requested",
  "two_step.locked": "Codes of the app locked",
  "recovery_codes.replaced": "Recovery codes replaced",
  "passkey.added": "Passkey added",
  "passkey.renamed": "Passkey renamed",
  "passkey.removed": "Passkey removed",
  "organization.created": "Organization created",
  "organization.renamed": "Organization renamed",
  "organization.transferred": "Ownership transferred",
  "organization.deleted": "Organization deleted",
  "member.joined": "Member joined",
  "member.role_changed": "Role changed",
  "member.removed": "Member removed",
  "member.left": "Member left",
  "invitation.created": "Invitation sent",
  "invitation.resent": "Invitation sent again",
  "invitation.revoked": "Invitation revoked",
  "api_key.created": "API key created",
  "api_key.renamed": "API key renamed",
  "api_key.rotated": "API key rotated",
  "api_key.revoked": "API key revoked",
  "api_key.limited": "API key over its limit",
  "mail.limited": "Mails over their limit",
  "access.denied": "Attempt denied",
} as const;

/** A stable name of an action, for programs. */
export type AuditAction = keyof typeof auditActions;

/** @returns Whether a text is the name of an action. */
export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text);
}

/** What people look for together: by the noun that an action begins with. */
const groupNouns = {
  "sign-ins": ["session"],
  accounts: ["account", "email", "password", "two_step", "recovery_codes", "passkey", "mail"],
  people: ["member", "invitation"],
  keys: ["api_key"],
  organization: ["organization"],
} as const;
const isRefusal = /(refused|limited|denied|locked)$/;

/** A group of actions; `refusals` are those of every noun that say that something was not done. */
export type AuditGroup = keyof typeof groupNouns | "refusals";

/** Every group with what people read. */
export const auditGroups: Readonly<Record<AuditGroup, string>> = {
  "sign-ins": "Sign-ins",
  accounts: "Accounts and passwords",
  people: "People",
  keys: "API keys",
  organization: "Organization",
  refusals: "Refused and limited",
};

/**
 * @param name The name of an action or of a group.
 * @returns The actions that it stands for; none for a name that is neither.
 */
export function auditActionsOf(name: string): readonly AuditAction[] {
  if (isAuditAction(name)) return [name];
  if (!Object.hasOwn(auditGroups, name)) return [];
  const all = Object.keys(auditActions).filter(isAuditAction);
  if (name === "refusals") return all.filter((action) => isRefusal.test(action));
  const nouns: readonly string[] = groupNouns[name as keyof typeof groupNouns];
  return all.filter((action) => nouns.includes(action.slice(0, action.indexOf("."))));
}

/** Something that an act was done to: an id, and the name that it had then. */
export interface AuditTarget {
  readonly id: string | null;
  readonly name: string | null;
}

/** What an act adds to the audit log. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** Whose audit log it belongs to; null: of no organization. Left out: the actor's active one. */
  readonly organizationId?: string | null | undefined;
  readonly target?: AuditTarget;
  /** Further facts, such as `from` and `to` of a role. Never a secret. */
  readonly details?: Readonly<Record<string, string>>;
}

/** An entry as it leaves the program. */
export interface AuditEvent {
  /** Such as `aud_0199…`. */
  readonly id: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly at: string;
  readonly action: AuditAction;
  readonly actor: {
    readonly type: Actor["type"];
    readonly id: string | null;
    readonly name: string | null;
  };
  readonly target: AuditTarget | null;
  readonly details: Readonly<Record<string, string>>;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string | null;
}
