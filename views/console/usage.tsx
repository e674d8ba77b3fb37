// The console's usage page: of all organizations, those with a plan, or one.
import { ButtonLink } from "../components/button.tsx";
import { EnvironmentSwitch, TestNotice } from "../components/environment.tsx";
import { organizationHref } from "../components/links.ts";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { CsvLink, environmentHref, Explorer, type ExplorerProps, RejectedRequests } from "../meter/mod.ts";

interface OperatorUsageProps extends ExplorerProps {
  readonly frame: PortalFrame;
  /** The organization that the page is about. */
  readonly chosen: { readonly id: string; readonly name: string } | null;
  readonly plan: { readonly name: string } | null;
  /** The last rejections of the organization, in the tab of outcomes. */
  readonly rejected: Omit<Parameters<typeof RejectedRequests>[0], "counts"> | null;
}

export function operatorUsagePage(props: OperatorUsageProps): Page {
  const { frame, label, csvHref, address, chosen, plan } = props;
  const { environment } = address.filters;
  const of = chosen?.name ?? (plan === null ? "All organizations" : `Organizations on the ${plan.name} plan`);
  return (
    <PortalPage title="Usage" frame={frame} place="operator/usage">
      <PageHead title="Usage" text={`${of}.${label === null ? "" : ` ${label}.`}`} keepsActions>
        <EnvironmentSwitch chosen={environment} hrefOf={environmentHref(address)} />
        {chosen && <ButtonLink href={organizationHref(chosen.id)}>View organization</ButtonLink>}
        {csvHref && <CsvLink href={csvHref} />}
      </PageHead>
      <TestNotice chosen={environment} liveHref={environmentHref(address)(null)} />
      <Explorer {...props}>
        {props.rejected && <RejectedRequests {...props.rejected} />}
      </Explorer>
    </PortalPage>
  );
}
