// The page of an organization's single sign-on: what to enter at the provider, the provider, and the domains.
import type { CompanyDomain, CompanySignIn } from "../../domain/people/company_sign_in.ts";
import { countOf } from "../../domain/number_text.ts";
import { ActionsCard, type PageAction } from "../components/actions_card.tsx";
import { Badge } from "../components/badge.tsx";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type Fact, Facts } from "../components/facts.tsx";
import { ItemTable } from "../components/item_table.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

export const companySignInPath = "/organization/single-sign-on";
const home = `/portal${companySignInPath}`;
export const companySignInLink = { href: home, label: "Single sign-on" };

/** Returns the address of the page that verifies or removes a domain. */
export function companyDomainHref(domain: string, action: "verify" | "remove"): string {
  return `${home}/domains/${domain}/${action}`;
}

export function companySignInPage(
  frame: PortalFrame,
  { sso, flash }: { sso: CompanySignIn; flash: string | null },
): Page {
  const { provider, domains } = sso;
  return (
    <PortalPage title="Single sign-on" frame={frame} place="organization">
      <PageHead
        back={{ href: "/portal/organization", label: "Organization" }}
        title="Single sign-on"
        text="People with an email address of your domains sign in with your own identity provider, and become members."
      >
        <ButtonLink tone={provider === null ? "primary" : "plain"} href={`${home}/edit`}>
          {provider === null ? "Set up provider" : "Edit provider"}
        </ButtonLink>
      </PageHead>
      <Notice tone="done" text={flash} />
      <Card title="For your provider" flush>
        <Facts
          facts={[
            { label: "Redirect URI", value: <code class="pick">{sso.redirectUri}</code> },
            {
              label: "Sign-in address for your people",
              value: <code class="pick">{sso.signInUrl}</code>,
            },
          ]}
        />
      </Card>
      {provider !== null && (
        <Card title="Provider" aside={<SignInBadge {...provider} />} flush>
          <Facts facts={providerFacts(sso, frame)} />
        </Card>
      )}
      <Domains domains={domains} />
      {provider !== null && <ActionsCard title="Actions" actions={actionsOf(sso)} />}
    </PortalPage>
  );
}

export function SignInBadge({ enforced, testedAt }: { enforced: boolean; testedAt: string | null }) {
  if (enforced) return <Badge tone="on">Required</Badge>;
  return testedAt === null ? <Badge tone="soon">Not tested</Badge> : <Badge tone="off">Optional</Badge>;
}

export function providerFacts(
  { provider, domains }: CompanySignIn,
  { now }: Pick<PortalFrame, "now">,
): Fact[] {
  if (provider === null) return [];
  const verified = domains.filter(({ verifiedAt }) => verifiedAt !== null).map(({ domain }) => domain);
  return [
    { label: "Issuer", value: <code class="pick">{provider.issuer}</code> },
    { label: "Client ID", value: <code class="pick">{provider.clientId}</code> },
    { label: "Role of new members", value: roleWords[provider.role] },
    {
      label: "Sessions end after",
      value: provider.sessionMaxDays === null ? "The default time" : countOf(provider.sessionMaxDays, "day"),
    },
    { label: "Verified domains", value: verified.length === 0 ? "None" : verified.join(", ") },
    {
      label: "Last test",
      value: provider.testedAt === null
        ? "Not with the current settings"
        : <DayTime at={provider.testedAt} now={now} />,
    },
    ...provider.hasPendingSecret ? [{ label: "New client secret", value: "Not used until you test it" }] : [],
  ];
}

function Domains({ domains }: { domains: readonly CompanyDomain[] }) {
  return (
    <Card
      title="Domains"
      aside={<ButtonLink tone="quiet" href={`${home}/domains/new`}>Add domain</ButtonLink>}
      flush
    >
      {domains.length === 0
        ? (
          <EmptyState
            title="No domains yet"
            text="Add the domains of your email addresses, and prove them in DNS."
          />
        )
        : (
          <ItemTable
            label="Domains"
            items={domains}
            columns={[
              { title: "Domain", in: "title", cell: ({ domain }) => <bdi>{domain}</bdi> },
              {
                title: "State",
                in: "state",
                cell: ({ verifiedAt, missingSince }) =>
                  verifiedAt === null
                    ? <Badge tone="soon">Not verified</Badge>
                    : missingSince !== null
                    ? <Badge tone="soon">Record missing</Badge>
                    : <Badge tone="on">Verified</Badge>,
              },
            ]}
            actions={({ domain, verifiedAt }) => [
              ...verifiedAt === null
                ? [{ href: companyDomainHref(domain, "verify"), label: "Verify", about: domain }]
                : [],
              {
                href: companyDomainHref(domain, "remove"),
                label: "Remove",
                about: domain,
                tone: "quiet-destroy" as const,
              },
            ]}
          />
        )}
    </Card>
  );
}

function actionsOf({ provider, domains }: CompanySignIn): PageAction[] {
  const hasDomain = domains.some(({ verifiedAt }) => verifiedAt !== null);
  const canRequire = provider?.testedAt !== null && hasDomain;
  return [
    {
      title: "Test",
      text: hasDomain
        ? provider?.hasPendingSecret
          ? "Sign in at your provider with the new client secret. If that works, it replaces the current one."
          : "Sign in at your provider, and see what it says about you. Nothing else changes."
        : "Verify a domain first: a test needs an address of one.",
      href: hasDomain ? `${home}/test` : null,
      label: "Test",
    },
    provider?.enforced
      ? {
        title: "Stop requiring",
        text: "People can sign in with passwords, passkeys and other providers again.",
        href: `${home}/stop`,
        label: "Stop requiring",
        tone: "plain-destroy",
      }
      : {
        title: "Require",
        text: canRequire
          ? "People with addresses of your verified domains sign in only with your provider."
          : "Test the provider with its current settings first.",
        href: canRequire ? `${home}/require` : null,
        label: "Require",
      },
    {
      title: "Remove",
      text: "Removes the provider. Your domains stay.",
      href: `${home}/remove`,
      label: "Remove",
      tone: "plain-destroy",
    },
  ];
}
