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
import { opens } from "../components/embed_bar.tsx";
import { apiKeyHref, managesAllKeys } from "../components/key_name.tsx";
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

interface Props extends Pick<OutcomeSummary, "rejections"> {
  readonly frame: PortalFrame;
  readonly catalogue: Catalogue;
}

/** The last rejections of a key. `budget`: the ids of limits that the page shows. */
export function KeyRejections(props: Props & { budget: ReadonlySet<string> }) {
  const { frame, catalogue, budget, rejections } = props;
  if (rejections.length === 0) return null;
  const limitsHref = frame.embed === null ? `${frame.base}/${frame.isConsole ? "limits" : "billing"}` : null;
  const about = ({ limit, message }: Rejection) => {
    if (limit === null) return message;
    const href = budget.has(limit.limitId) ? null : limitsHref;
    return <LimitText limit={limit} catalogue={catalogue} href={href} />;
  };
  return (
    <Card title="Last rejected requests" flush>
      <RejectionList {...props} about={about} />
    </Card>
  );
}

/** The last rejections of an organization with their keys and, if `counts` are given, the number of each outcome. */
export function RejectedRequests({ counts, ...props }: Props & Partial<Pick<OutcomeSummary, "counts">>) {
  const { catalogue, frame } = props;
  const about = ({ limit, message, apiKey: { id, name } }: Rejection) => (
    <>
      {opens(frame, "keys") && (frame.isConsole || managesAllKeys(frame))
        ? (
          <a href={apiKeyHref(frame.base, id)}>
            <bdi>{name}</bdi>
          </a>
        )
        : <bdi>{name}</bdi>}
      {(limit ?? message) && " · "}
      {limit === null ? message : <LimitText limit={limit} catalogue={catalogue} href={null} />}
    </>
  );
  const rejected = counts?.filter(({ outcome }) => isRejection(outcome));
  return (
    <Card
      title={counts === undefined ? "Last rejected requests" : "Rejected requests"}
      aside={<span class="muted tiny">{`Last ${keyUsageDays} days`}</span>}
      flush
    >
      {counts === undefined && props.rejections.length > 0 ? null : (
        <div class="body">
          {rejected === undefined || rejected.length === 0
            ? <p class="muted small">{counts === null ? "Not available right now" : "None"}</p>
            : (
              <dl class="details">
                {rejected.map(({ outcome, count }) => (
                  <>
                    <dt>{outcomeWords[outcome]}</dt>
                    <dd>{groupDigits(count)}</dd>
                  </>
                ))}
              </dl>
            )}
        </div>
      )}
      <RejectionList {...props} about={about} />
    </Card>
  );
}

function RejectionList({ rejections, frame, about }: Props & { about: (rejection: Rejection) => Child }) {
  if (rejections.length === 0) return null;
  return (
    <ul class="items plain ruled" aria-label="Recent rejections">
      {rejections.map((rejection) => (
        <li>
          <div>
            <span class="name">{outcomeWords[rejection.outcome]}</span>
            <span class="second">
              {about(rejection)} · <code class="pick tiny">{rejection.requestId}</code>
            </span>
          </div>
          <MomentTime at={rejection.time} now={frame.now} />
        </li>
      ))}
    </ul>
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
