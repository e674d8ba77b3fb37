// What every mail says: its subject, and the same words as plain text and as simple HTML. Names in it come from people:
// they never become a header, markup or a link.
import type { EmailContent, EmailLinks, EmailTexts, MailFields, MailKind } from "../../domain/mail/mail.ts";
import { mailSubjectNameCharactersMax } from "../../domain/limits.ts";
import { htmlMail, plainMail } from "./mail_body.tsx";

/** The words of one mail. */
interface Words {
  readonly subject: string;
  /** Whom it greets; null where nobody is known by name. */
  readonly name: string | null;
  /** What happened. */
  readonly happened: readonly string[];
  /** What the button says. */
  readonly action?: string;
  /** What to do if it was somebody else. */
  readonly otherwise: string;
}

/** What a mail can name: the host, and pages where one can do something. */
interface Places {
  readonly site: string;
  /** Where an account is made safe by whoever can still sign in. */
  readonly security: string;
  /** Where a new password is asked for. */
  readonly forgot: string;
}

const roleWords: Readonly<Record<string, string>> = { OWNER: "owner", ADMIN: "admin", MEMBER: "member" };
const mails: {
  readonly [Kind in MailKind]: (fields: MailFields[Kind], at: Places) => Words;
} = {
  verify_email: ({ name }, { site }) => ({
    subject: "Confirm your e-mail address",
    name,
    happened: [`Somebody made an account at ${site} with this address. Confirm that it is yours.`],
    action: "Confirm address",
    otherwise: "If it was not you, ignore this mail: without you the address stays unconfirmed.",
  }),
  change_email: ({ name, to }, { site }) => ({
    subject: "Confirm your new e-mail address",
    name,
    happened: [`You want to use ${to} for your account at ${site} from now on. Confirm that it is yours.`],
    action: "Confirm new address",
    otherwise: "If it was not you, ignore this mail: nothing changes.",
  }),
  change_email_notice: ({ name, from, to }, { site, security }) => ({
    subject: "Your e-mail address is about to change",
    name,
    happened: [
      `Somebody who is signed in to your account at ${site} asked to change its address from ${from} to ${to}. ` +
      "Nothing changes until the new address is confirmed.",
    ],
    otherwise: `If it was not you, change your password now: ${security}`,
  }),
  change_email_taken: ({ to }, { site, forgot }) => ({
    subject: "You have an account already",
    name: null,
    happened: [
      `Somebody asked to use ${to} for another account at ${site}. This address has an account of its own, so ` +
      "nothing changed.",
      `If it was you, sign in with this address; if you forgot its password, ask for a new one: ${forgot}`,
    ],
    otherwise: "If it was not you, ignore this mail.",
  }),
  email_changed: ({ name, from, to }, { site }) => ({
    subject: "Your e-mail address was changed",
    name,
    happened: [
      `Your account at ${site} has a new address: ${to} instead of ${from}. Sign in with it from now on.`,
    ],
    otherwise: `If it was not you, ask the people who run ${site} for help at once.`,
  }),
  reset_password: ({ name }, { site }) => ({
    subject: "Set a new password",
    name,
    happened: [`Somebody asked for a new password for your account at ${site}.`],
    action: "Set a new password",
    otherwise: "If it was not you, ignore this mail: your password stays as it is.",
  }),
  password_changed: ({ name }, { site, forgot }) => ({
    subject: "Your password was changed",
    name,
    happened: [`The password of your account at ${site} was changed. Every other session has ended.`],
    otherwise: `If it was not you, ask for a new password at once: ${forgot}`,
  }),
  account_taken_back: ({ name }, { site, forgot }) => ({
    subject: "You took back your account",
    name,
    happened: [
      `You set a new password for your account at ${site} and confirmed this address. It had never been confirmed before, ` +
      "so someone else may have created the account.",
      "We ended every session, revoked all API keys and invitations, turned off two-step sign-in and passkeys, and removed " +
      "all other members from your organizations. The audit log lists them.",
    ],
    otherwise: `If it was not you, set a new password now: ${forgot}`,
  }),
  invitation: ({ organization, inviter, role }, { site }) => ({
    subject: `${cut(inviter)} invites you to ${cut(organization)}`,
    name: null,
    happened: [`${inviter} invites you to join “${organization}” at ${site}, as ${roleWords[role] ?? role}.`],
    action: "See the invitation",
    otherwise: `If you do not know ${inviter}, ignore this mail: nothing happens.`,
  }),
  two_step_enabled: ({ name }, { site, security }) => ({
    subject: "Two-step sign-in is on",
    name,
    happened: [`Your account at ${site} asks for a code after your password from now on.`],
    otherwise: `If it was not you, set a new password at once: ${security}`,
  }),
  turn_off_two_step: ({ name }, { site, security }) => ({
    subject: "Turn off two-step sign-in",
    name,
    happened: [
      `Someone who is signed in to your account at ${site} and gave its password asked to turn off two-step sign-in.`,
    ],
    action: "Turn off two-step sign-in",
    otherwise: `If it was not you, change your password now: ${security}`,
  }),
  two_step_disabled: ({ name }, { site, security }) => ({
    subject: "Two-step sign-in is off",
    name,
    happened: [`Your account at ${site} does not ask for a code after your password any more.`],
    otherwise: `If it was not you, set a new password and turn it on again: ${security}`,
  }),
  two_step_locked: ({ name, wrongCodes }, { site, forgot }) => ({
    subject: "Somebody guesses at your codes",
    name,
    happened: [
      `Somebody gave the password of your account at ${site}, and then ${wrongCodes} wrong codes in a row. Codes of your ` +
      "authenticator app are not taken any more until you set a new password. Recovery codes and passkeys are.",
    ],
    otherwise:
      `If it was not you, somebody knows your password, but did not get in. Set a new one now: ${forgot}`,
  }),
  recovery_codes_replaced: ({ name }, { site, security }) => ({
    subject: "You have new recovery codes",
    name,
    happened: [
      `New recovery codes were made for your account at ${site}. The old ones do not work any more.`,
    ],
    otherwise: `If it was not you, set a new password at once: ${security}`,
  }),
  recovery_code_used: ({ name, left }, { site, security }) => ({
    subject: "A recovery code was used",
    name,
    happened: [`Somebody signed in to your account at ${site} with a recovery code. Codes left: ${left}.`],
    otherwise: `If it was not you, set a new password and make new codes at once: ${security}`,
  }),
  passkey_added: ({ name, passkey }, { site, security }) => ({
    subject: "A passkey was added",
    name,
    happened: [`The passkey “${passkey}” can sign in to your account at ${site} from now on.`],
    otherwise: `If it was not you, remove it and set a new password at once: ${security}`,
  }),
  passkey_removed: ({ name, passkey }, { site, security }) => ({
    subject: "A passkey was removed",
    name,
    happened: [`The passkey “${passkey}” cannot sign in to your account at ${site} any more.`],
    otherwise: `If it was not you, set a new password at once: ${security}`,
  }),
  account_deleted: ({ name }, { site }) => ({
    subject: "Your account was deleted",
    name,
    happened: [`Your account at ${site} was deleted. This cannot be taken back.`],
    otherwise: `If it was not you, ask the people who run ${site} for help.`,
  }),
};

/** The text of every email. */
export const emailTexts: EmailTexts = { kinds: Object.keys(mails) as MailKind[], render };

function render<Kind extends MailKind>(
  kind: Kind,
  fields: MailFields[Kind],
  { home, link, linkLifetimeMs }: EmailLinks,
): EmailContent {
  const shown = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, plainName(text)]));
  const site = new URL(home).host;
  const places = { site, security: `${home}/portal/account/security`, forgot: `${home}/forgot-password` };
  const words = mails[kind](shown as unknown as MailFields[Kind], places);
  const action = link === null || words.action === undefined
    ? null
    : { label: words.action, link, lasts: `The link works for ${duration(linkLifetimeMs)}.` };
  const body = {
    home,
    greeting: words.name === null ? "Hello," : `Hello ${words.name},`,
    happened: words.happened,
    action,
    otherwise: words.otherwise,
    sender: `Gatehouse at ${site}. Answers to this mail are read by nobody.`,
  };
  return { subject: words.subject, text: plainMail(body), html: htmlMail(words.subject, body) };
}

/**
 * A name as it can stand in a mail: on one line, in the direction that its letters have, and no link. Mail programs turn
 * what looks like an address into one, and strangers could send theirs in the service's name; an invisible joiner
 * (U+2060) keeps them from it. Addresses of people are left as they are.
 */
function plainName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, "").trim();
  if (/^[^\s@/:]+@[^\s@/:]+$/.test(line)) return line;
  return line.replaceAll(/:(?=\/\/)|(?<=\S)\.(?=[\p{L}\p{N}]{2})|(?<=\S)@(?=\S)/gu, "$&\u2060");
}

function cut(name: string): string {
  const characters = [...name];
  return characters.length <= mailSubjectNameCharactersMax
    ? name
    : `${characters.slice(0, mailSubjectNameCharactersMax).join("").trimEnd()}…`;
}

function duration(ms: number): string {
  const hours = Math.round(ms / 3_600_000);
  if (hours === 1) return "1 hour";
  return hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}
