// The first page of the operator console.
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** @returns The page. */
export function overviewPage({ frame }: { frame: PortalFrame }): Page {
  return (
    <PortalPage title="Overview" frame={frame} place="operator">
      <PageHead title="Overview" text="All organizations." />
    </PortalPage>
  );
}
