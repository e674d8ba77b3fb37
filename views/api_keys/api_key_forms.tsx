// The forms of one API key: edit, rotate, revoke, and its budget.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax, budgetLimitsMax } from "../../domain/limits.ts";
import { operatorsKeyPermission } from "../../domain/key_permissions.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { NameField, RadioGroup } from "../components/field.tsx";
import { aboutOrganization, type FormErrors } from "../components/form.tsx";
import { FormPage } from "../components/form_page.tsx";
import { ExpiryField, type ExpiryValue, graceChoices } from "../components/expiry_field.tsx";
import { type ApiKeyAction, apiKeyHref } from "../components/key_name.tsx";
import { LastUsage, lastUsageWords } from "../components/last_usage.tsx";
import { LimitFields, type LimitFieldsProps } from "../components/limit_fields.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { Page, PortalFrame } from "../layout.tsx";
import { type Measure, measureNoun, quantityWords } from "../text/quantity.ts";
import { exactTime, fullDate, relativeTime } from "../text/time.ts";
import { type PermissionChoice, PermissionFields } from "./permission_fields.tsx";

interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

/** A form with one field, whose `value` is as typed or chosen. */
type ApiKeyFormProps = ApiKeyPageProps & Pick<FormErrors, "fields"> & { readonly value: string };

export function editApiKeyPage(
  { name, permissions, expiry, fields, message, ...props }: ApiKeyPageProps & FormErrors & {
    readonly name: string;
    readonly permissions: PermissionChoice;
    readonly expiry: ExpiryValue;
  },
): Page {
  const { frame: { now, viewed }, apiKey: { status, expiresAt } } = props;
  return (
    <ConfirmPage
      {...pageProps("edit", props)}
      title="Edit key"
      heading="Edit “{name}”"
      text="The key itself stays the same. Changes take effect immediately."
      submit="Save changes"
      error={message}
      tone="primary"
    >
      <NameField
        label="Name"
        value={name}
        error={fields["name"]}
        autocomplete="off"
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
        hasVoid={viewed !== null || props.apiKey.permissions.includes(operatorsKeyPermission)}
      />
    </ConfirmPage>
  );
}

export function rotateApiKeyPage(
  { value, fields, formToken, ...props }: ApiKeyFormProps & WithLastUsage & { readonly formToken: string },
): Page {
  return (
    <ConfirmPage
      {...pageProps("rotate", props)}
      hidden={{ formToken }}
      title="Rotate key"
      heading="Rotate “{name}”"
      text="Creates a new key with the same name and permissions. The old one keeps working until the time you choose."
      submit="Create new key"
      tone="primary"
    >
      <RadioGroup
        label="When should the old key stop working?"
        name="expireOld"
        value={value}
        choices={graceChoices(
          "Only if it may have leaked. Requests fail until every program has the new key.",
        )}
        error={fields["expireOld"]}
      />
    </ConfirmPage>
  );
}

export function revokeApiKeyPage(props: ApiKeyPageProps & KeyUse): Page {
  return (
    <ConfirmPage
      {...pageProps("revoke", { ...props, lastUsageAt: props.report?.lastUsageAt })}
      title="Revoke key"
      heading="Revoke “{name}”?"
      text={revokeWarning(props.apiKey, { ...props, now: props.frame.now })}
      submit="Revoke key"
    />
  );
}

export function budgetPage(
  props:
    & ApiKeyPageProps
    & FormErrors
    & Pick<LimitFieldsProps, "limits" | "productSlugs" | "metrics" | "catalogue">,
): Page {
  const { frame, apiKey: { id, name }, message, fields } = props;
  const href = apiKeyHref(frame.base, id);
  const whose = frame.viewed === null ? "your" : "the";
  return (
    <FormPage
      frame={frame}
      place="api-keys"
      title="Budget"
      heading="Budget of “{name}”"
      name={name}
      text={`Limits what this key can use, in addition to ${whose} organization's limits. After a rotation, the old and the new key share the budget.`}
      back={{ href, label: name }}
      action={`${href}/budget`}
      hidden={aboutOrganization(frame)}
      error={message ?? fields["limits"]}
      submit="Save budget"
    >
      <p class="muted small">
        {`Up to ${budgetLimitsMax} limits, none above ${whose} organization's. Windows follow the calendar in its time zone. ` +
          "Rows without a quantity are removed."}
      </p>
      <LimitFields {...props} limitsMax={budgetLimitsMax} />
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

/** The start of the quarter of an hour; null without usage, undefined if it is not available. */
interface WithLastUsage {
  readonly lastUsageAt?: number | null | undefined;
}

function pageProps(action: ApiKeyAction, { frame, apiKey, lastUsageAt }: ApiKeyPageProps & WithLastUsage) {
  const { name, lastUsedAt } = apiKey;
  const { now } = frame;
  return {
    frame,
    place: "api-keys",
    name,
    facts: [
      { label: "Key", value: <code>{apiKey.keyPrefix}</code> },
      { label: "Created", value: <RelativeTime at={apiKey.createdAt} now={now} /> },
      { label: "Last request", value: <RelativeTime at={lastUsedAt} now={now} /> },
      ...(lastUsageAt === undefined
        ? []
        : [{ label: "Last usage", value: <LastUsage at={lastUsageAt} now={now} /> }]),
    ],
    action: apiKeyHref(frame.base, apiKey.id, action),
    back: { href: apiKeyHref(frame.base, apiKey.id), label: name },
  } as const;
}
