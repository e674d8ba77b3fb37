// The console's usage page: totals of all organizations, the busiest ones and products.
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Change } from "../components/change.tsx";
import { Chart, ChartLegend, ChartTable } from "../components/chart.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Figures } from "../components/figures.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import type { UsageReport } from "../meter/usage.tsx";
import { UsageFilterBar, type UsageFilterProps } from "../meter/usage_filters.tsx";
import { type KeyUsageProps, KeyUsageTable } from "../meter/usage_tables.tsx";
import { organizationsHref } from "./links.ts";

/** What the page shows. */
export interface OperatorUsageProps extends UsageFilterProps {
  readonly frame: PortalFrame;
  /** The range in words; null if it is invalid. */
  readonly label: string | null;
  /** Its keys are organizations. Null if it can't be shown: a field is invalid, there is no usage, or `problem` says why. */
  readonly report: UsageReport | null;
  readonly products: KeyUsageProps | null;
  readonly problem: string | null;
}

const customerWords = { label: "Top customers", column: "Organization", other: "other organization" };
const productWords = { label: "Products", column: "Product", other: "other product" };

/** @returns The page. */
export function operatorUsagePage(props: OperatorUsageProps): Page {
  const { frame, label, report, problem } = props;
  return (
    <PortalPage title="Usage" frame={frame} place="operator/usage">
      <PageHead title="Usage" text={`All organizations.${label === null ? "" : ` ${label}.`}`}>
        {report && <ButtonLink href={report.csvHref} isFile>Download CSV</ButtonLink>}
      </PageHead>
      <UsageFilterBar {...props} />
      {report === null
        ? (
          <div class="card">
            <EmptyState
              title={label === null || problem !== null ? "Nothing to show" : "No usage in this range"}
              text={problem ??
                (label === null ? "Fix the fields marked above." : "Choose another range or remove filters.")}
            />
          </div>
        )
        : <Report {...props} report={report} />}
    </PortalPage>
  );
}

function Report({ report, products }: OperatorUsageProps & { report: UsageReport }) {
  const { figures, chart, keys } = report;
  return (
    <>
      <Figures
        figures={[
          { label: figures.metricLabel, number: figures.sum, note: <Change {...figures.change} /> },
          { label: "Records", number: figures.recordCount },
          { label: `Busiest ${chart.by}`, number: figures.busiest?.value, note: figures.busiest?.label },
          { label: "Active organizations", number: figures.activeKeys },
        ]}
      />
      <Card title={`Usage by ${chart.by}`} aside={<ChartLegend series={chart.series} />}>
        <Chart {...chart} />
        <ChartTable {...chart} />
      </Card>
      <Card
        title="Top customers"
        aside={<a class="small" href={organizationsHref}>All organizations</a>}
        flush
      >
        <KeyUsageTable {...keys} isSmall of={customerWords} />
      </Card>
      {products && (
        <Card title="Products" flush>
          <KeyUsageTable {...products} isSmall of={productWords} />
        </Card>
      )}
    </>
  );
}
