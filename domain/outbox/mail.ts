// The emails that the program can send, the facts that each mentions, and the purposes of their links.

import type { LimitMode, LimitPeriod } from "../meter/usage_limit.ts";

type Named = { readonly name: string };
type AddressChange = Named & { readonly from: string; readonly to: string };

/** A limit of an organization. The product and the metric are empty for all. */
interface LimitMail {
  readonly organization: string;
  /** Such as `10,000`. */
  readonly quantity: string;
  readonly productSlug: string;
  readonly metric: string;
  /** Names and unit of the catalogue; missing without them. */
  readonly productName?: string;
  readonly metricName?: string;
  readonly unit?: string;
  readonly per: LimitPeriod;
  /** The property of a limit per value. */
  readonly by?: string;
  readonly mode: LimitMode;
  /** `refused`: usage was rejected. */
  readonly level: "near" | "reached" | "refused";
  /** Emails of older servers have none. */
  readonly percent?: string;
  /** Set for an alert, which only notifies. */
  readonly alert?: string;
  /** The name of the API key whose usage an alert counts. */
  readonly key?: string;
  /** The time zone of a limit per day or month, and when it resets, in milliseconds since 1970. Emails of older servers have neither. */
  readonly timezone?: string;
  readonly resetsAt?: string;
}

export type SingleSignOnChange =
  | "added"
  | "changed"
  | "enforced"
  | "not_enforced"
  | "removed"
  | "domain_missing"
  | "domain_unverified"
  | "domain_lost";

/** The time is in milliseconds since 1970, shown in the time zone of the organization. */
interface ExpiringKey {
  readonly name: string;
  readonly prefix: string;
  readonly organization: string;
  readonly expiresAt: string;
  readonly timezone: string;
}

/** Every kind of email with the facts that its text mentions. */
export interface MailFields {
  /** To the address of a new account; with a link. */
  readonly verify_email: Named;
  /** To the new address when a change is requested; with a link. */
  readonly change_email: AddressChange;
  /** To the current address at the same time. */
  readonly change_email_notice: AddressChange;
  /** To the new address instead, if another account uses it. */
  readonly change_email_taken: { readonly to: string };
  /** To both addresses after the change. */
  readonly email_changed: AddressChange;
  /** With a link. */
  readonly reset_password: Named;
  /** `isFirst`: the account had none. */
  readonly password_changed: Named & { readonly isFirst?: boolean };
  /** Replaces `password_changed` if the address had never been confirmed. `provider`: the person signed in with it instead. */
  readonly account_taken_back: Named & { readonly provider?: string };
  /** With a link. Operators invite without an `inviter`, and may give the recipient's name. */
  readonly invitation: {
    readonly organization: string;
    readonly role: string;
    readonly inviter?: string;
    readonly name?: string;
  };
  readonly two_step_enabled: Named;
  /** With a link. */
  readonly turn_off_two_step: Named;
  readonly two_step_disabled: Named;
  readonly two_step_locked: Named & { readonly wrongCodes: string };
  readonly recovery_codes_replaced: Named;
  readonly recovery_code_used: Named & { readonly left: string };
  readonly passkey_added: Named & { readonly passkey: string };
  /** Without `passkey`, all passkeys were removed. */
  readonly passkey_removed: Named & { readonly passkey?: string };
  /** `identity`: the person's address at the provider, if it gave one. */
  readonly identity_linked: Named & { readonly provider: string; readonly identity?: string };
  readonly identity_unlinked: Named & { readonly provider: string; readonly identity?: string };
  readonly account_deleted: Named;
  /** To owners and admins of an organization. */
  readonly limit_near: LimitMail;
  readonly limit_reached: LimitMail;
  /** To operators, about a hard limit. */
  readonly operator_limit_reached: LimitMail & { readonly organizationId: string };
  /** To owners and admins of an organization; without one, to operators. */
  readonly webhook_disabled: {
    readonly organization?: string;
    readonly webhook: string;
    readonly webhookId: string;
    readonly reason: "failing" | "gone";
  };
  /** To owners and admins of an organization, and to the key's creator. */
  readonly key_leaked: {
    readonly organization: string;
    readonly key: string;
    readonly keyPrefix: string;
    readonly keyId: string;
    /** Names the sender of the report. */
    readonly source: string;
    /** The URL where the sender says that they found the key. */
    readonly url?: string;
    readonly response: "revoked" | "notified";
    /** In milliseconds since 1970, shown in the time zone. */
    readonly at: string;
    readonly timezone: string;
  };
  /** To the owners of an organization. `provider`: the host of its issuer, or a domain. */
  readonly single_sign_on_changed: {
    readonly organization: string;
    readonly change: SingleSignOnChange;
    readonly provider: string;
  };
  /** To the creator of keys that expire soon, or to owners. */
  readonly keys_expiring: {
    /** With keys that the email doesn't name. */
    readonly count: string;
    readonly keys: readonly ExpiringKey[];
  };
  /** To owners and admins of an organization. */
  readonly keys_unused: {
    readonly organization: string;
    /** With keys that the email doesn't name. */
    readonly count: string;
    readonly names: readonly string[];
  };
}

export type MailKind = keyof MailFields;

/** Emails that a person can turn off. */
export interface EmailChoices {
  /** About limits of their organizations, and, for operators, hard limits of customers. */
  readonly limits: boolean;
  /** About unused API keys of their organizations, once a month. */
  readonly unusedKeys: boolean;
}

export type NewMail = {
  readonly [Kind in MailKind]: {
    readonly kind: Kind;
    /** A canonical address. */
    readonly to: string;
    /** The user or the invitation that a link in it is for. */
    readonly subject?: string;
    /** The address was confirmed until this change, so no budget holds the notice back. */
    readonly wasConfirmed?: boolean;
    readonly fields: MailFields[Kind];
  };
}[MailKind];

const hourMs = 3_600_000;
/** Links work this long after their email is sent, in milliseconds (SECURITY.md). */
export const linkLifetimesMs = {
  verify_email: 24 * hourMs,
  change_email: 24 * hourMs,
  reset_password: hourMs,
  invitation: 7 * 24 * hourMs,
  turn_off_two_step: hourMs,
};

export type LinkPurpose = keyof typeof linkLifetimesMs;

/** Returns 0 for links to an account, 1 for invitations, 2 for notices of past changes. */
export function mailUrgency(kind: MailKind): 0 | 1 | 2 {
  const purpose = linkPurpose(kind);
  return purpose === null ? 2 : purpose === "invitation" ? 1 : 0;
}

/** Returns null for emails without a link. */
export function linkPurpose(kind: MailKind): LinkPurpose | null {
  return kind in linkLifetimesMs ? kind as LinkPurpose : null;
}

/** The parts of an email's text besides its fields. */
export interface EmailLinks {
  /** The portal's public address, such as `https://auth.example.com`. */
  readonly home: string;
  /** The target of the email's button; null without a button. */
  readonly link: string | null;
  readonly linkLifetimeMs: number;
}

export interface EmailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Renders every kind of email that this version of the program can send. */
export interface EmailTexts {
  readonly kinds: readonly MailKind[];
  render<Kind extends MailKind>(kind: Kind, fields: MailFields[Kind], links: EmailLinks): EmailContent;
}
