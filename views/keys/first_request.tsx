// The card that waits for the first request with a new key. It updates by itself; without scripts, its link does the same.
import { presentation } from "../../domain/presentation.ts";
import { STATUS_CODES } from "node:http";
import type { ApiKey, LastRequest } from "../../domain/keys/api_key.ts";
import type { LastRecord } from "../../domain/meter/key_report.ts";
import { ButtonLink } from "../components/button.tsx";
import { opens } from "../components/embed_bar.tsx";
import { Icon } from "../components/icon.tsx";
import { apiKeyHref } from "../components/key_name.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { quantityWords } from "../text/quantity.ts";
import { clockTime, zoneCity } from "../text/time.ts";

export interface FirstRequest {
  /** True if a request with the key was accepted; after a while, also if one was rejected. */
  readonly isUsed: boolean;
  /** Null if there was none, or none that is known. */
  readonly last: LastRequest | null;
  /** True while the card looks for news: not for keys that have been unused for long. */
  readonly isAwaited: boolean;
}

interface FirstRequestProps {
  readonly frame: Pick<PortalFrame, "base" | "embed">;
  readonly apiKeyId: string;
  readonly request: FirstRequest;
  readonly record?: LastRecord | null | undefined;
}

const everySeconds = 2;

/** The card alone on a page, for browsers that run no scripts. */
export function firstRequestPage(
  { frame, apiKey, ...props }: Omit<FirstRequestProps, "frame" | "apiKeyId"> & {
    frame: PortalFrame;
    apiKey: ApiKey;
  },
): Page {
  return (
    <PortalPage title="First request" frame={frame} place="api-keys">
      <PageHead
        back={{ href: apiKeyHref(frame.base, apiKey.id), label: apiKey.name }}
        title="First request"
      />
      <FirstRequestCard frame={frame} apiKeyId={apiKey.id} {...props} />
    </PortalPage>
  );
}

export function FirstRequestCard({ frame, apiKeyId, request, record }: FirstRequestProps) {
  const href = apiKeyHref(frame.base, apiKeyId, "first-request");
  const isComplete = request.isUsed && isAccepted(request.last);
  const refresh = isComplete || !request.isAwaited ? {} : {
    "hx-get": href,
    "hx-trigger": `every ${everySeconds}s`,
    "hx-target": "this",
    "hx-select": "#first-request",
    "hx-swap": "outerMorph ignoreTitle:true",
    "hx-push-url": "false",
    "hx-indicator": "#first-request",
  };
  return (
    <section id="first-request" class="card" aria-live="polite" {...refresh}>
      {request.isUsed
        ? <Received frame={frame} apiKeyId={apiKeyId} last={request.last} record={record} />
        : <Waiting href={href} request={request} />}
    </section>
  );
}

function Received(
  { frame, apiKeyId, last, record }: Omit<FirstRequestProps, "request"> & { last: LastRequest | null },
) {
  return (
    <div class="wait good">
      <span class="pulse">
        <Icon name="check" />
      </span>
      <div>
        <h2>First request received</h2>
        {record && (
          <p>
            <bdi>{record.product}</bdi> · <bdi>{record.metric.name}</bdi>
            {`: ${quantityWords(record.quantity, record.metric)}`}
          </p>
        )}
        {isAccepted(last) && (
          <p>
            {`${clockTime(Date.parse(last.at))} ${zoneCity(presentation().timezone)} · ${
              statusText(last.status)
            } · from `}
            <code>{last.network}</code>
          </p>
        )}
      </div>
      <div class="acts">
        {opens(frame, "usage") && (
          <ButtonLink href={`${frame.base}/usage?apiKey=${encodeURIComponent(apiKeyId)}`}>
            View usage
          </ButtonLink>
        )}
      </div>
    </div>
  );
}

function Waiting({ href, request: { last, isAwaited } }: { href: string; request: FirstRequest }) {
  return (
    <div class="wait">
      <span class="pulse"></span>
      <div>
        {last === null
          ? (
            <>
              <h2>Waiting for the first request…</h2>
              <p class={isAwaited ? "with-scripts" : undefined}>
                {isAwaited ? "This page updates by itself." : "No requests with this key yet."}
              </p>
            </>
          )
          : (
            <>
              <h2>Waiting for the first accepted request…</h2>
              <p>
                <span class="badge soon">{last.status}</span>
                {` Rejected at ${clockTime(Date.parse(last.at))} ${zoneCity(presentation().timezone)}: ${
                  last.error ?? statusText(last.status)
                }`}
              </p>
            </>
          )}
      </div>
      <div class="acts">
        <ButtonLink href={href}>Check again</ButtonLink>
      </div>
    </div>
  );
}

function isAccepted(last: LastRequest | null): last is LastRequest {
  return last !== null && last.status < 400;
}

/** Returns a status in words, such as `201 Created`. */
export function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ""}`.trim();
}
