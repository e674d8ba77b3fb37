// Outcomes of requests with API keys: counts, and the last rejections.
import type { Child } from "hono/jsx";
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import { keyUsageDays } from "../../domain/meter/key_usage.ts";
import {
  isRejection,
  type Outcome,
  type RejectingLimit,
  type Rejection,
} from "../../domain/meter/outcome.ts";
import { groupDigits } from "../../domain/number_text.ts";
import { Card } from "../components/card.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { MomentTime } from "../components/relative_time.tsx";
import type { PortalFrame } from "../layout.tsx";
import { limitName } from "../text/limit.ts";
import { outcomeWords } from "../text/outcome.ts";

export interface OutcomeSummary {
  /** Of the last 30 days; null if unavailable. */
  readonly counts: readonly { readonly outcome: Outcome; readonly count: number }[] | null;
  /** The newest first. */
  readonly rejections: readonly Rejection[];
}

type Props = OutcomeSummary & { readonly frame: PortalFrame; readonly catalogue: Catalogue };

/** On the page of a key. `budget`: the ids of limits that the page shows. */
export function KeyRequests(props: Props & { budget: ReadonlySet<string> }) {
  const { frame, catalogue, budget } = props;
  const limitsHref = frame.embed === null ? `${frame.base}/${frame.isConsole ? "limits" : "billing"}` : null;
  const about = ({ limit, message }: Rejection) => {
    if (limit === null) return message;
    const href = budget.has(limit.limitId) ? null : limitsHref;
    return <LimitText limit={limit} catalogue={catalogue} href={href} />;
  };
  return <OutcomeCard {...props} title="Requests by outcome" about={about} />;
}

/** On the page of an organization: without the requests that were accepted, and with the keys of the others. */
export function RejectedRequests(props: Props) {
  const { counts, catalogue, frame } = props;
  const rejected = counts && counts.filter(({ outcome }) => isRejection(outcome));
  const about = ({ limit, message, apiKey: { id, name } }: Rejection) => (
    <>
      <a href={apiKeyHref(frame.base, id)}>
        <bdi>{name}</bdi>
      </a>
      {(limit ?? message) && " · "}
      {limit === null ? message : <LimitText limit={limit} catalogue={catalogue} href={null} />}
    </>
  );
  return <OutcomeCard {...props} counts={rejected} title="Rejected requests" about={about} />;
}

function OutcomeCard({ counts, rejections, frame, title, about }: Props & {
  title: string;
  about: (rejection: Rejection) => Child;
}) {
  return (
    <Card title={title} aside={<span class="muted tiny">{`Last ${keyUsageDays} days`}</span>} flush>
      <div class="body">
        {counts === null || counts.length === 0
          ? <p class="muted small">{counts === null ? "Not available right now" : "None"}</p>
          : (
            <dl class="details">
              {counts.map(({ outcome, count }) => (
                <>
                  <dt>{outcomeWords[outcome]}</dt>
                  <dd>{groupDigits(count)}</dd>
                </>
              ))}
            </dl>
          )}
      </div>
      {rejections.length > 0 && (
        <ul class="items plain ruled" aria-label="Recent rejections">
          {rejections.map((rejection) => (
            <li>
              <div>
                <span class="name">{outcomeWords[rejection.outcome]}</span>
                <span class="second">{about(rejection)}</span>
                <code class="pick tiny">{rejection.requestId}</code>
              </div>
              <MomentTime at={rejection.time} now={frame.now} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function LimitText(
  { limit, catalogue, href }: { limit: RejectingLimit; catalogue: Catalogue; href: string | null },
) {
  const name = limitName(limit, catalogue);
  return (
    <>
      {href === null ? name : <a href={href}>{name}</a>}
      {limit.value !== undefined && (
        <>
          {": "}
          <bdi>{limit.value}</bdi>
        </>
      )}
    </>
  );
}
