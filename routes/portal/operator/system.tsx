// The console's page about the running service.
import { groupDigits } from "../../../domain/number_text.ts";
import { isoTime } from "../../../domain/time.ts";
import { Card } from "../../../views/components/card.tsx";
import { Facts } from "../../../views/components/facts.tsx";
import { PageHead } from "../../../views/components/page_head.tsx";
import { RelativeTime } from "../../../views/components/relative_time.tsx";
import { BrandPreview } from "../../../views/console/brand_preview.tsx";
import { PortalPage } from "../../../views/layout.tsx";
import { bytesWords, healthOf } from "../../../views/console/health.ts";
import { HealthList } from "../../../views/console/overview.tsx";
import type { App } from "../../env.ts";
import { readSystemState } from "../../system_state.ts";
import { mountPage } from "../noun_pages.ts";
import type { PortalParts } from "../page.ts";
import { consolePages } from "./page.ts";

export function operatorSystemPages(app: App, parts: PortalParts): void {
  mountPage(consolePages(app, parts, "operator/system"), "/operator/system", async (_c, { frame, place }) => {
    const state = await readSystemState(parts);
    const { version, deno, startedAt, memoryBytes, threads, reports } = state;
    const facts = [
      { label: "Version", value: version },
      { label: "Deno", value: deno },
      { label: "Started", value: <RelativeTime at={isoTime(startedAt)} now={frame.now} /> },
      { label: "HTTP threads", value: groupDigits(threads) },
      { label: "Memory", value: bytesWords(memoryBytes) },
      { label: "Reports", value: `${reports.running} running, ${reports.waiting} waiting` },
      { label: "Address", value: parts.config.baseUrl.origin },
    ];
    return (
      <PortalPage title="System" frame={frame} place={place}>
        <PageHead
          title="System"
          text="The instance that sent this page. Each instance on the same database counts separately."
        />
        <Card title="Instance" flush>
          <Facts facts={facts} />
        </Card>
        <Card title="Brand" flush>
          <BrandPreview brand={frame.assets.brand} />
        </Card>
        <Card title="Health" flush>
          <HealthList health={healthOf(state, frame)} />
        </Card>
      </PortalPage>
    );
  });
}
