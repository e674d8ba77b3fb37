// The frame of the sidebars of the portal and of the console: places, and a menu with the links of the person's account. On a phone,
// it is a line at the top and a bar at the bottom, with the nearest places and everything else under "More".
import type { Child } from "hono/jsx";
import type { Session } from "../../domain/access/session.ts";
import type { Assets } from "../assets.ts";
import { Brand } from "./brand.tsx";
import { Icon, type IconName } from "./icon.tsx";

export interface PlaceLink {
  readonly place: string;
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
  /** True shows it in the bar at the bottom of phones. */
  readonly isNear?: boolean;
  readonly isApart?: boolean;
  readonly isElsewhere?: boolean;
  /** Other words that find it. */
  readonly also?: string;
}

/** The pages and actions that the search finds by their labels. */
export interface SearchLinks {
  readonly pages: readonly SearchLink[];
  readonly actions: readonly SearchLink[];
}

type SearchLink = Pick<PlaceLink, "href" | "label" | "icon" | "also">;

/** `label`: the scope of the search, for screen readers. */
export interface SearchPlace {
  readonly href: string;
  readonly label: string;
}

interface SideBarProps {
  /** The name of the navigation, for screen readers. */
  readonly label: string;
  readonly class?: string;
  /** The target of the link on the product's name. */
  readonly home: string;
  readonly badge?: Child;
  readonly assets: Pick<Assets, "brand" | "palette">;
  readonly search?: SearchPlace;
  readonly places: readonly PlaceLink[];
  readonly place: string | null;
  readonly who: { readonly name: string; readonly second: string };
  readonly children: Child;
}

export function SideBar(props: SideBarProps) {
  const { label, home, assets, badge, search, places, place, who, children } = props;
  return (
    <header class={props.class ? `side ${props.class}` : "side"} id="side">
      <Brand href={home} brand={assets.brand}>{badge}</Brand>
      <span class="org-name">
        <Initial name={who.name} />
        <bdi class="cut">{who.name}</bdi>
      </span>
      {search && (
        <a
          class="search-link"
          href={search.href}
          aria-label={search.label}
          aria-keyshortcuts="Control+K Meta+K /"
          hx-boost="false"
          data-palette={assets.palette}
        >
          <Icon name="search" />
          <span>Search</span>
          <kbd class="with-scripts">/</kbd>
        </a>
      )}
      <nav class="places" aria-label={label}>
        {places.map((one) => (
          <>
            {one.isApart && <hr />}
            <PlaceAnchor link={one} place={place} />
          </>
        ))}
      </nav>
      <div class="foot">
        <details class="menu" name="side-menu">
          <summary class="who">
            <Initial name={who.name} />
            <span class="who-lines">
              <strong class="cut">
                <bdi>{who.name}</bdi>
              </strong>
              <bdi class="cut muted tiny">{who.second}</bdi>
            </span>
            <span class="unseen">, menu</span>
            <Icon name="updown" />
          </summary>
          <div class="menu-box">{children}</div>
        </details>
      </div>
      <TabBar {...props} />
    </header>
  );
}

function TabBar({ label, places, place, children }: SideBarProps) {
  const others = places.filter(({ isNear }) => !isNear);
  const isNear = places.some((one) => one.isNear && one.place === place);
  return (
    <nav class="tabbar" aria-label={`${label}, phone`}>
      {places.filter((one) => one.isNear).map((one) => <PlaceAnchor link={one} place={place} />)}
      <details class="menu" name="side-menu">
        <summary aria-current={!isNear && place !== null ? "true" : undefined}>
          <Icon name="more" />
          More
        </summary>
        <div class="menu-box">
          {others.map((one) => <PlaceAnchor class="menu-item" link={one} place={place} />)}
          {others.length > 0 && <hr />}
          {children}
        </div>
      </details>
    </nav>
  );
}

function PlaceAnchor({ link, place, ...rest }: { class?: string; link: PlaceLink; place: string | null }) {
  return (
    <a
      {...rest}
      href={link.href}
      aria-current={link.place === place ? "page" : undefined}
      hx-boost={link.isElsewhere ? "false" : undefined}
    >
      <Icon name={link.icon} />
      {link.label}
    </a>
  );
}

// Loading the rules of a language takes several milliseconds.
let graphemes: Intl.Segmenter | undefined;

export function Initial({ name }: { name: string }) {
  graphemes ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  const [first] = graphemes.segment(name.trimStart());
  return <span class="initial" aria-hidden="true">{first?.segment.toUpperCase() ?? ""}</span>;
}

export type OwnLink = Pick<PlaceLink, "place" | "href" | "label" | "icon" | "also">;

export const accountLinks: readonly OwnLink[] = [
  { place: "account", href: "/portal/account", label: "Account", icon: "person" },
  {
    place: "security",
    href: "/portal/account/security",
    label: "Security",
    icon: "shield",
    also: "password two-step sessions",
  },
];

/** `place`: the current page. `first`: links before those of the account. */
export function Own(
  { session, place, first = [] }: {
    session: Session;
    place: string | null;
    first?: readonly OwnLink[];
  },
) {
  return (
    <>
      <p class="label">
        <bdi class="cut">{session.user.name}</bdi>
        <span class="cut">{session.user.email}</span>
      </p>
      {[...first, ...accountLinks].map((one) => (
        <a class="menu-item" href={one.href} aria-current={one.place === place ? "page" : undefined}>
          <Icon name={one.icon} />
          {one.label}
        </a>
      ))}
      <form method="post" action="/sign-out" hx-boost="false">
        <button type="submit" class="menu-item">
          <Icon name="out" />
          Sign out
        </button>
      </form>
    </>
  );
}
