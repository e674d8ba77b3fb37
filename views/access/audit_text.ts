// The sentences of the audit log. They begin with the action, because the actor has a column of its own.
import { type AuditChange, auditChanges, type AuditPart, changePlaces } from "./audit_changes.ts";
import { type Catalogue, metricOf, productOf, summedMetricOf } from "../../domain/meter/catalogue.ts";
import { type AuditAction, auditActions, type AuditEvent } from "../../domain/access/audit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { limitsSentence, scopeName } from "../text/limit.ts";
import { measureNoun, quantityWords } from "../text/quantity.ts";
import { monthWords, namedTime, shortDate, zoneWords } from "../text/time.ts";

/** `{…}` is the target's name or a detail. A part in brackets is left out if one of its values is missing. */
const sentences: Readonly<Record<AuditAction, string>> = {
  "session.created": "Signed in[ with {method}][ with {provider}][ and {step}]",
  "session.refused": "Failed to sign in[ as {target}][ with {provider}][: {reason}]",
  "session.limited": "Exceeded the sign-in rate limit[ for {target}]",
  "session.second_step_asked": "Password accepted[ for {target}]; second step required",
  "session.second_step_refused": "Failed the second step of signing in[ as {target}]",
  "session.proved": "Confirmed their identity[ with {method}][ with {provider}]",
  "session.proof_refused": "Failed to confirm their identity",
  "session.ended": "Signed out",
  "session.others_ended": "Signed out all other sessions",
  "session.all_ended": "Ended all sessions[ of {target}]",
  "account.created": "Created an account[ with {target}]",
  "account.renamed": "Changed their name[ from {from}][ to {to}]",
  "account.taken_back":
    "Reclaimed the account[ of {target}][ with {provider}]: ended all other access and removed other members",
  "account.deleted": "Deleted their account[, {target}]",
  "account.disabled": "Disabled the account[ of {target}]",
  "account.enabled": "Enabled the account[ of {target}]",
  "email.verification_requested": "Requested a confirmation email[ for {target}]",
  "email.verified": "Confirmed their email address[, {target}]",
  "email.change_requested": "Requested an email address change[ from {from}][ to {to}]",
  "email.changed": "Changed their email address[ from {from}][ to {to}]",
  "password.reset_requested": "Requested a password reset[ for {target}]",
  "password.reset": "Reset the password[ of {target}]",
  "password.changed": "Changed their password",
  "password.refused": "Entered a wrong password",
  "two_step.enabled": "Turned on two-step sign-in[ for {target}]",
  "two_step.disabled": "Turned off two-step sign-in[ for {target}]",
  "two_step.turn_off_requested": "Requested a link to turn off two-step sign-in",
  "two_step.locked": "Entered too many wrong codes[ for {target}]; authenticator app codes are locked",
  "recovery_codes.replaced": "Replaced their recovery codes",
  "passkey.added": "Added a passkey[, {target}]",
  "passkey.renamed": "Renamed a passkey[ from {from}][ to {to}]",
  "passkey.removed": "Removed a passkey[, {target}]",
  "identity.linked": "Connected {provider} to sign in with[, as {target}]",
  "identity.unlinked": "Disconnected {provider}[, {target}]",
  "organization.created": "Created the organization[ {target}]",
  "organization.renamed": "Renamed the organization[ from {from}][ to {to}]",
  "organization.transferred": "Transferred ownership[ to {target}]",
  "organization.deleted": "Deleted the organization[ {target}]",
  "organization.suspended": "Suspended the organization[ {target}]",
  "organization.resumed": "Resumed the organization[ {target}]",
  "organization.external_id_changed": "Changed the external ID[ from {from}][ to {to}]",
  "organization.metadata_changed": "Changed the metadata[ of {target}]",
  "organization.plan_changed": "Changed the plan[ of {target}][ from {from}][ to {to}]",
  "organization.limits_changed": "Changed the limits[ of {target}]",
  "organization.timezone_changed": "Changed the time zone[ of {target}][ from {from}][ to {to}]",
  "organization.viewed": "Viewed the organization[ {target}] as customer",
  "organization.note_added": "Added a note[ about {target}]",
  "organization.note_deleted": "Deleted a note[ about {target}]",
  "member.joined": "Joined the organization[ as {role}][ by signing in with {provider}]",
  "organization.grant_added": "Granted {quantity} of {target}[, until {expiresAt}][ ({reason})]",
  "organization.grant_voided": "Voided a grant of {target}[ ({reason})]",
  "organization.refill_added":
    "Granted {quantity} of {target} every {every}[, with a rollover of {rollover}][, until {until}][ ({reason})]",
  "organization.refill_voided": "Voided a refill of {target}[ ({reason})]",
  "member.role_changed": "Changed {target}'s role[ from {from}][ to {to}]",
  "member.removed": "Removed {target}[ ({role})][; their keys were {keys}]",
  "member.left": "Left the organization[; their keys were {keys}]",
  "invitation.created": "Invited {target}[ as {role}]",
  "invitation.resent": "Resent the invitation for {target}",
  "invitation.revoked": "Revoked the invitation for {target}",
  "api_key.created": "Created the[ {environment}] key {target}[ with {permissions}]",
  "api_key.imported": "Imported API keys[: {keys}]",
  "api_key.renamed": "Renamed a key to {target}",
  "api_key.permissions_changed": "Changed the permissions of the key {target}[ from {from}][ to {to}]",
  "api_key.budget_changed": "Changed the budget of the key {target}",
  "api_key.expiry_changed": "Changed the expiry of the key {target}[ from {from}][ to {to}]",
  "api_key.addresses_changed": "Changed the addresses of the key {target}[ from {from}][ to {to}]",
  "api_key.rate_changed": "Changed the requests per second of the key {target}[ from {from}][ to {to}]",
  "api_key.external_id_changed": "Changed the external ID of the key {target}",
  "api_key.metadata_changed": "Changed the metadata of the key {target}",
  "api_key.disabled": "Disabled the key {target}",
  "api_key.enabled": "Enabled the key {target}",
  "api_key.rotated": "Rotated the key {target}",
  "api_key.revoked": "Revoked the key {target}",
  "api_key.leaked": "Received a report from {source} that the key {target} leaked[, found at {url}]",
  "api_key.limited": "Exceeded its rate limit",
  "statement.closed": "Closed the statement of {target}",
  "mail.limited": "Exceeded an email limit[ for {target}]",
  "product.created": "Added the product {target}",
  "product.changed": "Changed the product {target}",
  "product.deleted": "Deleted the product {target}",
  "mapping.created": "Added the mapping {target}",
  "mapping.changed": "Changed the mapping {target}",
  "mapping.deleted": "Deleted the mapping {target}",
  "subject.assigned": "Assigned events of the subject {target}",
  "subject.deleted": "Deleted the subject {target}[ and {kept} kept events]",
  "resource.created": "Added the resource {target}",
  "resource.changed": "Changed the resource {target}",
  "resource.deleted": "Deleted the resource {target}",
  "resource.secret_rotated": "Replaced the secret of the resource {target}",
  "plan.created": "Created the plan {target}",
  "plan.changed": "Changed the plan {target}",
  "plan.deleted": "Deleted the plan {target}",
  "operator.added": "Made {target} an operator",
  "operator.removed": "Removed {target} from the operators",
  "operator_token.created": "Created the operator token {target}[ with {scopes}]",
  "operator_token.revoked": "Revoked the operator token {target}",
  "identity_provider.created": "Added the sign-in provider {target}, {issuer}[, which vouches for {trust}]",
  "identity_provider.changed": "Changed the sign-in provider {target}",
  "identity_provider.deleted": "Deleted the sign-in provider {target}, {issuer}",
  "client.created": "Added the application {target}",
  "client.changed": "Changed the application {target}[: {change}]",
  "client.secret_rotated": "Rotated the secret of the application {target}",
  "client.deleted": "Deleted the application {target}",
  "signing_keys.rotated": "Rotated the signing keys[: {change}]",
  "application.removed": "Removed the access of the application {target}",
  "usage.backdated": "Recorded {records} old records[, from {from} to {to}]",
  "hold.released": "Released a hold: {reason}",
  "usage.voided": "Voided {quantity} {metric} of {product}: {reason}",
  "portal_session.created": "Created a portal session[ for {target}]",
  "portal_session.opened": "Opened the portal from a product",
  "portal_session.ended": "Ended the portal session[ of {target}][: {reason}]",
  "webhook.created": "Added the webhook {target}",
  "webhook.changed": "Changed the webhook {target}[; {change}]",
  "webhook.enabled": "Enabled the webhook {target}",
  "webhook.disabled": "Disabled the webhook {target}[: {reason}]",
  "webhook.secret_rotated": "Rotated the secret of the webhook {target}",
  "webhook.tested": "Sent a test ({event}) to the webhook {target}",
  "webhook.replayed": "Replayed {deliveries} deliveries of the webhook {target}",
  "webhook.deleted": "Deleted the webhook {target}",
  "alert.created": "Added the alert {target}[ for the key {apiKey}]",
  "alert.changed": "Changed the alert {from} to {target}[ for the key {apiKey}]",
  "alert.deleted": "Deleted the alert {target}[ for the key {apiKey}]",
  "sso.added": "Set up single sign-on with {target}",
  "sso.changed": "Changed single sign-on",
  "sso.tested": "Tested single sign-on[ as {email}]",
  "sso.enforced": "Required single sign-on[ for {domains}]",
  "sso.enforcement_ended": "Stopped requiring single sign-on",
  "sso.removed": "Removed single sign-on with {target}",
  "sso.domain_added": "Added the domain {target}",
  "sso.domain_verified": "Verified the domain {target}",
  "sso.domain_removed": "Removed the domain {target}",
  "sso.domain_missing": "Didn't find the TXT record of the domain {target}",
  "sso.domain_unverified": "Domain {target} no longer verified: its TXT record was missing for two weeks",
  "sso.domain_moved":
    "Lost the domain {target}: another organization verified it, and the TXT record was gone",
  "access.denied": "Permission denied[: {request}]",
};
const providerAccepted = "Signed in[ to {target}] with {provider}; second step required";
const endedOther = "Ended one of their other sessions";
const removedAll = "Removed all passkeys of {target}";
const firstPassword = "Set their first password";
const removedBudget = "Removed the budget of the key {target}";
const oneBackdated = "Recorded an old record[, from {from}]";
const addedMember = "Added {target} to the organization[ as {role}]";
const crossSite = "Cross-site request denied[: {request}]";

const valueWords: ReadonlyMap<string, string> = new Map([
  ["OWNER", "Owner"],
  ["ADMIN", "Admin"],
  ["MEMBER", "Member"],
  ["revoked", "revoked"],
  ["handed over", "transferred"],
]);
/** Details with values of our own. All others may be anyone's text. */
const ownDetails: ReadonlySet<string> = new Set(["role", "keys"]);
/** Why a webhook was disabled. */
const disabledWords: ReadonlyMap<string, string> = new Map([
  ["failing", "its deliveries kept failing"],
  ["gone", "it returned 410 Gone"],
]);
/** By the last word of actions that failed. */
const denialWords: ReadonlyMap<string, string> = new Map([
  ["refused", "Failed"],
  ["limited", "Limited"],
  ["denied", "Denied"],
  ["locked", "Locked"],
]);

/** @param catalogue Has the names of products and metrics. */
export function auditSentence(event: AuditEvent, catalogue: Catalogue): AuditPart[] {
  const { action, target, details } = event;
  const values = new Map<string, AuditPart>();
  for (const [name, value] of Object.entries(details)) {
    const word = ownDetails.has(name) || action === "member.role_changed" ? valueWords.get(value) : undefined;
    values.set(name, word ?? { name: value });
  }
  const id = target?.id ?? null;
  const object = id === null ? {} : { id };
  const name = target?.name ?? id;
  if (name !== null) values.set("target", { name, ...object });
  for (const [part, text] of Object.entries(wordsOf(event, catalogue))) {
    if (text) values.set(part, { name: text, ...linkedParts.has(part) && object });
  }
  const { method, path, step } = details;
  if (method !== undefined && path !== undefined) values.set("request", `${method} ${path}`);
  else if (method !== undefined) values.set("method", `a ${method.replaceAll(" and ", " and a ")}`);
  if (step !== undefined) values.set("step", `a ${step}`);
  const fill = (sentence: string) =>
    sentence.split(/[[\]]/).flatMap((segment, index) =>
      filled(segment, { values, isOptional: index % 2 === 1 })
    );
  const changes = auditChanges(event, catalogue);
  const [first, ...more] = changes;
  if (first === undefined) return joined(fill(sentenceOf(event)));
  const place = more.length === 0 && first.isSentence ? changePlaces[action] : undefined;
  return joined(
    place === undefined
      ? [...fill(sentenceOf(event)), ": ", ...listed(changes)]
      : [...capitalized(first.parts), ...fill(place)],
  );
}

function sentenceOf({ action, actor, target, details }: AuditEvent): string {
  return action === "session.second_step_asked" && details["provider"] !== undefined
    ? providerAccepted
    : action === "session.ended" && target !== null
    ? endedOther
    : action === "access.denied" && details["reason"] === "cross_site"
    ? crossSite
    : action === "passkey.removed" && details["passkeys"] === "all"
    ? removedAll
    : action === "password.changed" && details["first"] === "yes"
    ? firstPassword
    : action === "api_key.budget_changed" && details["to"] === "none"
    ? removedBudget
    : action === "usage.backdated" && details["records"] === "1"
    ? oneBackdated
    : action === "member.joined" && actor.type === "operator"
    ? addedMember
    : sentences[action] ?? auditActions[action];
}

/** Values that link to the entry's object. */
const linkedParts: ReadonlySet<string> = new Set(["target", "quantity"]);

/** Returns values in the words of pages: names and units of the catalogue, numbers, times and time zones. */
function wordsOf(event: AuditEvent, catalogue: Catalogue): Record<string, string | undefined> {
  const { action, at, target, details } = event;
  const { from, to, quantity, metric, product } = details;
  const timeWords = (text: string | undefined, words: (atMs: number, nowMs: number) => string) =>
    text !== undefined && Date.parse(text) >= 0 ? words(Date.parse(text), Date.parse(at)) : text;
  switch (action) {
    case "usage.voided": {
      if (quantity === undefined || metric === undefined) return {};
      const measure = metricOf(catalogue, metric);
      return {
        quantity: quantityWords(quantity, measure),
        metric: measureNoun(measure),
        product: product && productOf(catalogue, product).name,
      };
    }
    case "usage.backdated": {
      const day = (atMs: number, nowMs: number) => shortDate(atMs, nowMs, "UTC");
      return { records: grouped(details["records"]), from: timeWords(from, day), to: timeWords(to, day) };
    }
    case "organization.timezone_changed":
      return { from: from && zoneWords(from), to: to && zoneWords(to) };
    case "api_key.expiry_changed":
      return { from: timeWords(from, namedTime), to: timeWords(to, namedTime) };
    case "api_key.imported":
      return { keys: grouped(details["keys"]) };
    case "webhook.replayed":
      return { deliveries: grouped(details["deliveries"]) };
    case "webhook.disabled":
      return { reason: disabledWords.get(details["reason"] ?? "") };
    case "statement.closed":
      return { target: timeWords(target?.name ?? undefined, (atMs) => monthWords(atMs)) };
    case "alert.created":
    case "alert.changed":
    case "alert.deleted":
      return { target: alertWords(target?.name, catalogue), from: alertWords(from, catalogue) };
    default:
      return grantWords(event, catalogue);
  }
}

function grouped(count: string | undefined): string | undefined {
  return count && groupDigits(count);
}

function alertWords(text: string | null | undefined, catalogue: Catalogue): string | undefined {
  return text ? limitsSentence(text, catalogue).replace(/ \(soft\)|soft, /, "") : undefined;
}

function listed(changes: readonly AuditChange[]): AuditPart[] {
  return changes.flatMap(({ parts }, at) => at === 0 ? parts : ["; ", ...parts]);
}

function capitalized([first = "", ...parts]: readonly AuditPart[]): AuditPart[] {
  return typeof first === "string"
    ? [first.charAt(0).toUpperCase() + first.slice(1), ...parts]
    : [first, ...parts];
}

/** Rewords a grant, whose entry names its scope `PRODUCT/METRIC` with slugs, `all products` and `all metrics`. */
function grantWords(
  { action, at, target, details }: AuditEvent,
  catalogue: Catalogue,
): Record<string, string> {
  if (!/^organization\.(grant|refill)_/.test(action) || !target?.name) return {};
  const [productSlug = null, metric = null] = target.name.split("/").map((slug) =>
    slug.startsWith("all ") ? null : slug
  );
  const { quantity, expiresAt, until } = details;
  const measure = metric === null ? { name: "", unit: null } : summedMetricOf(catalogue, metric);
  return {
    target: scopeName({ productSlug, metric }, catalogue),
    ...quantity !== undefined && { quantity: quantityWords(quantity, measure) },
    ...expiresAt !== undefined && { expiresAt: shortDate(Date.parse(expiresAt), Date.parse(at)) },
    ...until !== undefined && { until: shortDate(Date.parse(until), Date.parse(at)) },
  };
}

export function auditActorName({ actor, target }: AuditEvent): string {
  switch (actor.type) {
    case "session":
      return actor.name ?? "A former member";
    case "apiKey":
      return actor.name ?? target?.name ?? "An API key";
    case "operator":
      return actor.name ?? "Operator";
    case "system":
      return "System";
    case "anonymous":
      return "Someone";
  }
}

/** Returns a word for actions that failed or were denied; null for all others. */
export function auditDenial(action: AuditAction): string | null {
  return denialWords.get(/[a-z]+$/.exec(action)?.[0] ?? "") ?? null;
}

function filled(
  segment: string,
  { values, isOptional }: { values: ReadonlyMap<string, AuditPart>; isOptional: boolean },
): AuditPart[] {
  const parts = segment.split(/[{}]/);
  const names = parts.filter((_, index) => index % 2 === 1);
  if (isOptional && names.some((name) => !values.has(name))) return [];
  return parts.map((part, index) => index % 2 === 0 ? part : values.get(part) ?? "someone");
}

function joined(parts: readonly AuditPart[]): AuditPart[] {
  const all: AuditPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (typeof part === "string" && typeof last === "string") all[all.length - 1] = last + part;
    else if (part !== "") all.push(part);
  }
  return all;
}
