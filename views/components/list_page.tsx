// A page with a list: its heading, a button that adds to it, and a card with a table.
import type { Child } from "hono/jsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { ButtonLink } from "./button.tsx";
import { Card } from "./card.tsx";
import { EmptyState } from "./empty_state.tsx";
import { Notice } from "./notice.tsx";
import { PageHead, type PageLink } from "./page_head.tsx";
import { PageLinks } from "./page_links.tsx";
import type { Place } from "./side.tsx";

export interface ListPageProps {
  readonly frame: PortalFrame;
  readonly place: Place;
  readonly back?: PageLink;
  readonly title: string;
  readonly text: string;
  readonly flash?: string | null;
  /** The link to the page that adds something. It moves into an empty list. */
  readonly add?: { readonly href: string; readonly label: Child } | null;
  /** Next to the title, also of an empty list. */
  readonly actions?: Child;
  /** Between the heading and the card. */
  readonly filters?: Child;
  /** The heading of the card; of an empty list, it is the title. */
  readonly card: string;
  /** Replaces the children of the card; null unless the list is empty. */
  readonly empty: { readonly title: string; readonly text: string; readonly children?: Child } | null;
  readonly links: readonly { readonly href: string | null; readonly label: string }[];
  readonly children: Child;
}

export function ListPage(props: ListPageProps): Page {
  const { frame, place, back, title, text, add, empty } = props;
  const button = add ? <ButtonLink tone="primary" href={add.href}>{add.label}</ButtonLink> : null;
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <PageHead {...back && { back }} title={title} text={text}>
        {props.actions ?? (empty === null && button)}
      </PageHead>
      <Notice tone="done" text={props.flash} />
      {props.filters}
      <Card title={empty === null ? props.card : title} flush>
        {empty === null ? props.children : <EmptyState {...empty}>{empty.children ?? button}</EmptyState>}
      </Card>
      <PageLinks links={props.links} />
    </PortalPage>
  );
}
