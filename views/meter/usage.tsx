// The usage page: an explorer, or the first steps before anything was recorded.
import { ButtonLink } from "../components/button.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { EnvironmentSwitch, TestNotice } from "../components/environment.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { PageHead } from "../components/page_head.tsx";
import { refresh } from "../components/refresh.ts";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { Explorer, type ExplorerProps } from "./explorer.tsx";
import { RejectedRequests } from "./outcomes.tsx";
import { environmentHref, usageHref } from "./usage_address.ts";

interface UsagePageProps extends ExplorerProps {
  readonly frame: PortalFrame;
  /** The form that adds an alert for the filtered usage; null for those who can't. */
  readonly newAlertHref: string | null;
  /** The last rejections, in the tab of outcomes. */
  readonly rejected: Pick<Parameters<typeof RejectedRequests>[0], "rejections" | "catalogue"> | null;
  /** Null if anything was ever recorded. `curl`: how members send the first record. */
  readonly empty: { readonly curl: string | null } | null;
}

export function usagePage(props: UsagePageProps): Page {
  const { frame, label, empty, csvHref, address, report } = props;
  const chosen = address.filters.environment;
  return (
    <PortalPage title="Usage" frame={frame} place="usage">
      <div id="head">
        <PageHead
          title="Usage"
          text={`${empty === null && label !== null ? `${label}. ` : ""}Records appear here immediately.`}
          keepsActions
        >
          {empty === null && (
            <>
              <EnvironmentSwitch chosen={chosen} hrefOf={environmentHref(address)} />
              {frame.embed !== null
                ? null
                : props.newAlertHref === null
                ? <ButtonLink href={`${frame.base}/alerts`}>Alerts</ButtonLink>
                : <ButtonLink href={props.newAlertHref}>Notify me when…</ButtonLink>}
              {csvHref && <CsvLink href={csvHref} />}
            </>
          )}
        </PageHead>
      </div>
      {empty === null
        ? (
          <>
            <TestNotice chosen={chosen} liveHref={environmentHref(address)(null)} />
            <Explorer
              {...props}
              live={{
                "hx-get": usageHref(address),
                "hx-select-oob": "#head:outerMorph",
                ...refresh("#live", (report?.chart?.windows.length ?? 0) > quickBarsMax ? 60 : 10),
              }}
            >
              {props.rejected && <RejectedRequests {...props.rejected} frame={frame} />}
            </Explorer>
          </>
        )
        : <NothingYet frame={frame} curl={empty.curl} />}
    </PortalPage>
  );
}

export function CsvLink({ href }: { href: string }) {
  return <ButtonLink href={href} isFile>Download CSV</ButtonLink>;
}

/** Pages with more bars are refreshed less often: they are slow to send and to draw. */
const quickBarsMax = 100;

function NothingYet({ frame: { base }, curl }: { frame: PortalFrame; curl: string | null }) {
  const text = curl === null
    ? "Usage appears here as soon as it is recorded."
    : "Create an API key, then record usage from a terminal.";
  return (
    <div class="card" hx-get={`${base}/usage`} {...refresh("#main", 10)}>
      <EmptyState title="No usage yet" text={text}>
        {curl !== null && (
          <>
            <CodeExample
              id="first-record"
              title="Record 1 request"
              samples={[{ language: "sh", code: curl }]}
            />
            <ButtonLink tone="primary" href={`${base}/api-keys/new`}>Create API key</ButtonLink>
          </>
        )}
      </EmptyState>
    </div>
  );
}
