// The console's page about the running service.
import { Card } from "../components/card.tsx";
import { type Fact, Facts } from "../components/facts.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import type { Health } from "./health.ts";
import { HealthList } from "./overview.tsx";

export interface SystemPageProps {
  readonly frame: PortalFrame;
  readonly facts: readonly Fact[];
  readonly health: readonly Health[];
}

export function systemPage({ frame, facts, health }: SystemPageProps): Page {
  return (
    <PortalPage title="System" frame={frame} place="operator/system">
      <PageHead
        title="System"
        text="The instance that sent this page. Other instances on the same database count for themselves."
      />
      <Card title="Instance" flush>
        <Facts facts={facts} />
      </Card>
      <Card title="Health" flush>
        <HealthList health={health} />
      </Card>
    </PortalPage>
  );
}
