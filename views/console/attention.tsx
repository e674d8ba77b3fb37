// Things that need attention: limits that are near or reached, keys that expire soon, members without two-step sign-in.
import type { Child } from "hono/jsx";
import { type Catalogue, metricOf } from "../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../domain/meter/usage_limit.ts";
import { countOf, usedPercentText } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import { type Webhook, webhookName } from "../../domain/outbox/webhook.ts";
import { Card } from "../components/card.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { nearShare, usedShare } from "../components/limit_meters.tsx";
import { MomentTime, RelativeTime, ResetTime } from "../components/relative_time.tsx";
import { limitName, usedWords } from "../text/limit.ts";
import { webhookHref } from "../outbox/mod.ts";

export interface AttentionProps {
  /** Null if unavailable. */
  readonly limits: readonly LimitStanding[] | null;
  /** Keys that expire soon: the first of them, and how many there are. */
  readonly expiring: {
    readonly count: number;
    readonly keys: readonly { readonly id: string; readonly name: string; readonly endsAt: number | null }[];
  };
  /** Null for those who can't see it. */
  readonly withoutTwoStep: { readonly count: number; readonly names: readonly string[] } | null;
  /** Failing webhooks. */
  readonly failing?: readonly Webhook[];
  readonly catalogue: Catalogue;
  readonly now: number;
  /** As in `PortalFrame`. */
  readonly base: string;
}

interface Item {
  readonly tone: "bad" | "warn" | "";
  readonly icon: IconName;
  readonly title: string;
  readonly text: Child;
  readonly link: { readonly href: string; readonly label: string };
}

const limitsMax = 4;
const failingMax = 3;

/** Most urgent first. */
export function Attention(props: AttentionProps) {
  const items = itemsOf(props);
  return (
    <Card
      title="Needs attention"
      aside={items.length === 0 ? null : <span class="muted">{items.length}</span>}
      flush={items.length > 0}
    >
      {items.length === 0 ? <p class="muted small">Nothing right now.</p> : (
        <ul class="items">
          {items.map(({ tone, icon, title, text, link }) => (
            <li class={tone || undefined}>
              <Icon name={icon} />
              <div>
                <bdi class="name">{title}</bdi>
                <span class="second">{text}</span>
              </div>
              <a href={link.href}>
                {link.label}
                <span class="unseen">{`: ${title}`}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function itemsOf({ limits, failing = [], expiring, withoutTwoStep, ...props }: AttentionProps): Item[] {
  const { catalogue, now, base } = props;
  const near = (limits ?? []).filter((limit) => usedShare(limit) >= nearShare)
    .toSorted((a, b) => usedShare(b) - usedShare(a));
  const items = near.slice(0, limitsMax).map((limit) => limitItem(limit, { now, catalogue, base }));
  const [first] = failing;
  if (first !== undefined) {
    items.push({
      tone: "bad",
      icon: "alert",
      title: failing.length === 1
        ? `“${webhookName(first)}” is failing`
        : `${countOf(failing.length, "webhook")} are failing`,
      text: failing.length === 1 ? <>Deliveries have failed since {failingTime(first, now)}.</> : listed(
        failing.slice(0, failingMax).map((webhook) => (
          <>
            <bdi>{webhookName(webhook)}</bdi> since {failingTime(webhook, now)}
          </>
        )),
        failing.length,
      ),
      link: {
        href: failing.length === 1 ? webhookHref(base, first.id) : `${base}/webhooks`,
        label: "View",
      },
    });
  }
  if (expiring.count > 0) {
    items.push({
      tone: "warn",
      icon: "clock",
      title: `${countOf(expiring.count, "key")} ${expiring.count === 1 ? "expires" : "expire"} soon`,
      text: listed(
        expiring.keys.map(({ name, endsAt }) => (
          <>
            <bdi>{name}</bdi> {endsAt !== null && <RelativeTime at={isoTime(endsAt)} now={now} />}
          </>
        )),
        expiring.count,
      ),
      link: { href: `${base}/api-keys?status=expiring`, label: "Review" },
    });
  }
  if (withoutTwoStep !== null && withoutTwoStep.count > 0) items.push(membersItem(withoutTwoStep, base));
  return items;
}

function failingTime({ failingSince }: Webhook, now: number): Child {
  return failingSince && <MomentTime at={failingSince} now={now} />;
}

function limitItem(
  limit: LimitStanding,
  { now, catalogue, base }: Pick<AttentionProps, "now" | "catalogue" | "base">,
): Item {
  const { used, quantity, resetsAt, metric } = limit;
  const measure = metric !== null ? metricOf(catalogue, metric) : undefined;
  const share = usedShare(limit);
  const name = limitName(limit, catalogue);
  return {
    tone: share >= 1 ? "bad" : "warn",
    icon: "gauge",
    title: share >= 1 ? `${name}: limit reached` : `${name}: ${usedPercentText(100 * share)} used`,
    text: (
      <>
        {`${usedWords(used, quantity, measure)}.`}
        {resetsAt !== null && (
          <>
            {" "}Resets <ResetTime at={resetsAt} now={now} />.
          </>
        )}
      </>
    ),
    link: { href: `${base}/usage`, label: "View usage" },
  };
}

function membersItem({ count, names }: NonNullable<AttentionProps["withoutTwoStep"]>, base: string): Item {
  return {
    tone: "",
    icon: "shield",
    title: `${countOf(count, "member")} without two-step sign-in`,
    text: listed(names.map((name) => <bdi>{name}</bdi>), count),
    link: { href: `${base}/members`, label: "View members" },
  };
}

/** `count`: of all, of which only some are listed. */
function listed(items: readonly Child[], count: number): Child {
  return (
    <>
      {items.flatMap((item, index) => index > 0 ? [", ", item] : [item])}
      {count > items.length && ` and ${count - items.length} more`}
    </>
  );
}
