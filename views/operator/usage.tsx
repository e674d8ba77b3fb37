// The console's usage page: all organizations together, products, and each organization.
import { PageHead } from "../components/page_head.tsx";
import { type Page, PortalPage } from "../layout.tsx";
import { CsvLink, NothingToShow, ReportChart, type UsagePageProps } from "../meter/usage.tsx";
import { UsageFilterBar, type UsageFilterProps } from "../meter/usage_filters.tsx";
import { Breakdown } from "../meter/usage_tables.tsx";

/** The keys of the `report` are organizations. */
type OperatorUsageProps =
  & UsageFilterProps
  & Pick<UsagePageProps, "frame" | "label" | "report" | "csvHref" | "problem">;

export function operatorUsagePage(props: OperatorUsageProps): Page {
  const { frame, label, report, csvHref, address, problem } = props;
  const none = label === null ? null : "No usage in this range. Choose another range or remove filters.";
  return (
    <PortalPage title="Usage" frame={frame} place="operator/usage">
      <PageHead
        title="Usage"
        text={`All organizations.${label === null ? "" : ` ${label}.`}`}
        keepsActions
      >
        {csvHref && <CsvLink href={csvHref} />}
      </PageHead>
      <UsageFilterBar {...props} />
      {report === null
        ? <NothingToShow problem={problem ?? none} />
        : <ReportChart report={report} address={address} hasStacks={false} />}
      {report?.chart && (
        <div class="columns even">
          <Breakdown {...report.products} />
          <Breakdown {...report.keys} />
        </div>
      )}
    </PortalPage>
  );
}
