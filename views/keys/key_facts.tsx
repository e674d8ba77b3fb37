// The facts at the head of a key's page.
import { presentation } from "../../domain/presentation.ts";
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { apiKeyHref } from "../components/key_name.tsx";
import { Quantity } from "../components/quantity.tsx";
import { LastUsage } from "../components/last_usage.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import type { PortalFrame } from "../layout.tsx";
import { exactTime, zoneCity } from "../text/time.ts";

/** @param props `lastRequestAt`: with the key or one that it replaced. */
export function KeyFacts({ frame, apiKey, report, lastRequestAt }: {
  frame: PortalFrame;
  apiKey: ApiKey;
  report: KeyReport | null;
  lastRequestAt: string | null;
}) {
  return (
    <section class="card" aria-label="Key details">
      <dl class="key-facts">
        <div>
          <dt>{`${report?.today?.metric.name ?? "Usage"} today`}</dt>
          <dd class="big">
            {report?.today
              ? <Quantity value={report.today.total} measure={report.today.metric} />
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
