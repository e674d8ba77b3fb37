// An organization's limits, on its page: its plan's values, its overrides, and its usage.
import { Used } from "../components/used.tsx";
import { organizationLimitsHref } from "../components/links.ts";
import type { LimitMailReach } from "../../domain/outbox/limit_mail_reach.ts";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import { currentUse } from "../../domain/meter/usage_grant.ts";
import type { LimitScope, LimitStanding, NewLimit } from "../../domain/meter/usage_limit.ts";
import type { OperatedOrganization } from "../../domain/console/organization.ts";
import {
  type Plan,
  planNumberNames,
  type PlanNumbers,
  type PlanOverrides,
} from "../../domain/billing/plan.ts";
import { FeatureList } from "../components/feature_list.tsx";
import { ListCard } from "../components/list_card.tsx";
import { ResetTime } from "../components/relative_time.tsx";
import { Cell, Name, Row, Table } from "../components/table.tsx";
import { limitName, limitQuantity, modeWords, notifyText } from "../text/limit.ts";
import { missedText } from "../text/limit_mails.ts";
import { numberText, numberWords } from "../text/plan.ts";

interface OrganizationLimitsProps {
  readonly organization: OperatedOrganization;
  readonly plan: Plan;
  readonly standings: readonly LimitStanding[];
  /** The people who get emails about limits; null where none are sent. */
  readonly mailReach: LimitMailReach | null;
  /** The names of products and metrics. */
  readonly catalogue: Catalogue;
  readonly now: number;
}

export function OrganizationLimits(
  { organization, plan, standings, mailReach, catalogue, now }: OrganizationLimitsProps,
) {
  const missed = mailReach && standings.length > 0 ? missedText(mailReach) : null;
  const { id, overrides } = organization;
  const columns = ["Limit", ...valueColumns, "Used"];
  return (
    <ListCard label="Limits">
      <Table label="Limits" columns={columns} isSmall>
        {limitRows(plan.limits, overrides.limits).map((row) => (
          <LimitRow
            {...row}
            organizationId={id}
            standing={standings.find((one) => limitName(one) === limitName(row.scope))}
            catalogue={catalogue}
            now={now}
          />
        ))}
        {planNumberNames.map((name) => (
          <NumberRow name={name} plan={plan} overrides={overrides} used={usedOf(organization, name)} />
        ))}
      </Table>
      {plan.features.length > 0 && (
        <div class="body ruled">
          <p class="muted small">
            The plan includes <FeatureList features={plan.features} />.
          </p>
        </div>
      )}
      {missed && (
        <div class="body ruled">
          <p class="muted small">{missed}</p>
        </div>
      )}
    </ListCard>
  );
}

const valueColumns = [
  { title: "Plan", isNumber: true, isOptional: true },
  { title: "Override", isNumber: true, isOptional: true },
];

interface LimitRowProps {
  readonly scope: LimitScope;
  readonly fromPlan: (NewLimit & { readonly id: string }) | undefined;
  readonly override: NewLimit | undefined;
}

/** Pairs the limits of the plan and of the organization that count the same. */
function limitRows(plan: Plan["limits"], overrides: PlanOverrides["limits"]): readonly LimitRowProps[] {
  const names = new Set(plan.map((limit) => limitName(limit)));
  return [
    ...plan.map((limit) => ({
      scope: limit,
      fromPlan: limit,
      override: overrides.find((one) => limitName(one) === limitName(limit)),
    })),
    ...overrides.filter((limit) => !names.has(limitName(limit))).map((limit) => ({
      scope: limit,
      fromPlan: undefined,
      override: limit,
    })),
  ];
}

function LimitRow(
  { scope, fromPlan, override, organizationId, standing, catalogue, now }: LimitRowProps & {
    organizationId: string;
    standing: LimitStanding | undefined;
    catalogue: Catalogue;
    now: number;
  },
) {
  const { mode, notifyAt, quantity } = override ?? fromPlan ?? {};
  const name = limitName(scope, catalogue);
  const href = organizationLimitsHref(organizationId, override === undefined ? fromPlan?.id : undefined);
  const text = (limit: NewLimit | undefined) => quantityText(limit, catalogue);
  return (
    <Row>
      <Cell place="title">
        <Name text={name} />
        <div class="muted tiny">
          {mode && modeWords[mode]}
          {typeof quantity === "number" && ` · notifies at ${notifyText(notifyAt)}`}
          {standing?.resetsAt && (
            <>
              {" · resets "}
              <ResetTime at={standing.resetsAt} now={now} />
            </>
          )}
        </div>
        <a class="tiny" href={href}>
          {override === undefined ? "Override" : "Edit"}
          <span class="unseen">{` ${name}`}</span>
        </a>
      </Cell>
      <Cell label="Plan" isNumber isOptional>{text(fromPlan)}</Cell>
      <Cell label="Override" isNumber isOptional>{text(override)}</Cell>
      <Cell label="Used">
        {standing === undefined ? "–" : (
          <Used
            used={currentUse(standing).used}
            allowed={currentUse(standing).quantity}
            measure={scope.metric === null ? undefined : metricOf(catalogue, scope.metric)}
          />
        )}
      </Cell>
    </Row>
  );
}

function quantityText(limit: NewLimit | undefined, catalogue: Catalogue): string {
  if (limit === undefined) return "–";
  const { quantity, metric } = limit;
  return quantity === null ? "No limit" : limitQuantity({ quantity, metric }, catalogue);
}

function NumberRow(
  { name, plan, overrides, used }: {
    name: keyof PlanNumbers;
    plan: Plan;
    overrides: PlanOverrides;
    used: number | null;
  },
) {
  const override = overrides[name];
  const allowed = override ?? plan[name];
  return (
    <Row>
      <Cell place="title" value={<Name text={numberWords[name]} />} />
      <Cell label="Plan" isNumber isOptional>{numberText(name, plan[name])}</Cell>
      <Cell label="Override" isNumber isOptional>{override === null ? "–" : numberText(name, override)}</Cell>
      <Cell label="Used">
        {used === null ? "–" : <Used used={used} allowed={allowed} />}
      </Cell>
    </Row>
  );
}

function usedOf(organization: OperatedOrganization, name: keyof PlanNumbers): number | null {
  if (name === "apiKeysMax") return organization.activeApiKeyCount;
  return name === "membersMax" ? organization.memberCount : null;
}
