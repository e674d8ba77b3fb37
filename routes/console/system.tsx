// The console's page about the running service.
import { groupDigits } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import type { BrandAssets } from "../../views/assets.ts";
import { BrandMark } from "../../views/components/brand.tsx";
import { Card } from "../../views/components/card.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { RelativeTime } from "../../views/components/relative_time.tsx";
import { bytesWords, healthOf } from "../../views/console/health.ts";
import { HealthList } from "../../views/console/overview.tsx";
import { PortalPage } from "../../views/layout.tsx";
import type { App } from "../env.ts";
import { mountPage } from "../portal/noun_pages.ts";
import { consolePages } from "../portal/operator_page.ts";
import type { PortalParts } from "../portal/page.ts";
import { readSystemState } from "../system_state.ts";

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

/** The brand on light and on dark pages, side by side. */
function BrandPreview({ brand }: { brand: BrandAssets }) {
  return (
    <div class="brand-samples">
      {(["light", "dark"] as const).map((scheme) => (
        <div class={`brand-sample ${scheme}`} role="group" aria-label={`Brand in ${scheme} mode`}>
          <span class="brand">
            <BrandMark brand={brand} />
          </span>
          <p>
            Pages have <span class="sample-link">links</span> and <span class="sample-soft">highlights</span>
            {" "}
            in your color.
          </p>
          <span class="button primary">Button</span>
        </div>
      ))}
    </div>
  );
}
