// The bar above the pages that a product shows in its own app: their tabs, and the way back.
import { type PortalPage, portalPagePaths } from "../../domain/keys/portal_session.ts";
import { Icon } from "./icon.tsx";
import { Tabs } from "./list_card.tsx";
import type { Place } from "./side.tsx";

/** The pages of a portal session, in the order of their tabs. */
export interface Embedding {
  readonly pages: readonly PortalPage[];
  readonly returnUrl: string | null;
  /** Of the pages that may have a frame. */
  readonly origins: readonly string[];
  /** True if the pages have no ground of their own. */
  readonly isClear: boolean;
}

const labels: Readonly<Record<PortalPage, string>> = {
  keys: "API keys",
  usage: "Usage",
  limits: "Limits",
  webhooks: "Webhooks",
};

/** True if the frame has the page: a portal session may have some, everyone else has all. */
export function opens({ embed }: { readonly embed: Embedding | null }, page: PortalPage): boolean {
  return embed === null || embed.pages.includes(page);
}

export function EmbedBar({ embed: { pages, returnUrl }, name, base, place, isReadOnly }: {
  embed: Embedding;
  /** The organization's name. */
  name: string;
  base: string;
  place: Place | null;
  isReadOnly: boolean;
}) {
  return (
    <header class="embed-bar" id="side">
      <Tabs
        label="Pages"
        tabs={pages.map((page) => ({
          href: base + portalPagePaths[page],
          label: labels[page],
          count: null,
          isCurrent: place !== null && portalPagePaths[page] === `/${place}`,
        }))}
      />
      <p class="muted small">
        {isReadOnly && <span class="badge solid">Read only</span>}
        <bdi class="cut">{name}</bdi>
        {returnUrl !== null && (
          <a href={returnUrl} target="_top" hx-boost="false">
            <Icon name="back" />
            {`Back to ${new URL(returnUrl).host}`}
          </a>
        )}
      </p>
    </header>
  );
}

/** A link that leaves the frame, in which no other page opens. */
export function GuideLink({ href, embed }: { href: string; embed: Embedding | null }) {
  const elsewhere = embed === null ? {} : { "target": "_blank", "rel": "noopener", "hx-boost": "false" };
  return <a href={href} {...elsewhere}>Read the guide</a>;
}
