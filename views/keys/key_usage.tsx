// The usage on the page of a key: five facts, the chart, and the totals by metric.
import { presentation } from "../../domain/presentation.ts";
import { isoTimeIn } from "../../domain/time.ts";
import type { ApiKey } from "../../domain/keys/api_key.ts";
import { type Catalogue, productOf } from "../../domain/meter/catalogue.ts";
import { keyUsageDays } from "../../domain/meter/key_usage.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { ShortChange } from "../components/change.tsx";
import { chartOf } from "../components/chart_props.ts";
import { Card } from "../components/card.tsx";
import { opens } from "../components/embed_bar.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { MetricChart } from "../components/metric_chart.tsx";
import { Quantity } from "../components/quantity.tsx";
import { LastUsage } from "../components/last_usage.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { Share } from "../components/share.tsx";
import { Cell, Row, Table } from "../components/table.tsx";
import type { PortalFrame } from "../layout.tsx";
import { exactTime, zoneCity, zoneWords } from "../text/time.ts";

interface KeyUsageProps {
  readonly frame: PortalFrame;
  readonly report: KeyReport | null;
}

const columns = [
  "Metric",
  { title: "Total", isNumber: true },
  "Share of all keys",
  { title: "Change", isNumber: true },
];
const days = `${keyUsageDays} days`;

/** @param props `lastRequestAt`: with the key or one that it replaced. */
export function KeyFacts(
  { frame, apiKey, report, lastRequestAt }: KeyUsageProps & { apiKey: ApiKey; lastRequestAt: string | null },
) {
  const main = report?.metrics.find(({ slug }) => slug === report.chart?.metric.slug);
  return (
    <section class="card" aria-label="Key details">
      <dl class="key-facts">
        <div>
          <dt>{`${main?.name ?? "Usage"}, ${days}`}</dt>
          <dd class="big">
            {report === null
              ? "–"
              : main === undefined
              ? "0"
              : <Quantity value={main.total} measure={main} />}
          </dd>
          <dd class="muted tiny">
            {report === null
              ? "Not available right now"
              : main === undefined
              ? "Nothing recorded"
              : main.change === null
              ? `None in the previous ${days}`
              : (
                <>
                  <ShortChange percent={main.change} />
                  {` vs previous ${days}`}
                </>
              )}
          </dd>
        </div>
        <div>
          <dt>{`${main?.name ?? "Usage"} today`}</dt>
          <dd class="big">
            {report?.chart
              ? <Quantity value={report.chart.today} measure={report.chart.metric} />
              : report === null
              ? "–"
              : "0"}
          </dd>
          <dd class="muted tiny">{`Since 00:00 ${zoneCity(presentation().timezone)}`}</dd>
        </div>
        <div>
          <dt>Last usage</dt>
          <dd class="big">
            {report === null ? "–" : <LastUsage at={report.lastUsageAt} now={frame.now} />}
          </dd>
          <dd class="muted tiny">With this key, or recorded for it</dd>
        </div>
        <div>
          <dt>Last request</dt>
          <dd class="big">
            <RelativeTime at={lastRequestAt} now={frame.now} />
          </dd>
          <dd class="muted tiny">{lastRequestAt && exactTime(Date.parse(lastRequestAt))}</dd>
        </div>
        <EndFact frame={frame} apiKey={apiKey} />
      </dl>
    </section>
  );
}

function EndFact({ frame, apiKey }: { frame: PortalFrame; apiKey: ApiKey }) {
  const { id, status, revokedAt, expiresAt } = apiKey;
  const end = status === "revoked" ? revokedAt : expiresAt;
  return (
    <div>
      <dt>{{ active: "Expires", expired: "Expired", revoked: "Revoked" }[status]}</dt>
      <dd class="big">{end === null ? "Never" : <RelativeTime at={end} now={frame.now} />}</dd>
      <dd class="muted tiny">
        {end && exactTime(Date.parse(end))}
        {status === "active" && !frame.isReadOnly && (
          <>
            {end && " · "}
            <a href={apiKeyHref(frame.base, id, "edit")}>{end === null ? "Set a date" : "Change"}</a>
          </>
        )}
      </dd>
    </div>
  );
}

/** The chart of one metric, and the totals of all. */
export function KeyUsage({ frame, apiKeyId, report }: KeyUsageProps & { apiKeyId: string }) {
  if (report === null) {
    return (
      <Card title="Usage">
        <p class="muted">Not available right now</p>
      </Card>
    );
  }
  const { chart, metrics, catalogue } = report;
  return (
    <>
      <MetricChart strip={null} chart={chart && keyChart(chart, { frame, apiKeyId, catalogue })}>
        <EmptyState title={`No usage in ${days}`} text="Usage with this key appears here immediately." />
      </MetricChart>
      {metrics.length > 0 && (
        <Card title="Totals by metric" aside={<span class="muted">{`Last ${days}`}</span>} flush>
          <Table label="Totals by metric" columns={columns} kind="breakdown">
            {metrics.map((metric) => (
              <Row>
                <Cell place="title">
                  <a
                    class="name"
                    href={`${apiKeyHref(frame.base, apiKeyId)}?metric=${encodeURIComponent(metric.slug)}`}
                    aria-current={metric.slug === chart?.metric.slug ? "true" : undefined}
                  >
                    {metric.name}
                  </a>
                </Cell>
                <Cell place="total" isNumber>
                  <Quantity value={metric.total} measure={metric} />
                </Cell>
                <Cell place="start">
                  <Share percent={metric.share} />
                </Cell>
                <Cell place="end" isNumber>
                  <ShortChange percent={metric.change} />
                </Cell>
              </Row>
            ))}
          </Table>
        </Card>
      )}
    </>
  );
}

function keyChart(
  { stack, windows, metric }: NonNullable<KeyReport["chart"]>,
  { frame, apiKeyId, catalogue }: { frame: PortalFrame; apiKeyId: string; catalogue: Catalogue },
) {
  const usageHref = (query: Record<string, string>) =>
    opens(frame, "usage")
      ? `${frame.base}/usage?${new URLSearchParams({ apiKey: apiKeyId, metric: metric.slug, ...query })}`
      : undefined;
  const { timezone } = presentation();
  return chartOf(stack, {
    measure: metric,
    by: "day",
    period: `last ${days}, ${zoneWords(timezone)}`,
    windows,
    timezone,
    now: frame.now,
    isSmall: true,
    series: (slug) => {
      const { name, color } = productOf(catalogue, slug);
      return { name, color, href: usageHref({ productSlug: slug }) };
    },
    hrefOf: ({ start }) => {
      const day = isoTimeIn(start, timezone).slice(0, 10);
      return usageHref({ range: "custom", from: day, to: day, window: "hour" });
    },
  });
}
