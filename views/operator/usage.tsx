// The console's usage page: all organizations together, products, and each organization.
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { CsvLink, NothingToShow, ReportChart, type UsageReport } from "../meter/usage.tsx";
import { UsageFilterBar, type UsageFilterProps } from "../meter/usage_filters.tsx";
import { Breakdown } from "../meter/usage_tables.tsx";

interface OperatorUsageProps extends UsageFilterProps {
  readonly frame: PortalFrame;
  /** The range in words; null if it is invalid. */
  readonly label: string | null;
  /** Its keys are organizations. Null if it can't be shown: a field is invalid, there is no usage, or `problem` says why. */
  readonly report: UsageReport | null;
  /** The numbers of the chart as a file; null without a report. */
  readonly csvHref: string | null;
  readonly problem: string | null;
}

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
