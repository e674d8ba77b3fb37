// The page of one API key: what it is, what it may use, and what can be done with it.
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { ButtonLink } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { type Fact, Facts } from "../components/facts.tsx";
import { LimitMeters } from "../components/limit_meters.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page_head.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import {
  apiKeyHref,
  type ApiKeyRow,
  ApiKeyStatus,
  creatorText,
  ExpiryText,
  permissionsText,
  RecordsText,
} from "./api_key_table.tsx";

/** What the page shows. */
export interface ApiKeyPageProps {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKeyRow;
  /** Of the organization, then of the budget; null when they are not available. */
  readonly limits: readonly LimitStanding[] | null;
  readonly canSetBudget: boolean;
  /** What was just done. */
  readonly flash: string | null;
}

/** @returns The page of a key. */
export function apiKeyPage(props: ApiKeyPageProps): Page {
  const { frame, apiKey, limits, flash } = props;
  const { id, name, status } = apiKey;
  const ofBudget = new Set(apiKey.budget.map(({ id }) => id));
  const others = limits?.filter(({ limitId }) => !ofBudget.has(limitId)) ?? [];
  return (
    <PortalPage title={name} frame={frame} place="api-keys">
      <PageHead
        back={{ href: "/portal/api-keys", label: "API keys" }}
        title="{name}"
        name={name}
        text={<ApiKeyStatus apiKey={apiKey} now={frame.now} />}
      >
        <span class="buttons">
          <ButtonLink href={`/portal/usage?apiKey=${encodeURIComponent(id)}`}>View usage</ButtonLink>
          {status === "active" && (
            <>
              <ButtonLink href={apiKeyHref(id, "edit")}>Edit</ButtonLink>
              <ButtonLink href={apiKeyHref(id, "rotate")}>Rotate</ButtonLink>
              <ButtonLink tone="plain-destroy" href={apiKeyHref(id, "revoke")}>Revoke</ButtonLink>
            </>
          )}
        </span>
      </PageHead>
      <Notice tone="done" text={flash} />
      <div class="card">
        <Facts facts={factsOf(apiKey, frame.now)} />
      </div>
      <Budget {...props} />
      {others.length > 0 && (
        <Card title="Organization limits" aside={<span class="tiny muted">All keys added up</span>}>
          <LimitMeters limits={others} now={frame.now} />
        </Card>
      )}
    </PortalPage>
  );
}

function factsOf(apiKey: ApiKeyRow, now: number): Fact[] {
  return [
    { label: "Key", value: <code class="key">{apiKey.keyPrefix}</code> },
    { label: "Records, 30 days", value: <RecordsText apiKey={apiKey} /> },
    { label: "Last used", value: <RelativeTime at={apiKey.lastUsedAt} now={now} /> },
    { label: "Expires", value: <ExpiryText apiKey={apiKey} now={now} /> },
    {
      label: "Created",
      value: (
        <>
          <DayTime at={apiKey.createdAt} now={now} />
          {` ${creatorText(apiKey)}`}
        </>
      ),
    },
    { label: "Permissions", value: permissionsText(apiKey.permissions) },
  ];
}

function Budget({ frame, apiKey, limits, canSetBudget }: ApiKeyPageProps) {
  const ofBudget = new Set(apiKey.budget.map(({ id }) => id));
  const isEmpty = ofBudget.size === 0;
  const canChange = canSetBudget && apiKey.status === "active";
  return (
    <Card
      title="Budget"
      aside={canChange && !isEmpty && <a class="small" href={apiKeyHref(apiKey.id, "budget")}>Change</a>}
      flush={isEmpty}
    >
      {isEmpty
        ? (
          <EmptyState
            title="No budget"
            text="A budget limits what this key can use, within the limits of your organization."
          >
            {canChange && <ButtonLink href={apiKeyHref(apiKey.id, "budget")}>Set budget</ButtonLink>}
          </EmptyState>
        )
        : limits === null
        ? <p class="muted">Not available right now</p>
        : <LimitMeters limits={limits.filter(({ limitId }) => ofBudget.has(limitId))} now={frame.now} />}
    </Card>
  );
}
