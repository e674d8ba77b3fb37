// What an entry of the audit log changed, in clauses such as `raised Requests per month from 12,000,000 to 15,000,000`.
import type { AuditAction, AuditEvent } from "../../domain/access/audit.ts";
import { type Aggregation, aggregationLabels } from "../../domain/meter/aggregation.ts";
import { type Catalogue, metricOf, summedMetricOf } from "../../domain/meter/catalogue.ts";
import { limitChanges, type WrittenLimit } from "../../domain/meter/usage_limit.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { planNumberNames, type PlanNumbers } from "../../domain/billing/plan.ts";
import type { Role } from "../../domain/access/session.ts";
import { numberText, numberWords } from "../text/plan.ts";
import { limitName, limitsSentence, notifyText } from "../text/limit.ts";
import { quantityWords } from "../text/quantity.ts";
import { roleWords } from "../text/role.ts";

/** A part of a sentence: our own words, or anyone's text, which the page sets apart. `id`: of the object that it names. */
export type AuditPart = string | { readonly name: string; readonly id?: string };

export interface AuditChange {
  readonly parts: readonly AuditPart[];
  /** True for a clause that can begin the sentence, if it is the only one. */
  readonly isSentence: boolean;
}

/** A value before or after a change. `size`: null if it has none to compare. */
interface Value {
  readonly text: string;
  readonly size: number | null;
}

/** In place of values that an organization doesn't have of its own. */
const planValue = "the plan's";

/** Returns the changes of an entry; none if it doesn't tell them. Entries of earlier versions tell less. */
export function auditChanges(event: AuditEvent, catalogue: Catalogue): AuditChange[] {
  const { action, details } = event;
  switch (action) {
    case "organization.limits_changed":
      return [...numberChanges(event), ...limitClauses(event, catalogue)];
    case "plan.changed":
      return [
        ...nameChange(event),
        ...numberChanges(event),
        ...limitClauses(event, catalogue),
        ...budgetClauses(details, catalogue),
        ...planRest(details),
      ];
    case "api_key.budget_changed":
      return details["to"] === "none" ? [] : limitClauses(event, catalogue);
    case "product.created":
    case "product.changed":
      return [
        ...nameChange(event),
        ...priceChanges(details, catalogue),
        ...aggregationChanges(details, catalogue),
        ...metricChanges(details["shareable"], catalogue).map(({ name, values: [from, to] }) =>
          clause`changed the values of ${name} that events may name from ${from} to ${to}`
        ),
      ];
    case "identity_provider.changed":
    case "sso.changed":
    case "sso.enforced":
    case "sso.enforcement_ended":
      return providerChanges(details);
    default:
      return [];
  }
}

function clause(words: TemplateStringsArray, ...names: readonly string[]): AuditChange {
  const parts = words.flatMap((word, at) => [word, ...at < names.length ? [{ name: names[at] ?? "" }] : []]);
  return { parts, isSentence: true };
}

/** Says that a value was raised, lowered or otherwise changed. */
function valueChange(name: string, from: Value, to: Value): AuditChange {
  const [before, after] = [from.size, to.size];
  if (before === null || after === null || before === after) {
    return clause`changed ${name} from ${from.text} to ${to.text}`;
  }
  return before < after
    ? clause`raised ${name} from ${from.text} to ${to.text}`
    : clause`lowered ${name} from ${from.text} to ${to.text}`;
}

/** Splits `A → B`. */
function bothOf(text: string): [from: string, to: string] {
  const [from = "", to = ""] = text.split(" → ");
  return [from, to];
}

function nameChange({ details: { from, to } }: AuditEvent): AuditChange[] {
  if (from === undefined || to === undefined) return [];
  return [{ ...clause`renamed it from ${from} to ${to}`, isSentence: false }];
}

/** The numbers of a plan and of an organization, such as `5 → 6` and `from the plan → 6`. */
function numberChanges({ details }: AuditEvent): AuditChange[] {
  return planNumberNames.flatMap((name) => {
    const text = details[name];
    if (text === undefined) return [];
    const [from, to] = bothOf(text).map((number) => numberValue(name, number)) as [Value, Value];
    return from.text === planValue
      ? clause`set ${numberWords[name]} to ${to.text} instead of the plan's`
      : valueChange(numberWords[name], from, to);
  });
}

function numberValue(name: keyof PlanNumbers, text: string): Value {
  if (text === "from the plan") return { text: planValue, size: null };
  const number = Number(text);
  const words = numberText(name, number);
  return words === groupDigits(number)
    ? { text: words, size: number }
    : { text: words.toLowerCase(), size: null };
}

function limitClauses({ action, details }: AuditEvent, catalogue: Catalogue): AuditChange[] {
  const isBudget = action === "api_key.budget_changed";
  const [before, after] = isBudget
    ? [details["from"], details["to"]]
    : [details["previousLimits"], details["limits"]];
  if (after === undefined) return [];
  if (before === undefined) {
    return [
      after === ""
        ? clause`removed all limits`
        : clause`set the limits to ${limitsSentence(after, catalogue)}`,
    ];
  }
  return limitChanges(before, after, { isPartial: !isBudget }).map(({ scope, from, to }) => {
    const name = limitName(scope, catalogue);
    const hasSameMode = from?.quantity === null || to?.quantity === null ||
      from?.mode === to?.mode && notifyText(from?.notifyAt) === notifyText(to?.notifyAt);
    const [old, next] = [from, to].map((limit) => limit && limitValue(limit, catalogue, !hasSameMode));
    if (old && next && old.text !== next.text) return valueChange(name, old, next);
    if (to) return clause`set ${name} to ${limitValue(to, catalogue, true).text}`;
    const text = from === null ? "" : limitValue(from, catalogue, false).text;
    return action === "organization.limits_changed"
      ? clause`changed ${name} from ${text} to ${planValue}`
      : clause`removed the limit of ${text} on ${name}`;
  });
}

function limitValue(
  { quantity, metric, mode, notifyAt }: WrittenLimit,
  catalogue: Catalogue,
  hasMode: boolean,
): Value {
  if (quantity === null) return { text: "no limit", size: null };
  const measure = metric === null ? { name: "", unit: null } : summedMetricOf(catalogue, metric);
  const notified = notifyAt === null ? "" : `, notify at ${notifyText(notifyAt)}`;
  const text = quantityWords(quantity, measure);
  return { text: hasMode ? `${text} (${mode}${notified})` : text, size: Number(quantity) };
}

/** The default budget of a plan. */
function budgetClauses(
  { defaultBudget, previousDefaultBudget }: AuditEvent["details"],
  catalogue: Catalogue,
): AuditChange[] {
  if (defaultBudget === undefined || previousDefaultBudget === undefined) return [];
  const [from, to] = [previousDefaultBudget, defaultBudget]
    .map((text) => text === "none" ? text : limitsSentence(text, catalogue)) as [string, string];
  return [clause`changed the default budget from ${from} to ${to}`];
}

function planRest(
  { features, previousFeatures, featureNames, isDefault }: AuditEvent["details"],
): AuditChange[] {
  return [
    ...(features === undefined ? [] : [
      previousFeatures === undefined
        ? clause`set the features to ${features}`
        : clause`changed the features from ${previousFeatures} to ${features}`,
    ]),
    ...(featureNames === undefined ? [] : [clause`changed the names of ${featureNames}`]),
    ...(isDefault === undefined ? [] : [{ ...clause`made it the default`, isSentence: false }]),
  ];
}

/** Reads a list such as `requests: none → 0.5, bytes: 1 → 2`. */
function metricChanges(text: string | undefined, catalogue: Catalogue) {
  return (text?.split(", ") ?? []).map((change) => {
    const [slug = "", values = ""] = change.split(": ");
    return { name: metricOf(catalogue, slug).name, values: bothOf(values) };
  });
}

function priceChanges({ prices, currency }: AuditEvent["details"], catalogue: Catalogue): AuditChange[] {
  return metricChanges(prices, catalogue).map(({ name, values }) => {
    const [from, to] = values.map((price) => ({
      text: currency === undefined ? groupDigits(price) : `${currency} ${groupDigits(price)}`,
      size: price === "none" ? null : Number(price),
    })) as [Value, Value];
    if (from.size === null) return clause`set the price of ${name} to ${to.text}`;
    if (to.size === null) return clause`removed the price of ${name} (${from.text})`;
    const { parts, isSentence } = valueChange(name, from, to);
    const [verb = "", ...rest] = parts;
    return { parts: [`${verb}the price of `, ...rest], isSentence };
  });
}

function aggregationChanges({ aggregations }: AuditEvent["details"], catalogue: Catalogue): AuditChange[] {
  return metricChanges(aggregations, catalogue).map(({ name, values }) => {
    const [from, to] = values.map(aggregationText) as [string, string];
    return { ...clause`changed the aggregation of ${name} from ${from} to ${to}`, isSentence: false };
  });
}

/** @param text Such as `sum` or `unique user_id`. */
function aggregationText(text: string): string {
  const [aggregation = "", property] = text.split(" ");
  const label = aggregationLabels[aggregation as Aggregation] ?? text;
  const words = property === undefined ? label : label.replace("a property", property);
  return words.charAt(0).toLowerCase() + words.slice(1);
}

// The beginnings of what entries say of a provider's fields, the names of the details with the values, and labels.
const providerFields = [
  ["name", "Name", "name"],
  ["issuer", "Issuer", "issuer"],
  ["client ID", "ClientId", "client ID"],
  ["role", "Role", "role"],
  ["sessions of", "SessionMaxDays", "days until sessions end"],
] as const;

/** Reads a list such as `issuer https://x.example, client ID, client secret`. */
function providerChanges(details: AuditEvent["details"]): AuditChange[] {
  return (details["change"]?.split(", ") ?? []).map((change) => {
    const [, field = "", label = ""] = providerFields.find(([start]) => change.startsWith(start)) ?? [];
    const from = details[`previous${field}`];
    const to = details[field.charAt(0).toLowerCase() + field.slice(1)];
    const parts = from === undefined || to === undefined
      ? [{ name: change.replace(/(?<=^role )\w+$/, roleOf) }]
      : [`${label} from `, { name: roleOf(from) }, " to ", { name: roleOf(to) }];
    return { parts, isSentence: false };
  });
}

/** Returns a role in words, and any other text as it is. */
function roleOf(value: string): string {
  return Object.hasOwn(roleWords, value) ? roleWords[value as Role] : value;
}

/** Where a change was made, after a clause that begins the sentence. */
export const changePlaces: { readonly [Action in AuditAction]?: string } = {
  "organization.limits_changed": "[ for {target}]",
  "plan.changed": "[ in the plan {target}]",
  "api_key.budget_changed": " for the key {target}",
  "product.changed": "[ for {target}]",
};
