// The forms of one API key: edit, rotate, revoke, and its budget.
import type { ApiKey } from "../../domain/api_key.ts";
import { apiKeyNameCharactersMax, budgetLimitsMax } from "../../domain/limits.ts";
import { operatorsKeyPermission } from "../../domain/key_permissions.ts";
import { ConfirmPage } from "../components/confirm_page.tsx";
import { type Choice, NameField, RadioGroup } from "../components/field.tsx";
import { aboutOrganization, type FormErrors } from "../components/form.tsx";
import { FormPage } from "../components/form_page.tsx";
import { ExpiryField, type ExpiryValue } from "../components/expiry_field.tsx";
import { type ApiKeyAction, apiKeyHref } from "../components/key_name.tsx";
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

const graceChoices: readonly Choice[] = [
  { value: "1h", label: "In 1 hour" },
  { value: "24h", label: "In 24 hours", hint: "Leaves time to update your programs." },
  { value: "7d", label: "In 7 days" },
  {
    value: "now",
    label: "Immediately",
    hint: "Only if it may have leaked. Requests fail until every program has the new key.",
    isDanger: true,
  },
];

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
  { value, fields, formToken, ...props }: ApiKeyFormProps & { readonly formToken: string },
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
        choices={graceChoices}
        error={fields["expireOld"]}
      />
    </ConfirmPage>
  );
}

export function revokeApiKeyPage({ today, ...props }: ApiKeyPageProps & { today: UsageToday | null }): Page {
  return (
    <ConfirmPage
      {...pageProps("revoke", props)}
      title="Revoke key"
      heading="Revoke “{name}”?"
      text={revokeWarning(props.apiKey, { now: props.frame.now, today })}
      submit="Revoke key"
    />
  );
}

export function budgetPage(
  props: ApiKeyPageProps & FormErrors & Pick<LimitFieldsProps, "limits" | "productSlugs" | "metrics">,
): Page {
  const { frame, apiKey: { id, name }, message, fields } = props;
  const href = apiKeyHref(frame.base, id);
  return (
    <FormPage
      frame={frame}
      place="api-keys"
      title="Budget"
      heading="Budget of “{name}”"
      name={name}
      text="Limits what this key can use, in addition to your organization's limits. After a rotation, the old and the new key share the budget."
      back={{ href, label: name }}
      action={`${href}/budget`}
      hidden={aboutOrganization(frame)}
      error={message ?? fields["limits"]}
      submit="Save budget"
    >
      <p class="muted small">
        {`Up to ${budgetLimitsMax} limits, none above your organization's. Windows follow the calendar in its time zone. ` +
          "Rows without a quantity are removed."}
      </p>
      <LimitFields {...props} limitsMax={budgetLimitsMax} />
    </FormPage>
  );
}

/** The usage of a key today, of its main metric. */
interface UsageToday {
  readonly metric: Measure;
  /** An exact decimal text. */
  readonly today: string;
}

const recentMs = 6 * 24 * 3_600_000;

/** Says when a key was used: `Used 2 minutes ago`, `Used on Nov 2, 2026`, `Never used`. */
export function usedText({ lastUsedAt }: Pick<ApiKey, "lastUsedAt">, now: number): string {
  if (lastUsedAt === null) return "Never used";
  const at = Date.parse(lastUsedAt);
  if (now - at >= recentMs) return `Used on ${fullDate(at)}`;
  const when = relativeTime(at, now);
  return `Used ${when.charAt(0).toLowerCase()}${when.slice(1)}`;
}

/** Says what revoking a key breaks. `today`: null if it is not available. */
export function revokeWarning(
  apiKey: Pick<ApiKey, "lastUsedAt">,
  { now, today }: { now: number; today: UsageToday | null },
): string {
  const used = usedText(apiKey, now);
  const quantity = today === null || Number(today.today) === 0 ? "" : `, ${todayText(today)} today`;
  return `${used}${quantity}. Requests with this key will fail immediately. This can't be undone.`;
}

function todayText({ metric, today }: UsageToday): string {
  return `${quantityWords(today, metric)}${metric.unit === null ? ` ${measureNoun(metric)}` : ""}`;
}

function pageProps(action: ApiKeyAction, { frame, apiKey }: ApiKeyPageProps) {
  const { name, lastUsedAt } = apiKey;
  const { now } = frame;
  return {
    frame,
    place: "api-keys",
    name,
    facts: [
      { label: "Key", value: <code>{apiKey.keyPrefix}</code> },
      { label: "Created", value: <RelativeTime at={apiKey.createdAt} now={now} /> },
      { label: "Last used", value: <RelativeTime at={lastUsedAt} now={now} /> },
    ],
    action: apiKeyHref(frame.base, apiKey.id, action),
    back: { href: apiKeyHref(frame.base, apiKey.id), label: name },
  } as const;
}
