// The text of every email: its subject, and the same words as plain text and as simple HTML. Names in it come from people,
// so they must never become a header, markup or a link.
import { accentsOf, type Brand } from "../../domain/brand.ts";
import { mailSubjectNameCharactersMax } from "../../domain/limits.ts";
import type { EmailContent, EmailLinks, EmailTexts, MailFields, MailKind } from "../../domain/outbox/mail.ts";
import { countOf, groupDigits } from "../../domain/number_text.ts";
import type { Role } from "../../domain/access/session.ts";
import { limitName } from "../text/limit.ts";
import { quantityWords } from "../text/quantity.ts";
import { asRole } from "../text/role.ts";
import { singleSignOnSubjects, singleSignOnText } from "../text/single_sign_on.ts";
import { namedTime } from "../text/time.ts";
import { htmlMail, type MailBrand, plainMail } from "./mail_body.tsx";

interface Words {
  readonly subject: string;
  readonly text: string | readonly string[];
  readonly action?: string;
  /** Advice if it was someone else; by default, to change the password. */
  readonly otherwise?: string;
}

type Places = Readonly<Record<"site" | "home" | "account" | "security" | "forgot", string>>;

const ignore = "If this wasn't you, you can ignore this email.";
const mails: { readonly [Kind in MailKind]: (fields: MailFields[Kind], at: Places) => Words } = {
  verify_email: (_fields, { site }) => ({
    subject: "Confirm your email address",
    text: `Someone created an account at ${site} with this email address. Confirm that it's yours.`,
    action: "Confirm email address",
    otherwise: ignore,
  }),
  change_email: ({ to }, { site }) => ({
    subject: "Confirm your new email address",
    text: `You asked to use ${to} for your account at ${site}. Confirm that it's yours.`,
    action: "Confirm new address",
    otherwise: `${ignore} Nothing will change.`,
  }),
  change_email_notice: ({ from, to }, { site }) => ({
    subject: "Your email address is about to change",
    text:
      `Someone who is signed in to your account at ${site} asked to change its email address from ${from} to ${to}. ` +
      "Nothing changes until the new address is confirmed.",
  }),
  change_email_taken: ({ to }, { site, forgot }) => ({
    subject: "You already have an account",
    text: [
      `Someone asked to use ${to} for another account at ${site}. Nothing changed, because this address already has an account.`,
      `If this was you, sign in with this address. If you forgot the password, reset it: ${forgot}`,
    ],
    otherwise: ignore,
  }),
  email_changed: ({ from, to }, { site }) => ({
    subject: "Your email address was changed",
    text:
      `The email address of your account at ${site} was changed from ${from} to ${to}. Sign in with the new address.`,
    otherwise: `If this wasn't you, contact the people who run ${site} immediately.`,
  }),
  reset_password: (_fields, { site }) => ({
    subject: "Reset your password",
    text: `Someone asked to reset the password of your account at ${site}.`,
    action: "Reset password",
    otherwise: `${ignore} Your password won't change.`,
  }),
  password_changed: ({ isFirst }, { site, forgot }) => ({
    subject: isFirst ? "A password was added" : "Your password was changed",
    text: isFirst
      ? `Your account at ${site} now has a password, and all other sessions were ended.`
      : `The password of your account at ${site} was changed, and all other sessions were ended.`,
    otherwise: `If this wasn't you, reset your password immediately: ${forgot}`,
  }),
  account_taken_back: ({ provider }, { site, forgot }) => ({
    subject: "You recovered your account",
    text: [
      (provider === undefined
        ? `You set a new password for your account at ${site} and confirmed this email address.`
        : `You signed in to your account at ${site} with ${provider}, which confirmed this email address.`) +
      " It had never been confirmed before, so someone else may have created the account.",
      "We ended all sessions, revoked all API keys and invitations, turned off two-step sign-in, removed passkeys and " +
      "connected providers, and removed all other members, webhooks and alerts from your organizations. The audit log " +
      "lists the members and keys.",
    ],
    otherwise: `If this wasn't you, reset your password immediately: ${forgot}`,
  }),
  invitation: ({ organization, inviter, role }, { site }) => {
    const to = `join “${organization}” at ${site} as ${asRole(role as Role)}.`;
    return {
      subject: `${inviter === undefined ? "You are invited" : `${cut(inviter)} invited you`} to ${
        cut(organization)
      }`,
      text: inviter === undefined ? `You are invited to ${to}` : `${inviter} invited you to ${to}`,
      action: "View invitation",
      otherwise: `If you don't know ${inviter ?? organization}, you can ignore this email.`,
    };
  },
  two_step_enabled: (_fields, { site }) => ({
    subject: "Two-step sign-in is on",
    text: `Signing in to your account at ${site} now requires a code after your password.`,
  }),
  turn_off_two_step: (_fields, { site }) => ({
    subject: "Turn off two-step sign-in",
    text:
      `Someone who is signed in to your account at ${site} and confirmed it with its password or provider asked to turn off two-step sign-in.`,
    action: "Turn off two-step sign-in",
  }),
  two_step_disabled: (_fields, { site, security }) => ({
    subject: "Two-step sign-in is off",
    text: `Signing in to your account at ${site} no longer requires a code after your password.`,
    otherwise: `If this wasn't you, change your password and turn it on again: ${security}`,
  }),
  two_step_locked: ({ wrongCodes }, { site, forgot }) => ({
    subject: "Someone is guessing your sign-in codes",
    text:
      `Someone entered the password of your account at ${site}, and then ${wrongCodes} wrong codes in a row. We no longer ` +
      "accept codes from your authenticator app until you reset your password. Recovery codes and passkeys still work.",
    otherwise:
      `If this wasn't you, someone knows your password but didn't get in. Reset it immediately: ${forgot}`,
  }),
  recovery_codes_replaced: (_fields, { site }) => ({
    subject: "You have new recovery codes",
    text: `New recovery codes were created for your account at ${site}. The old ones no longer work.`,
  }),
  recovery_code_used: ({ left }, { site, security }) => ({
    subject: "A recovery code was used",
    text: `Someone signed in to your account at ${site} with a recovery code. Codes left: ${left}.`,
    otherwise: `If this wasn't you, change your password and create new codes immediately: ${security}`,
  }),
  passkey_added: ({ passkey }, { site, security }) => ({
    subject: "A passkey was added",
    text: `The passkey “${passkey}” can now be used to sign in to your account at ${site}.`,
    otherwise: `If this wasn't you, remove it and change your password immediately: ${security}`,
  }),
  passkey_removed: ({ passkey }, { site }) => ({
    subject: passkey === undefined ? "Your passkeys were removed" : "A passkey was removed",
    text: passkey === undefined
      ? `All passkeys of your account at ${site} were removed.`
      : `The passkey “${passkey}” can no longer be used to sign in to your account at ${site}.`,
  }),
  identity_linked: ({ provider, identity }, { site, security }) => ({
    subject: `${cut(provider)} was connected to your account`,
    text: `${provider}${asIdentity(identity)} can now be used to sign in to your account at ${site}.`,
    otherwise: `If this wasn't you, disconnect it and change your password immediately: ${security}`,
  }),
  identity_unlinked: ({ provider, identity }, { site }) => ({
    subject: `${cut(provider)} was disconnected from your account`,
    text: `${provider}${asIdentity(identity)} can no longer be used to sign in to your account at ${site}.`,
  }),
  account_deleted: (_fields, { site }) => ({
    subject: "Your account was deleted",
    text: `Your account at ${site} was permanently deleted.`,
    otherwise: `If this wasn't you, contact the people who run ${site}.`,
  }),
  limit_near: (limit, { home, account }) => ({
    subject: usedSubject(limit),
    text: [
      usedText(limit),
      beyondText(limit, {
        rejected: "will be rejected",
        denied: "will be denied",
        recorded: "will still be recorded",
      }),
      limitsLink(limit, home),
    ],
    otherwise: stopLimitMails(account),
  }),
  limit_reached: (limit, { home, account }) => ({
    subject: limit.level === "refused"
      ? `Usage of ${cut(limit.organization)} exceeded a limit`
      : isReached(limit)
      ? `${cut(limit.organization)} has reached ${aLimit(limit)}`
      : usedSubject(limit),
    text: [
      limit.level === "refused"
        ? `Usage of ${limit.organization} was rejected because it exceeds this limit: ${limitText(limit)}.`
        : isReached(limit)
        ? `${limit.organization} has reached this ${limit.alert ?? "limit"}: ${limitText(limit)}.`
        : usedText(limit),
      beyondText(limit, { rejected: "is rejected", denied: "are denied", recorded: "is still recorded" }),
      limitsLink(limit, home),
    ],
    otherwise: stopLimitMails(account),
  }),
  operator_limit_reached: (limit, { home, account }) => ({
    subject: `${cut(limit.organization)} has hit a ${limit.mode} limit`,
    text: [
      limit.level === "refused"
        ? `Usage of the organization ${limit.organization} was rejected because it exceeds this limit: ${
          limitText(limit)
        }.`
        : `The organization ${limit.organization} has reached this limit: ${limitText(limit)}.`,
      beyondText(limit, { rejected: "is rejected", denied: "are denied", recorded: "is still recorded" }),
      `See the organization: ${home}/operator/organizations/${limit.organizationId}`,
    ],
    otherwise: stopLimitMails(account),
  }),
  webhook_disabled: ({ organization, webhook, webhookId, reason }, { home }) => ({
    subject: `The webhook “${cut(webhook)}” was disabled`,
    text: [
      `The webhook “${webhook}” of ${organization ?? "the operators"} was disabled because ${
        reason === "gone"
          ? "its endpoint responded with 410 Gone."
          : "all deliveries have failed for five days."
      }`,
      "New events are held and nothing more is sent. When the endpoint works again, enable the webhook and replay the events.",
      `See the webhook: ${home}/${organization === undefined ? "operator" : "portal"}/webhooks/${webhookId}`,
    ],
    otherwise: "If you don't need the webhook anymore, delete it on the same page.",
  }),
  key_leaked: ({ organization, key, keyPrefix, keyId, source, url, response, at, timezone }, { home }) => ({
    subject: response === "revoked"
      ? `The API key “${cut(key)}” leaked and was revoked`
      : `The API key “${cut(key)}” leaked`,
    text: [
      `The API key “${key}” (${keyPrefix}) of ${organization} was reported as leaked by ${source} on ${
        namedTime(Number(at), Number(at), timezone)
      }.${url === undefined ? "" : ` The report says that it was found at ${url}, which we didn't check.`}`,
      response === "revoked"
        ? "We revoked the key immediately, so requests with it fail. Create a new key for the programs that used it."
        : "The key still works. Anyone who has it can use it until you rotate or revoke it. Do this now.",
      "Then check its usage for anything that isn't yours, and remove the key from where it was found.",
      `See the key: ${home}/portal/api-keys/${keyId}`,
    ],
    otherwise: "If you don't know what used the key, its page shows the last request and the usage.",
  }),
  single_sign_on_changed: (fields, { home, security }) => ({
    subject: `Single sign-on of ${cut(fields.organization)} ${singleSignOnSubjects[fields.change]}`,
    text: [singleSignOnText(fields), `See single sign-on: ${home}/portal/organization/single-sign-on`],
    otherwise:
      `If this wasn't you or another owner, check your organization's audit log, and change your password: ${security}`,
  }),
  keys_expiring: ({ count, keys }, { home }) => ({
    subject: keys.length === 1 && count === "1"
      ? `The API key “${cut(keys[0]?.name ?? "")}” expires soon`
      : `${groupDigits(count)} API keys expire soon`,
    text: [
      "Requests with an expired key fail. Rotate a key, or give it a later expiry, before it ends:",
      ...keys.map(({ name, prefix, organization, expiresAt, timezone }) =>
        `“${name}” (${prefix}) of ${organization} expires on ${
          namedTime(Number(expiresAt), Number(expiresAt), timezone)
        }.`
      ),
      ...moreKeys(count, keys),
      `See your keys: ${home}/portal/api-keys?status=expiring`,
    ],
    otherwise: "If you don't need a key anymore, you can let it expire.",
  }),
  keys_unused: ({ organization, count, names }, { home, account }) => ({
    subject: `${cut(organization)} has ${
      count === "1" ? "an unused API key" : `${groupDigits(count)} unused API keys`
    }`,
    text: [
      `These API keys of ${organization} still work, but had no requests in the last 90 days. Revoke those that you don't need, ` +
      "so that they can't leak:",
      ...names.map((name) => `“${name}”`),
      ...moreKeys(count, names),
      `See your keys: ${home}/portal/api-keys?sort=used`,
    ],
    otherwise:
      `We send this email at most once a month. If you don't want it, turn it off in your account: ${account}`,
  }),
};

function moreKeys(count: string, named: readonly unknown[]): string[] {
  const more = Number(count) - named.length;
  return more > 0 ? [`And ${groupDigits(more)} more.`] : [];
}

type LimitFields = MailFields["limit_near"];

const aLimit = ({ alert }: LimitFields): string =>
  alert === undefined ? "a limit" : "the quantity of an alert";
const isReached = ({ percent = "100" }: LimitFields): boolean => percent === "100";
const usedSubject = (limit: LimitFields): string =>
  `${cut(limit.organization)} has used ${limit.percent ?? 80}% of ${aLimit(limit)}`;
const usedText = (limit: LimitFields): string =>
  `${limit.organization} has used at least ${limit.percent ?? 80}% of this ${limit.alert ?? "limit"}: ${
    limitText(limit)
  }.`;
/** Says what happens beyond a limit. */
function beyondText(
  limit: LimitFields,
  { rejected, denied, recorded }: Record<"rejected" | "denied" | "recorded", string>,
): string {
  if (limit.alert !== undefined) return "Alerts only notify: all usage is recorded.";
  if (limit.mode === "soft") return `Usage beyond the limit ${recorded}.`;
  return limit.mode === "hard"
    ? `Usage beyond the limit ${rejected}${untilReset(limit)}.`
    : `When nothing is left, new requests ${denied}${untilReset(limit)}. Usage beyond the limit ${recorded}.`;
}

function limitText({ quantity, per, by, unit, key, ...names }: LimitFields): string {
  const { productSlug, metric, productName = productSlug, metricName = metric } = names;
  const limit = limitName({ productSlug: productName || null, metric: metricName || null, per, by });
  return `${quantityWords(quantity.replaceAll(",", ""), { name: metricName, unit: unit ?? null })} (${limit}${
    key === undefined ? "" : `, API key “${key}”`
  })`;
}

function untilReset({ per, resetsAt, timezone }: LimitFields): string {
  if (per === "total") return "";
  if (resetsAt === undefined) return " until the limit resets";
  const at = Number(resetsAt);
  return ` until the limit resets (${namedTime(at, at, timezone)})`;
}

function limitsLink({ alert }: LimitFields, home: string): string {
  return alert === undefined
    ? `See your limits: ${home}/portal/usage`
    : `See your alerts: ${home}/portal/alerts`;
}

function stopLimitMails(account: string): string {
  return `If you don't want emails about limits, turn them off in your account: ${account}`;
}

export function emailTextsOf({ name, color }: Brand): EmailTexts {
  const brand = { name, accents: color === null ? null : accentsOf(color) };
  return {
    kinds: Object.keys(mails) as MailKind[],
    render: (kind, fields, links) => render(kind, fields, { ...links, brand }),
  };
}

function render<Kind extends MailKind>(
  kind: Kind,
  fields: MailFields[Kind],
  { home, link, linkLifetimeMs, brand }: EmailLinks & { readonly brand: MailBrand },
): EmailContent {
  const safe = plainNames(fields) as Record<string, string>;
  const site = new URL(home).host;
  const security = `${home}/portal/account/security`;
  const words = mails[kind](safe as unknown as MailFields[Kind], {
    site,
    home,
    account: `${home}/portal/account`,
    security,
    forgot: `${home}/forgot-password`,
  });
  const { subject, text, action } = words;
  const body = {
    home,
    greeting: safe["name"] === undefined ? "Hello," : `Hello ${safe["name"]},`,
    paragraphs: [text].flat(),
    action: link === null || action === undefined
      ? null
      : { label: action, link, lifetime: `The link works for ${duration(linkLifetimeMs)}.` },
    otherwise: words.otherwise ?? `If this wasn't you, change your password immediately: ${security}`,
    brand,
    sender: `${plainName(brand.name)} at ${site}. Please don't reply to this email.`,
  };
  return { subject, text: plainMail(body), html: htmlMail(subject, body) };
}

/** Returns a value with every text in it as a name that can appear in an email. */
function plainNames(value: unknown): unknown {
  if (typeof value === "string") return plainName(value);
  if (Array.isArray(value)) return value.map(plainNames);
  return Object.fromEntries(Object.entries(value as object).map(([name, item]) => [name, plainNames(item)]));
}

/**
 * A name as it can appear in an email: on one line, in its natural direction, and never as a link. Mail programs link
 * anything that looks like an address, so strangers could send theirs in the service's name; an invisible joiner (U+2060)
 * prevents that. Email addresses stay as they are.
 */
function plainName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, "").trim();
  if (/^[^\s@/:]+@[^\s@/:]+$/.test(line)) return line;
  return line.replaceAll(/:(?=\/\/)|(?<=\S)\.(?=[\p{L}\p{N}][\p{L}\p{M}\p{N}])|(?<=\S)@(?=\S)/gu, "$&\u2060");
}

/** Names the account at a provider, if it is known. */
function asIdentity(identity: string | undefined): string {
  return identity === undefined ? "" : ` (${identity})`;
}

function cut(name: string): string {
  const characters = [...name];
  return characters.length <= mailSubjectNameCharactersMax
    ? name
    : `${characters.slice(0, mailSubjectNameCharactersMax).join("").trimEnd()}…`;
}

function duration(ms: number): string {
  const hours = Math.round(ms / 3_600_000);
  return hours < 48 ? countOf(hours, "hour") : countOf(Math.round(hours / 24), "day");
}
