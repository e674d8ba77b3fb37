// What the program can write to people: a closed list of mails, and what each names.

/** Every kind of mail with the facts that its text names. */
export interface MailFields {
  /** To a new account's address; with a link. */
  readonly verify_email: { readonly name: string };
  /** To the address that somebody wants to change to; with a link. */
  readonly change_email: { readonly name: string; readonly from: string; readonly to: string };
  /** To the address that is in use now, at the same time. */
  readonly change_email_notice: { readonly name: string; readonly from: string; readonly to: string };
  /** To an address that somebody wants to change to, while another account has it. */
  readonly change_email_taken: { readonly to: string };
  /** To both addresses, when the change is made. */
  readonly email_changed: { readonly name: string; readonly from: string; readonly to: string };
  /** With a link. */
  readonly reset_password: { readonly name: string };
  readonly password_changed: { readonly name: string };
  /** Instead of `password_changed` when the address had never been confirmed. */
  readonly account_taken_back: { readonly name: string };
  /** With a link. */
  readonly invitation: { readonly organization: string; readonly inviter: string; readonly role: string };
  readonly two_step_enabled: { readonly name: string };
  /** With a link. */
  readonly turn_off_two_step: { readonly name: string };
  readonly two_step_disabled: { readonly name: string };
  readonly two_step_locked: { readonly name: string; readonly wrongCodes: string };
  readonly recovery_codes_replaced: { readonly name: string };
  readonly recovery_code_used: { readonly name: string; readonly left: string };
  readonly passkey_added: { readonly name: string; readonly passkey: string };
  /** Without `passkey`, all were removed. */
  readonly passkey_removed: { readonly name: string; readonly passkey?: string };
  readonly account_deleted: { readonly name: string };
}

/** A stable name of a kind of mail. */
export type MailKind = keyof MailFields;

/** A mail to be written. */
export type NewMail = {
  readonly [Kind in MailKind]: {
    readonly kind: Kind;
    /** A canonical address. */
    readonly to: string;
    /** Whom a link in it is for: the user's id, or the invitation's. */
    readonly subject?: string;
    /** The address was confirmed until this change: then no budget holds a notice back. */
    readonly wasConfirmed?: boolean;
    readonly fields: MailFields[Kind];
  };
}[MailKind];

/** What a token in a link is good for. */
export type LinkPurpose =
  | "verify_email"
  | "change_email"
  | "reset_password"
  | "invitation"
  | "turn_off_two_step";

const hourMs = 3_600_000;
/** How long a link works, in milliseconds; counted from when its mail is sent (SECURITY.md). */
export const linkLifetimesMs: Readonly<Record<LinkPurpose, number>> = {
  verify_email: 24 * hourMs,
  change_email: 24 * hourMs,
  reset_password: hourMs,
  invitation: 7 * 24 * hourMs,
  turn_off_two_step: hourMs,
};

/**
 * @returns How soon a mail should go out where many wait, 0 first. Somebody sits before a page and waits for the link to
 *   their own account; whoever is invited does not know of it yet; a notice tells what is done already.
 */
export function mailUrgency(kind: MailKind): 0 | 1 | 2 {
  const purpose = linkPurpose(kind);
  return purpose === null ? 2 : purpose === "invitation" ? 1 : 0;
}

/** @returns What the link in a mail is good for, or null for mails without one. */
export function linkPurpose(kind: MailKind): LinkPurpose | null {
  return kind in linkLifetimesMs ? kind as LinkPurpose : null;
}

/** What the text of an email needs besides its fields. */
export interface EmailLinks {
  /** The portal's public address, such as `https://auth.example.com`. */
  readonly home: string;
  /** Where the email's button goes; null without a button. */
  readonly link: string | null;
  /** How long the link works, in milliseconds. */
  readonly linkLifetimeMs: number;
}

/** The text of an email. */
export interface EmailContent {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The text of every kind of email that this version of the program can send. */
export interface EmailTexts {
  readonly kinds: readonly MailKind[];
  render<Kind extends MailKind>(kind: Kind, fields: MailFields[Kind], links: EmailLinks): EmailContent;
}
