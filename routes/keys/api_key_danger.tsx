// What ends the use of an API key, for a while or forever: the danger zone of its page, and the forms that disable and enable it.
import type { ApiKey } from "../../domain/keys/api_key.ts";
import type { KeyReport } from "../../domain/meter/key_report.ts";
import { requirePermission } from "../../services/access/mod.ts";
import { changeApiKey, getApiKey } from "../../services/keys/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { apiKeyHref, managesAllKeys, mayEnable } from "../../views/components/key_name.tsx";
import { lastUsageWords } from "../../views/components/last_usage.tsx";
import type { PortalFrame } from "../../views/layout.tsx";
import { type Measure, measureNoun, quantityWords } from "../../views/text/quantity.ts";
import { fullDate, relativeTime } from "../../views/text/time.ts";
import type { Viewer } from "../portal/form.ts";
import { mountFormPage, type Pages, paramOf } from "../portal/noun_pages.ts";
import { type PortalParts, redirect } from "../portal/page.ts";
import { aboutKey } from "./about_key.tsx";

const states = {
  disable: {
    enabled: false,
    title: "Disable key",
    heading: "Disable “{name}”?",
    text: "Requests with this key will fail immediately. You can enable it again.",
    tone: "destroy",
  },
  enable: {
    enabled: true,
    title: "Enable key",
    heading: "Enable “{name}”?",
    text: "Requests with this key will be accepted again immediately.",
    tone: "primary",
  },
} as const;

/** Mounts the forms that disable and enable a key. @param path Of the key's page. */
export function mountEnabling(pages: Pages<Viewer>, path: string, { services }: PortalParts): void {
  for (const [action, { enabled, ...words }] of Object.entries(states)) {
    mountFormPage(pages, {
      path: `${path}/${action}`,
      async show(c, form, { access, frame }) {
        requirePermission(access, "apiKeys.manageAll");
        const apiKey = await getApiKey(services, access, paramOf(c, "keyId"));
        const isOpen = apiKey.status === "active" && apiKey.enabled !== enabled &&
          (!enabled || mayEnable(frame, apiKey));
        if (!isOpen) return redirect(c, apiKeyHref(frame.base, apiKey.id));
        const text = !enabled && frame.viewed !== null
          ? "Requests with this key will fail immediately. Only operators can enable it again."
          : words.text;
        return (
          <ConfirmPage {...form} {...aboutKey(form, apiKey)} {...words} text={text} submit={words.title} />
        );
      },
      async submit(c, { access, frame }) {
        const { id } = await changeApiKey(services, access, { id: paramOf(c, "keyId"), enabled });
        return `${apiKeyHref(frame.base, id)}?done=${action}d`;
      },
    });
  }
}

interface DangerZoneProps extends KeyUse {
  readonly frame: PortalFrame;
  readonly apiKey: ApiKey;
}

export function DangerZone({ frame, apiKey, ...use }: DangerZoneProps) {
  const { base, now } = frame;
  return (
    <section class="card danger-zone" id="danger">
      <header>
        <h2>Danger zone</h2>
      </header>
      {apiKey.enabled && managesAllKeys(frame) && (
        <div class="split">
          <div>
            <strong>Disable this key</strong>
            <p>Requests with this key will fail until it is enabled again.</p>
          </div>
          <ButtonLink tone="plain-destroy" href={apiKeyHref(base, apiKey.id, "disable")}>
            Disable key
          </ButtonLink>
        </div>
      )}
      <div class="split">
        <div>
          <strong>Revoke this key</strong>
          <p>{revokeWarning(apiKey, { ...use, now })}</p>
        </div>
        <ButtonLink tone="plain-destroy" href={apiKeyHref(base, apiKey.id, "revoke")}>Revoke key</ButtonLink>
      </div>
    </section>
  );
}

/** The usage of a key with those that it replaced, by anyone who recorded it. */
interface KeyUse {
  /** Null if it is not available. */
  readonly report: Pick<KeyReport, "today" | "lastUsageAt"> | null;
  /** True if it replaced other keys. */
  readonly isRotated: boolean;
}

const recentMs = 6 * 24 * 3_600_000;

/** Says what revoking a key breaks: its last request, and usage that may have been recorded without one. */
export function revokeWarning(
  { lastUsedAt }: Pick<ApiKey, "lastUsedAt">,
  { now, report, isRotated }: KeyUse & { readonly now: number },
): string {
  const isUnused = lastUsedAt === null && report?.lastUsageAt === null;
  const requested = lastUsedAt === null
    ? "No requests yet"
    : `Last request ${whenText(Date.parse(lastUsedAt), { now, words: relativeTime })}`;
  const facts = isUnused ? ["Never used"] : [requested, ...usageFacts({ report, isRotated }, now)];
  return `${facts.join(". ")}. Requests with this key will fail immediately. This can't be undone.`;
}

function usageFacts({ report, isRotated }: KeyUse, now: number): string[] {
  if (report === null) return [];
  const { today, lastUsageAt } = report;
  const which = isRotated ? ", with the keys it replaced" : "";
  if (today !== null && Number(today.total) > 0) return [`Usage today${which}: ${todayText(today)}`];
  if (lastUsageAt === null) return ["No usage"];
  return [`Last usage${which}${which && ":"} ${whenText(lastUsageAt, { now, words: lastUsageWords })}`];
}

/** Returns a time inside a sentence: `2 minutes ago`, `on Nov 2, 2026`. */
function whenText(
  at: number,
  { now, words }: { now: number; words: (at: number, now: number) => string },
): string {
  if (now - at >= recentMs) return `on ${fullDate(at)}`;
  const when = words(at, now);
  return when.charAt(0).toLowerCase() + when.slice(1);
}

function todayText({ metric, total }: { readonly metric: Measure; readonly total: string }): string {
  return `${quantityWords(total, metric)}${metric.unit === null ? ` ${measureNoun(metric)}` : ""}`;
}
