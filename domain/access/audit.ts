// The actions in the audit log, their names and groups.
import type { Actor } from "./actor.ts";

/** Every action with its name for people. */
export const auditActions = {
  "session.created": "Signed in",
  "session.refused": "Sign-in failed",
  "session.limited": "Sign-in rate limited",
  "session.second_step_asked": "Second step required",
  "session.second_step_refused": "Second step failed",
  "session.proved": "Identity confirmed",
  "session.proof_refused": "Confirming identity failed",
  "session.ended": "Signed out",
  "session.others_ended": "Other sessions signed out",
  "session.all_ended": "All sessions ended",
  "account.created": "Account created",
  "account.renamed": "Name changed",
  "account.taken_back": "Account reclaimed",
  "account.deleted": "Account deleted",
  "account.disabled": "Account disabled",
  "account.enabled": "Account enabled",
  "email.verification_requested": "Confirmation email requested",
  "email.verified": "Email address confirmed",
  "email.change_requested": "Email address change requested",
  "email.changed": "Email address changed",
  "password.reset_requested": "Password reset requested",
  "password.reset": "Password reset",
  "password.changed": "Password changed",
  "password.refused": "Wrong password entered",
  "two_step.enabled": "Two-step sign-in turned on",
  "two_step.disabled": "Two-step sign-in turned off",
  "two_step.turn_off_requested": "Link to turn off two-step sign-in requested",
  "two_step.locked": "Authenticator app codes locked",
  "recovery_codes.replaced": "Recovery codes replaced",
  "passkey.added": "Passkey added",
  "passkey.renamed": "Passkey renamed",
  "passkey.removed": "Passkey removed",
  "identity.linked": "Provider connected",
  "identity.unlinked": "Provider disconnected",
  "organization.created": "Organization created",
  "organization.renamed": "Organization renamed",
  "organization.transferred": "Ownership transferred",
  "organization.deleted": "Organization deleted",
  "organization.suspended": "Organization suspended",
  "organization.resumed": "Organization resumed",
  "organization.external_id_changed": "External ID changed",
  "organization.metadata_changed": "Metadata changed",
  "organization.plan_changed": "Organization's plan changed",
  "organization.limits_changed": "Organization's limits changed",
  "organization.timezone_changed": "Time zone changed",
  "organization.viewed": "Viewed as customer",
  "organization.note_added": "Note added",
  "organization.note_deleted": "Note deleted",
  "organization.grant_added": "Grant added",
  "organization.grant_voided": "Grant voided",
  "organization.refill_added": "Refill added",
  "organization.refill_voided": "Refill voided",
  "member.joined": "Member joined",
  "member.role_changed": "Role changed",
  "member.removed": "Member removed",
  "member.left": "Member left",
  "invitation.created": "Invitation sent",
  "invitation.resent": "Invitation resent",
  "invitation.revoked": "Invitation revoked",
  "api_key.created": "API key created",
  "api_key.imported": "API keys imported",
  "api_key.renamed": "API key renamed",
  "api_key.permissions_changed": "API key permissions changed",
  "api_key.budget_changed": "API key budget changed",
  "api_key.expiry_changed": "API key expiry changed",
  "api_key.addresses_changed": "API key addresses changed",
  "api_key.rate_changed": "API key rate limit changed",
  "api_key.external_id_changed": "API key external ID changed",
  "api_key.metadata_changed": "API key metadata changed",
  "api_key.disabled": "API key disabled",
  "api_key.enabled": "API key enabled",
  "api_key.rotated": "API key rotated",
  "api_key.revoked": "API key revoked",
  "api_key.leaked": "API key reported as leaked",
  "api_key.limited": "API key rate limited",
  "statement.closed": "Statement closed",
  "usage.voided": "Usage record voided",
  "hold.released": "Hold released",
  "usage.backdated": "Old usage recorded",
  "mail.limited": "Email rate limited",
  "product.created": "Product added",
  "product.changed": "Product changed",
  "product.deleted": "Product deleted",
  "mapping.created": "Mapping of events added",
  "mapping.changed": "Mapping of events changed",
  "mapping.deleted": "Mapping of events deleted",
  "subject.assigned": "Subject of events assigned",
  "subject.deleted": "Subject of events deleted",
  "resource.created": "Resource added",
  "resource.changed": "Resource changed",
  "resource.deleted": "Resource deleted",
  "resource.secret_rotated": "Secret of a resource replaced",
  "plan.created": "Plan created",
  "plan.changed": "Plan changed",
  "plan.deleted": "Plan deleted",
  "operator.added": "Operator added",
  "operator.removed": "Operator removed",
  "operator_token.created": "Operator token created",
  "operator_token.revoked": "Operator token revoked",
  "identity_provider.created": "Sign-in provider added",
  "identity_provider.changed": "Sign-in provider changed",
  "identity_provider.deleted": "Sign-in provider deleted",
  "client.created": "Application added",
  "client.changed": "Application changed",
  "client.secret_rotated": "Application's secret rotated",
  "client.deleted": "Application deleted",
  "signing_keys.rotated": "Signing keys rotated",
  "application.removed": "Application's access removed",
  "portal_session.created": "Portal session created",
  "portal_session.opened": "Portal opened from a product",
  "portal_session.ended": "Portal session ended",
  "webhook.created": "Webhook added",
  "webhook.changed": "Webhook changed",
  "webhook.enabled": "Webhook enabled",
  "webhook.disabled": "Webhook disabled",
  "webhook.secret_rotated": "Webhook secret rotated",
  "webhook.tested": "Webhook tested",
  "webhook.replayed": "Webhook deliveries replayed",
  "webhook.deleted": "Webhook deleted",
  "alert.created": "Alert added",
  "alert.changed": "Alert changed",
  "alert.deleted": "Alert deleted",
  "sso.added": "Single sign-on set up",
  "sso.changed": "Single sign-on changed",
  "sso.tested": "Single sign-on tested",
  "sso.enforced": "Single sign-on required",
  "sso.enforcement_ended": "Single sign-on no longer required",
  "sso.removed": "Single sign-on removed",
  "sso.domain_added": "Domain added",
  "sso.domain_verified": "Domain verified",
  "sso.domain_removed": "Domain removed",
  "sso.domain_missing": "Domain's TXT record missing",
  "sso.domain_unverified": "Domain no longer verified",
  "sso.domain_moved": "Domain moved to another organization",
  "access.denied": "Permission denied",
} as const;

export type AuditAction = keyof typeof auditActions;

function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text);
}

/** Groups for filtering, by the noun that an action begins with. */
const groupNouns = {
  "sign-ins": ["session", "portal_session"],
  accounts: [
    "account",
    "email",
    "password",
    "two_step",
    "recovery_codes",
    "passkey",
    "identity",
    "mail",
    "application",
  ],
  people: ["member", "invitation"],
  keys: ["api_key"],
  usage: ["usage", "hold"],
  organization: ["organization", "sso"],
  products: ["product", "mapping", "subject"],
  plans: ["plan"],
  operators: ["operator", "operator_token", "identity_provider", "client", "resource", "signing_keys"],
  statements: ["statement"],
  webhooks: ["webhook", "alert"],
} as const;
const isDenial = /(refused|limited|denied|locked)$/;

/** A group of actions. `refusals`: everything that was denied, across all nouns. */
export type AuditGroup = keyof typeof groupNouns | "refusals";

export const auditGroups: Readonly<Record<AuditGroup, string>> = {
  "sign-ins": "Sign-ins",
  accounts: "Accounts",
  people: "Members and invitations",
  keys: "API keys",
  usage: "Usage",
  organization: "Organization",
  products: "Products and collectors",
  plans: "Plans",
  operators: "Operators, tokens, providers and applications",
  statements: "Statements",
  webhooks: "Webhooks and alerts",
  refusals: "Failed and denied",
};

/** Returns the actions of a group, or the one with this name; none for an unknown name. */
export function auditActionsOf(name: string): readonly AuditAction[] {
  if (isAuditAction(name)) return [name];
  if (!Object.hasOwn(auditGroups, name)) return [];
  const all = Object.keys(auditActions).filter(isAuditAction);
  if (name === "refusals") return all.filter((action) => isDenial.test(action));
  const nouns: readonly string[] = groupNouns[name as keyof typeof groupNouns];
  return all.filter((action) => nouns.includes(action.slice(0, action.indexOf("."))));
}

interface AuditTarget {
  readonly id: string | null;
  readonly name: string | null;
}

export interface AuditEntry {
  readonly action: AuditAction;
  /** The organization whose log gets the entry, or null for none. The actor's active one by default. */
  readonly organizationId?: string | null | undefined;
  readonly target?: AuditTarget;
  /** Further details, such as `from` and `to` of a role. Never secrets. */
  readonly details?: Readonly<Record<string, string>>;
}

/**
 * Returns the details of a change for its entry: `name` and `previousName` for a name that differs. Null is `default`.
 *
 * @param after Undefined values stay as they are.
 * @param names Never the names of secrets.
 */
export function changedDetails<Name extends string>(
  before: Readonly<Record<Name, string | number | null>>,
  after: { readonly [Key in Name]?: string | number | null | undefined },
  names: readonly Name[],
): Record<string, string> {
  return Object.fromEntries(
    names.filter((name) => after[name] !== undefined && after[name] !== before[name]).flatMap((name) => [
      [name, String(after[name] ?? "default")],
      [`previous${name.charAt(0).toUpperCase()}${name.slice(1)}`, String(before[name] ?? "default")],
    ]),
  );
}

export interface AuditEvent {
  readonly id: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly at: string;
  readonly action: AuditAction;
  /** The organization whose log it is in; only for operators. */
  readonly organizationId?: string | null;
  /** A portal session is a session with an id of its own. */
  readonly actor: {
    readonly type: Exclude<Actor["type"], "portalSession">;
    readonly id: string | null;
    readonly name: string | null;
  };
  readonly target: AuditTarget | null;
  readonly details: Readonly<Record<string, string>>;
  readonly address: string;
  readonly userAgent: string;
  readonly requestId: string | null;
}
