// The forms of one API key: edit, rotate, revoke, and its budget.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { apiKeyNameCharactersMax, budgetLimitsMax } from "../../domain/limits.ts";
import { operatorsKeyPermission } from "../../domain/keys/key_permissions.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import { FormPage, type PageForm } from "../components/form_page.tsx";
import { defaultGrace, ExpiryField, type ExpiryValue, graceChoices } from "../components/expiry_field.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { LastUsage, lastUsageWords } from "../components/last_usage.tsx";
import { LimitFields, type LimitFieldsProps } from "../components/limit_fields.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { Page } from "../layout.tsx";
import { type Measure, measureNoun, quantityWords } from "../text/quantity.ts";
import { exactTime, fullDate, relativeTime } from "../text/time.ts";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

export function editApiKeyPage(
  { fields, field, ...form }: PageForm,
  { apiKey, permissions, expiry }: {
    readonly apiKey: ApiKey;
    readonly permissions: PermissionChoice;
    readonly expiry: ExpiryValue;
  },
): Page {
  const { now, viewed } = form.frame;
  const { status, expiresAt } = apiKey;
  return (
    <ConfirmPage
      {...form}
      {...aboutKey(form, apiKey)}
      title="Edit key"
      heading="Edit “{name}”"
      text="The key itself stays the same. Changes take effect immediately."
      submit="Save changes"
      tone="primary"
    >
      <NameField
        label="Name"
        {...field("name", apiKey.name)}
        charactersMax={apiKeyNameCharactersMax}
        autofocus
      />
      {status === "active" && (
        <ExpiryField
          value={expiry}
          fields={fields}
          now={now}
          kept={expiresAt === null ? null : exactTime(Date.parse(expiresAt))}
        />
      )}
      <PermissionFields
        chosen={permissions}
        error={fields["permissions"]}
        hasVoid={viewed !== null || apiKey.permissions.includes(operatorsKeyPermission)}
      />
    </ConfirmPage>
  );
}

/** `lastUsageAt`: the start of the quarter of an hour; null without usage, undefined if it is not available. */
export function rotateApiKeyPage(
  { field, ...form }: PageForm,
  { apiKey, lastUsageAt, formToken }: {
    readonly apiKey: ApiKey;
    readonly lastUsageAt: number | null | undefined;
    readonly formToken: string;
  },
): Page {
  return (
    <ConfirmPage
      {...form}
      {...aboutKey(form, apiKey, lastUsageAt)}
      hidden={{ ...form.hidden, formToken }}
      title="Rotate key"
      heading="Rotate “{name}”"
      text="Creates a new key with the same name and permissions. The old one keeps working until the time you choose."
      submit="Create new key"
      tone="primary"
      error={null}
    >
      <RadioGroup
        label="When should the old key stop working?"
        {...field("expireOld", defaultGrace)}
        choices={graceChoices(
          "Only if it may have leaked. Requests fail until every program has the new key.",
        )}
        error={form.error ?? form.fields["id"] ?? form.fields["expireOld"]}
      />
    </ConfirmPage>
  );
}

export function revokeApiKeyPage(
  form: PageForm,
  { apiKey, ...use }: KeyUse & { readonly apiKey: ApiKey },
): Page {
  return (
    <ConfirmPage
      {...form}
      {...aboutKey(form, apiKey, use.report?.lastUsageAt)}
      title="Revoke key"
      heading="Revoke “{name}”?"
      text={revokeWarning(apiKey, { ...use, now: form.frame.now })}
      submit="Revoke key"
    />
  );
}

export function budgetPage(
  form: PageForm,
  { apiKey: { id, name }, ...limits }:
    & { readonly apiKey: ApiKey }
    & Omit<LimitFieldsProps, "fields" | "limitsMax">,
): Page {
  const { frame, fields } = form;
  const whose = frame.viewed === null ? "your" : "the";
  return (
    <FormPage
      {...form}
      title="Budget"
      heading="Budget of “{name}”"
      name={name}
      text={`Limits what this key can use, in addition to ${whose} organization's limits. After a rotation, the old and the new key share the budget.`}
      back={{ href: apiKeyHref(frame.base, id), label: name }}
      error={form.error ?? fields["limits"]}
      submit="Save budget"
    >
      <p class="muted small">
        {`Up to ${budgetLimitsMax} limits, none above ${whose} organization's. Windows follow the calendar in its time zone. ` +
          "Rows without a quantity are removed."}
      </p>
      <LimitFields {...limits} fields={fields} limitsMax={budgetLimitsMax} />
    </FormPage>
  );
}

/** The usage of a key with those that it replaced, by anyone who recorded it. */
interface KeyUse {
  /** Null if it is not available. */
  readonly report: Pick<KeyReport, "chart" | "lastUsageAt"> | null;
  /** True if it replaced other keys. */
  readonly isRotated: boolean;
}

const recentMs = 6 * 24 * 3_600_000;

/** Says what revoking a key breaks: its last request, and usage that may have been recorded without one. */
export function revokeWarning(
  { lastUsedAt }: Pick<ApiKey, "lastUsedAt">,
  { now, report, isRotated }: KeyUse & { readonly now: number },
): string {
  const isUnused = lastUsedAt === null && report?.lastUsageAt === null;
  const requested = lastUsedAt === null
    ? "No requests yet"
    : `Last request ${whenText(Date.parse(lastUsedAt), { now, words: relativeTime })}`;
  const facts = isUnused ? ["Never used"] : [requested, ...usageFacts({ report, isRotated }, now)];
  return `${facts.join(". ")}. Requests with this key will fail immediately. This can't be undone.`;
}

function usageFacts({ report, isRotated }: KeyUse, now: number): string[] {
  if (report === null) return [];
  const { chart, lastUsageAt } = report;
  const which = isRotated ? ", with the keys it replaced" : "";
  if (chart !== null && Number(chart.today) > 0) return [`Usage today${which}: ${todayText(chart)}`];
  if (lastUsageAt === null) return ["No usage"];
  return [`Last usage${which}${which && ":"} ${whenText(lastUsageAt, { now, words: lastUsageWords })}`];
}

/** Returns a time inside a sentence: `2 minutes ago`, `on Nov 2, 2026`. */
function whenText(
  at: number,
  { now, words }: { now: number; words: (at: number, now: number) => string },
): string {
  if (now - at >= recentMs) return `on ${fullDate(at)}`;
  const when = words(at, now);
  return when.charAt(0).toLowerCase() + when.slice(1);
}

function todayText({ metric, today }: { readonly metric: Measure; readonly today: string }): string {
  return `${quantityWords(today, metric)}${metric.unit === null ? ` ${measureNoun(metric)}` : ""}`;
}

function aboutKey(
  { frame: { base, now } }: Pick<PageForm, "frame">,
  apiKey: ApiKey,
  lastUsageAt?: number | null,
) {
  const { id, name, keyPrefix, createdAt, lastUsedAt } = apiKey;
  return {
    name,
    facts: [
      { label: "Key", value: <code>{keyPrefix}</code> },
      { label: "Created", value: <RelativeTime at={createdAt} now={now} /> },
      { label: "Last request", value: <RelativeTime at={lastUsedAt} now={now} /> },
      ...(lastUsageAt === undefined
        ? []
        : [{ label: "Last usage", value: <LastUsage at={lastUsageAt} now={now} /> }]),
    ],
    back: { href: apiKeyHref(base, id), label: name },
  };
}
