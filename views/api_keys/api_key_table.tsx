// The list of API keys, with their usage, status and actions.
import type { ApiKey } from "../../domain/api_key.ts";
import { isOwnPermission } from "../../domain/key_permissions.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { actionsColumn, Cell, LinkedName, Row, Table } from "../components/table.tsx";

/** What can be done with a key. Owners and admins set the budget; everyone who sees a key can do the rest. */
export type ApiKeyAction = "edit" | "rotate" | "revoke" | "budget";

/** A key in the list. */
export type ApiKeyRow = ApiKey & {
  readonly createdByYou: boolean;
  /** Records on each of the last 30 days, oldest first; null when they are not available. */
  readonly dailyRecords: readonly number[] | null;
};

/** Keys that expire within this time are marked. */
const soonMs = 7 * 24 * 3_600_000;
/** The rest is in the title, and on the page that changes them. */
const permissionsShownMax = 4;
/** From here on, the number is below its line. */
const longTotal = 1e9;
const columns = ["Name", "Key", "Records, 30 days", "Last used", "Expires", "Status", actionsColumn];

/** The keys as a table, newest first as given. */
export function ApiKeyTable({ apiKeys, now }: { apiKeys: readonly ApiKeyRow[]; now: number }) {
  return (
    <Table label="API keys" columns={columns}>
      {apiKeys.map((apiKey) => <ApiKeyRowView apiKey={apiKey} now={now} />)}
    </Table>
  );
}

/** @returns The address of a key's page, or of a page about one action. */
export function apiKeyHref(id: string, action?: ApiKeyAction): string {
  const href = `/portal/api-keys/${encodeURIComponent(id)}`;
  return action === undefined ? href : `${href}/${action}`;
}

/** Whether a key works. */
export function ApiKeyStatus({ apiKey, now }: { apiKey: ApiKey; now: number }) {
  if (apiKey.status === "revoked") {
    return (
      <Badge tone="off">Revoked {apiKey.revokedAt && <DayTime at={apiKey.revokedAt} now={now} />}</Badge>
    );
  }
  if (apiKey.status === "expired") return <Badge tone="off">Expired</Badge>;
  const endsSoon = apiKey.expiresAt !== null && Date.parse(apiKey.expiresAt) - now < soonMs;
  return endsSoon ? <Badge tone="soon">Expires soon</Badge> : <Badge tone="on">Active</Badge>;
}

/** How many records a key had on the last 30 days. */
export function RecordsText({ apiKey: { dailyRecords: values } }: { apiKey: ApiKeyRow }) {
  if (values === null) return <span class="muted small">Not available right now</span>;
  const total = values.reduce((sum, value) => sum + value, 0);
  return (
    <span class={total >= longTotal ? "course long" : "course"}>
      <Sparkline values={values} />
      <span class="num small">{groupDigits(total)}</span>
    </span>
  );
}

function ApiKeyRowView({ apiKey, now }: { apiKey: ApiKeyRow; now: number }) {
  const isActive = apiKey.status === "active";
  return (
    <Row over={!isActive}>
      <Cell place="title">
        <LinkedName href={apiKeyHref(apiKey.id)} name={apiKey.name} note={creatorText(apiKey)} />
        <PermissionsText permissions={apiKey.permissions} />
      </Cell>
      <Cell label="Key" value={<code class="key">{apiKey.keyPrefix}</code>} />
      <Cell label="Records, 30 days">
        <RecordsText apiKey={apiKey} />
      </Cell>
      <Cell label="Last used">
        <span class="small">
          <RelativeTime at={apiKey.lastUsedAt} now={now} />
        </span>
      </Cell>
      <Cell label="Expires">
        <span class="small">
          <ExpiryText apiKey={apiKey} now={now} />
        </span>
      </Cell>
      <Cell place="state" value={<ApiKeyStatus apiKey={apiKey} now={now} />} />
      <Cell place="actions">{isActive ? <Actions apiKey={apiKey} /> : null}</Cell>
    </Row>
  );
}

/** Some of the permissions, below a key's name. */
export function PermissionsText({ permissions }: { permissions: readonly string[] }) {
  if (permissions.length === 0) return <div class="muted tiny">No permissions</div>;
  const all = ownLast(permissions);
  const more = all.length - permissionsShownMax;
  const shown = all.slice(0, permissionsShownMax).join(", ");
  return (
    <div class="muted tiny" title={all.join(", ")}>
      {more > 0 ? `${shown} and ${more} more` : shown}
    </div>
  );
}

/** @returns All permissions in words. */
export function permissionsText(permissions: readonly string[]): string {
  return ownLast(permissions).join(", ") || "None";
}

function ownLast(permissions: readonly string[]): string[] {
  return [...permissions.filter((name) => !isOwnPermission(name)), ...permissions.filter(isOwnPermission)];
}

function Actions({ apiKey }: { apiKey: ApiKeyRow }) {
  return (
    <div class="actions-row">
      <ButtonLink tone="quiet" href={apiKeyHref(apiKey.id, "edit")} about={apiKey.name}>Edit</ButtonLink>
      <ButtonLink tone="quiet" href={apiKeyHref(apiKey.id, "rotate")} about={apiKey.name}>Rotate</ButtonLink>
      <ButtonLink tone="quiet-destroy" href={apiKeyHref(apiKey.id, "revoke")} about={apiKey.name}>
        Revoke
      </ButtonLink>
    </div>
  );
}

/** When a key expires. */
export function ExpiryText({ apiKey, now }: { apiKey: ApiKeyRow; now: number }) {
  if (apiKey.status === "revoked") return <>—</>;
  return apiKey.expiresAt === null ? <>Never</> : <RelativeTime at={apiKey.expiresAt} now={now} />;
}

/** @returns Who created a key: `by Ada`. */
export function creatorText(apiKey: ApiKeyRow): string {
  if (apiKey.createdByYou) return "by you";
  if (apiKey.createdByOperator) return "by the operator";
  return apiKey.createdBy === null ? "by a former member" : `by ${apiKey.createdBy.name}`;
}
