// What the search of the portal and of the console finds.
import type { AuditAction } from "./access/audit.ts";
import type { Environment } from "./environment.ts";

/** Results of one kind that are shown. */
export const foundOfKindMax = 5;

export interface FoundOrganization {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly suspended: 0 | 1;
}

export interface FoundUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly disabled: 0 | 1;
}

export interface FoundApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly ended: 0 | 1;
}

export interface FoundMember {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** `organizationId`: null for operators' own. */
export interface FoundWebhook {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly organizationId: string | null;
  readonly organizationName: string | null;
}

/** A delivery of the event whose id is searched for, with the endpoint. */
export interface FoundDelivery extends FoundWebhook {
  readonly deliveryId: string;
  readonly type: string;
}

/** An entry of the audit log about the request whose id is searched for. */
export interface FoundEntry {
  readonly action: AuditAction;
  readonly at: number;
  readonly organizationId: string | null;
}

/** The best matches of each kind, up to a maximum. */
export interface Found {
  readonly organizations: readonly FoundOrganization[];
  readonly apiKeys: readonly FoundApiKey[];
  readonly users: readonly FoundUser[];
  readonly members: readonly FoundMember[];
  readonly webhooks: readonly FoundWebhook[];
  readonly deliveries: readonly FoundDelivery[];
  readonly entries: readonly FoundEntry[];
}

export const nothingFound: Found = {
  organizations: [],
  apiKeys: [],
  users: [],
  members: [],
  webhooks: [],
  deliveries: [],
  entries: [],
};

/** The prefix of a key or token: its tag and 8 characters. With fewer than 4, keys are found that no one is looking for. */
const tokenPrefix = /[a-z][a-z0-9]{1,15}_(?:live|test|operator)_[0-9A-Za-z]{8}/;
const keyPrefix = /^(?:[a-z][a-z0-9]{1,15}_(?:live|test)_)?([0-9A-Za-z]{4,8})$/;
/** A key without its tag, or the rest of its prefix as pages show it. */
const untagged = /^([0-9A-Za-z]{8})(?:[0-9A-Za-z]{30}|\.\.\.)$/;

/** Returns a text without lone surrogates and NUL, which neither email addresses nor the database can contain. */
export function wholeText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** Shortens a pasted key to its prefix, as static/portal.js does. The prefix finds the key, which must not appear in addresses. */
export function searchTextOf(typed: string): string {
  const text = wholeText(typed).normalize("NFKC").trim();
  return tokenPrefix.exec(text)?.[0] ?? untagged.exec(text)?.[1] ?? text;
}

/** Returns the characters after the tag of the key that a text begins; null if the text begins none, or is too short. */
export function keyPrefixIn(text: string): string | null {
  return keyPrefix.exec(text)?.[1] ?? null;
}

/** Returns a text without a question about rejections before a name, such as `429` in `429 Production`. */
export function withoutQuestion(text: string): string {
  return text.replace(/^(?:(?:429|403|why|rejected|rejections?)\s+)+(?=\S)/i, "");
}

/** True if each word of a text begins a word of a label, in upper or lower case. */
export function isFoundIn(label: string, text: string): boolean {
  const words = ` ${label.toLowerCase()}`;
  return text.toLowerCase().split(/\s+/).every((word) => words.includes(` ${word}`));
}
