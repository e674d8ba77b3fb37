// The console's usage page: of all organizations, those with a plan, or one.
import { ButtonLink } from "../components/button.tsx";
import { EnvironmentSwitch, TestNotice } from "../components/environment.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, PortalPage } from "../layout.tsx";
import {
  Breakdown,
  CsvLink,
  environmentHref,
  NothingToShow,
  ReportChart,
  UsageFilterBar,
  type UsageFilterProps,
  type UsagePageProps,
} from "../meter/mod.ts";
import { organizationHref } from "../components/links.ts";

/** The keys of the `report` are organizations, unless one is chosen. */
type OperatorUsageProps =
  & UsageFilterProps
  & Pick<UsagePageProps, "frame" | "label" | "report" | "csvHref" | "problem">
  & {
    /** The organization that the page is about. */
    readonly chosen: { readonly id: string; readonly name: string } | null;
    readonly plan: { readonly name: string } | null;
  };

export function operatorUsagePage(props: OperatorUsageProps): Page {
  const { frame, label, report, csvHref, address, problem, chosen, plan } = props;
  const none = label === null ? null : "No usage in this range. Choose another range or remove filters.";
  const of = chosen?.name ?? (plan === null ? "All organizations" : `Organizations on the ${plan.name} plan`);
  return (
    <PortalPage title="Usage" frame={frame} place="operator/usage">
      <PageHead title="Usage" text={`${of}.${label === null ? "" : ` ${label}.`}`} keepsActions>
        <EnvironmentSwitch chosen={address.filters.environment} hrefOf={environmentHref(address)} />
        {chosen && <ButtonLink href={organizationHref(chosen.id)}>View organization</ButtonLink>}
        {csvHref && <CsvLink href={csvHref} />}
      </PageHead>
      <TestNotice chosen={address.filters.environment} liveHref={environmentHref(address)(null)} />
      <UsageFilterBar {...props} />
      {report === null
        ? <NothingToShow problem={problem ?? none} address={address} />
        : <ReportChart report={report} address={address} />}
      {report?.chart && (
        <>
          <Breakdown {...report.keys} />
          <Breakdown {...report.products} />
          {report.values.map((values) => <Breakdown {...values} />)}
        </>
      )}
    </PortalPage>
  );
}
