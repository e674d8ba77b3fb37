// The table of API keys: one line for a key and those that it replaced, with a menu of its actions.
import { type ApiKey, withoutTag } from "../../domain/keys/api_key.ts";
import { expiresSoon, type KeyLine, type KeyOrder } from "../../domain/keys/key_list.ts";
import { isOwnPermission } from "../../domain/keys/key_permissions.ts";
import { rollupQuarterMs } from "../../domain/limits.ts";
import { type KeyUsage, keyUsageDays } from "../../domain/meter/key_usage.ts";
import { microsToDecimal } from "../../domain/meter/quantity.ts";
import { Badge } from "../components/badge.tsx";
import { TestBadge } from "../components/environment.tsx";
import { type ApiKeyAction, apiKeyHref, managesAllKeys, mayEnable } from "../components/key_name.tsx";
import { LastUsage } from "../components/last_usage.tsx";
import { Quantity } from "../components/quantity.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { type MenuAction, RowMenu } from "../components/row_menu.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import {
  actionsColumn,
  Cell,
  type Column,
  LinkedName,
  Row,
  type SortDirection,
  Table,
  Words,
} from "../components/table.tsx";
import type { PortalFrame } from "../layout.tsx";
import { measureNoun } from "../text/quantity.ts";
import { exactTime, relativeTime } from "../text/time.ts";

export interface KeyLineRow extends KeyLine {
  /** Null without usage in the last 30 days. */
  readonly usage: KeyUsage | "unavailable" | null;
  /** The start of the quarter of an hour of the last usage; null if there was none, or it is not available. */
  readonly lastUsageAt: number | null;
}

/** The rest is in the title, and on the key's page. */
const permissionsShownMax = 4;
const permissionWords: ReadonlyMap<string, string> = new Map([
  ["usage:write", "record"],
  ["usage:read", "read"],
  ["usage:void", "void"],
]);

interface ApiKeyTableProps {
  readonly frame: PortalFrame;
  readonly lines: readonly KeyLineRow[];
  readonly areInactive: boolean;
  /** Has a checkbox for each key, for the form around the table. */
  readonly isSelectable?: boolean;
  /** The current order, and the addresses of others; undefined if the lines can't be sorted. */
  readonly sorting?: { readonly order: KeyOrder; readonly hrefOf: (order: KeyOrder) => string };
}

export function ApiKeyTable(
  { frame, lines, areInactive, isSelectable = false, sorting }: ApiKeyTableProps,
) {
  const { now } = frame;
  const hasActions = !areInactive && !frame.isReadOnly;
  const sortBy = (order: KeyOrder, direction: SortDirection): Pick<Column, "sort"> => ({
    sort: sorting &&
      { href: sorting.hrefOf(order), direction: sorting.order === order ? direction : null },
  });
  const metric = commonMetric(lines);
  const columns: readonly (string | Column)[] = [
    { title: "Name", ...sortBy("name", "ascending") },
    "Key",
    { title: "Permissions", drop: 2 },
    {
      title: `${metric?.name ?? "Usage"}, 30 days`,
      isNumber: true,
      place: "total",
      ...sortBy("usage", "descending"),
    },
    { title: "Last request", ...sortBy("used", "descending") },
    { title: "Created", drop: 1, ...sortBy("created", "descending") },
    areInactive
      ? { title: "Ended", ...sortBy("end", "descending") }
      : { title: "Expires", ...sortBy("end", "ascending") },
    ...(hasActions ? [actionsColumn] : []),
  ];
  return (
    <Table label="API keys" columns={columns} kind="cards">
      {lines.map((line) => (
        <Row>
          <Cell place="title">
            {isSelectable && (
              <input type="checkbox" name={line.id} value="" aria-label={`Select ${line.name}`} />
            )}
            <LinkedName href={apiKeyHref(frame.base, line.id)} name={line.name} />
            {line.environment === "test" && (
              <span class="second">
                <TestBadge {...line} />
              </span>
            )}
            {line.status === "active" && !line.enabled && (
              <span class="second">
                <DisabledBadge />
              </span>
            )}
            <LeakText apiKey={line} now={now} />
            {line.oldKeyEndsAt && (
              <span class="second">
                Old key stops <RelativeTime at={line.oldKeyEndsAt} now={now} />
              </span>
            )}
          </Cell>
          <Cell place="start" value={<KeyPrefix prefix={line.keyPrefix} />} />
          <Cell place="end" drop={2} isQuiet value={<PermissionsText permissions={line.permissions} />} />
          <Cell place="total">
            <KeyUsageText usage={line.usage} isMixed={metric === null} />
          </Cell>
          <Cell place="start">
            <RequestTime at={line.lastUsedAt} now={now} />
            <LaterUsage line={line} now={now} />
          </Cell>
          <Cell drop={1} isOffCard isQuiet>
            <DayTime at={line.createdAt} now={now} />
            <span class="by">
              <CreatorName apiKey={line} frame={frame} />
            </span>
          </Cell>
          <Cell
            place="end"
            isQuiet
            value={line.status === "active"
              ? <ExpiryCell line={line} now={now} />
              : <EndText line={line} now={now} />}
          />
          {hasActions && (
            <Cell place="actions">
              {line.status === "active" && <RowMenu about={line.name} actions={actionsOf(frame, line)} />}
            </Cell>
          )}
        </Row>
      ))}
    </Table>
  );
}

/** When someone last reported that a key leaked. */
export function LeakText({ apiKey: { leakedAt }, now }: { apiKey: ApiKey; now: number }) {
  if (leakedAt === null) return null;
  return (
    <span class="second">
      Reported as leaked on <DayTime at={leakedAt} now={now} />
    </span>
  );
}

/** Returns the metric that the numbers of all lines have; null if they differ. */
function commonMetric(lines: readonly KeyLineRow[]) {
  const metrics = lines.flatMap(({ usage }) =>
    usage === null || usage === "unavailable" ? [] : [usage.metric]
  );
  const [first] = metrics;
  return first !== undefined && metrics.every(({ slug }) => slug === first.slug) ? first : null;
}

function actionsOf(
  frame: PortalFrame,
  { id, environment, enabled, disabledByOperator }: ApiKey,
): MenuAction[] {
  const hrefOf = (action?: ApiKeyAction) => apiKeyHref(frame.base, id, action);
  return [
    { href: hrefOf(), label: "Open", icon: "key" },
    { href: hrefOf("edit"), label: "Edit", icon: "edit" },
    ...(managesAllKeys(frame) && environment === "live"
      ? [{ href: hrefOf("budget"), label: "Edit budget", icon: "gauge" } as const]
      : []),
    ...(enabled
      ? [{ href: hrefOf("rotate"), label: "Rotate", icon: "rotate" } as const]
      : mayEnable(frame, { disabledByOperator })
      ? [{ href: hrefOf("enable"), label: "Enable", icon: "play" } as const]
      : []),
    { href: hrefOf("revoke"), label: "Revoke", icon: "trash", isDanger: true },
  ];
}

/** The first characters of a key, without those that all keys have. */
function KeyPrefix({ prefix }: { prefix: string }) {
  return <code class="prefix">{withoutTag(prefix)}</code>;
}

/** The usage of a key in the last 30 days, of its main metric. `isMixed`: there are numbers of other metrics next to it. */
function KeyUsageText({ usage, isMixed }: { usage: KeyLineRow["usage"]; isMixed: boolean }) {
  if (usage === "unavailable") return <span class="muted">Not available right now</span>;
  return (
    <span class="course">
      <Sparkline values={usage?.values ?? []} />
      <span class="num">
        {usage === null ? "0" : <Quantity value={microsToDecimal(usage.micros)} measure={usage.metric} />}
        {usage && isMixed && usage.metric.unit === null && (
          <span class="muted tiny">{` ${measureNoun(usage.metric)}`}</span>
        )}
        <span class="muted tiny">
          <Words onCard={` in ${keyUsageDays} days`} />
        </span>
      </span>
    </span>
  );
}

/** Usage that an operator recorded for a key after its last request, if there was any. */
function LaterUsage({ line: { lastUsedAt, lastUsageAt }, now }: { line: KeyLineRow; now: number }) {
  if (lastUsageAt === null || lastUsageAt - Date.parse(lastUsedAt ?? "1970") < rollupQuarterMs) return null;
  return (
    <span class="second">
      Last usage: <LastUsage at={lastUsageAt} now={now} />
    </span>
  );
}

function RequestTime({ at, now }: { at: string | null; now: number }) {
  if (at === null) {
    return (
      <span class="muted">
        <Words onCard="No requests" offCard="Never" />
      </span>
    );
  }
  const atMs = Date.parse(at);
  const words = relativeTime(atMs, now);
  const inSentence = words.replace(/^(Just|Yesterday)/, (word) => word.toLowerCase());
  return (
    <time datetime={at} title={exactTime(atMs)}>
      <Words onCard={`Last request ${inSentence}`} offCard={words} />
    </time>
  );
}

function ExpiryCell({ line: { expiresAt }, now }: { line: KeyLineRow; now: number }) {
  if (expiresAt === null) return <Words onCard="Never expires" offCard="Never" />;
  if (!expiresSoon({ endsAt: Date.parse(expiresAt) }, now)) {
    return (
      <>
        <Words onCard="Expires " />
        <DayTime at={expiresAt} now={now} />
      </>
    );
  }
  return (
    <Badge tone="soon">
      <Words onCard="Expires " />
      <RelativeTime at={expiresAt} now={now} />
    </Badge>
  );
}

function EndText({ line: { revokedAt, expiresAt }, now }: { line: KeyLineRow; now: number }) {
  const at = revokedAt ?? expiresAt;
  return <>{revokedAt === null ? "Expired " : "Revoked "}{at && <DayTime at={at} now={now} />}</>;
}

function DisabledBadge() {
  return <Badge tone="off">Disabled</Badge>;
}

export function ApiKeyStatus({ apiKey, now }: { apiKey: ApiKey; now: number }) {
  if (apiKey.status === "revoked") {
    return (
      <Badge tone="off">Revoked {apiKey.revokedAt && <DayTime at={apiKey.revokedAt} now={now} />}</Badge>
    );
  }
  if (apiKey.status === "expired") return <Badge tone="off">Expired</Badge>;
  if (!apiKey.enabled) return <DisabledBadge />;
  const endsAt = apiKey.expiresAt === null ? null : Date.parse(apiKey.expiresAt);
  return expiresSoon({ endsAt }, now)
    ? <Badge tone="soon">Expires soon</Badge>
    : <Badge tone="on">Active</Badge>;
}

/** Some of the permissions as quiet text: `Record, read`. */
function PermissionsText({ permissions }: { permissions: readonly string[] }) {
  if (permissions.length === 0) return <>None</>;
  const all = ownLast(permissions);
  const more = all.length - permissionsShownMax;
  const shown = all.slice(0, permissionsShownMax).map((name) => permissionWords.get(name) ?? name).join(", ");
  const text = shown.replace(/^(record|read|void)/, (word) => word.charAt(0).toUpperCase() + word.slice(1));
  return <span title={all.join(", ")}>{more > 0 ? `${text} and ${more} more` : text}</span>;
}

function ownLast(permissions: readonly string[]): string[] {
  const known = [...permissionWords.keys()].filter((name) => permissions.includes(name));
  return [...known, ...permissions.filter((name) => isOwnPermission(name))];
}

export function ExpiryText({ apiKey, now }: { apiKey: ApiKey; now: number }) {
  if (apiKey.status === "revoked") return <>—</>;
  return apiKey.expiresAt === null ? <>Never</> : <RelativeTime at={apiKey.expiresAt} now={now} />;
}

function CreatorName({ apiKey, frame }: { apiKey: ApiKey; frame: PortalFrame }) {
  if (apiKey.createdBy?.id === frame.session.user.id) return <>You</>;
  if (apiKey.createdByOperator) return <>Operator</>;
  return apiKey.createdBy === null ? <>Former member</> : <bdi>{apiKey.createdBy.name}</bdi>;
}
