// The sidebar of the operator console. It is darker and says "Operator", so that no one mistakes its pages for a customer's.
import type { Session } from "../../domain/access/session.ts";
import type { Assets } from "../assets.ts";
import type { PageLink } from "./page_head.tsx";
import {
  accountLinks,
  Own,
  type PlaceLink,
  type SearchLinks,
  type SearchPlace,
  SideBar,
} from "./side_bar.tsx";
import { organizationsHref, plansHref } from "./links.ts";

const rows = [
  { place: "operator", label: "Overview", icon: "home", isNear: true },
  { place: "operator/organizations", label: "Organizations", icon: "building", isNear: true },
  { place: "operator/users", label: "Users", icon: "people" },
  { place: "operator/usage", label: "Usage", icon: "usage", isNear: true },
  { place: "operator/statements", label: "Statements", icon: "file", also: "invoices billing" },
  { place: "operator/plans", label: "Plans", icon: "gauge", isApart: true, also: "limits prices" },
  { place: "operator/products", label: "Products", icon: "box" },
  { place: "operator/collectors", label: "Collectors", icon: "filter" },
  { place: "operator/tokens", label: "Operator tokens", icon: "token" },
  { place: "operator/identity-providers", label: "Sign-in providers", icon: "shield" },
  { place: "operator/clients", label: "Applications", icon: "key" },
  { place: "operator/webhooks", label: "Webhooks", icon: "webhook" },
  { place: "operator/audit", label: "Audit log", icon: "list" },
  { place: "operator/system", label: "System", icon: "disk" },
] as const satisfies readonly Omit<PlaceLink, "href">[];
const places: readonly PlaceLink[] = rows.map((row) => ({ ...row, href: `/${row.place}` }));

export type OperatorPlace = (typeof rows)[number]["place"];

export function operatorPlaceLink(place: OperatorPlace): PageLink {
  return { href: `/${place}`, label: places.find((one) => one.place === place)?.label ?? place };
}

const portal = { place: "", href: "/portal", label: "Portal", icon: "switch" } as const;

export const consoleSearch: SearchPlace = {
  href: "/operator/search",
  label: "Search organizations, users, keys, webhooks, statements, pages and IDs",
};
export const consoleLinks: SearchLinks = {
  pages: [
    ...places,
    { href: "/operator/resources", label: "Resources", icon: "box" },
    {
      href: `${organizationsHref}?limits=rejected`,
      label: "Organizations with rejected requests",
      icon: "building",
      also: "429 403 why rejections outcomes errors denied",
    },
    { href: "/operator/webhooks/failing", label: "Customers’ failing webhooks", icon: "webhook" },
    portal,
    ...accountLinks,
    { href: "/docs", label: "Documentation", icon: "book" },
  ],
  actions: [
    { href: `${organizationsHref}/new`, label: "Create organization", icon: "plus" },
    { href: `${plansHref}/new`, label: "Create plan", icon: "plus" },
    { href: "/operator/products/new", label: "Add product", icon: "plus" },
    { href: "/operator/collectors/mappings/new", label: "Add mapping of events", icon: "plus" },
    { href: "/operator/tokens/new", label: "Create operator token", icon: "plus" },
    { href: "/operator/identity-providers/new", label: "Add sign-in provider", icon: "plus" },
    { href: "/operator/clients/new", label: "Add application", icon: "plus" },
    { href: "/operator/resources/new", label: "Add resource", icon: "plus" },
    { href: "/operator/webhooks/new", label: "Add webhook", icon: "plus" },
  ],
};

interface OperatorSideProps {
  readonly session: Session;
  readonly place: string | null;
  readonly assets: Assets;
}

export function OperatorSide({ session, place, assets }: OperatorSideProps) {
  return (
    <SideBar
      class="operator"
      label="Console"
      home="/operator"
      assets={assets}
      badge={<span class="badge solid">Operator</span>}
      search={consoleSearch}
      places={places}
      place={place}
      who={{ name: session.user.name, second: "Operator" }}
    >
      <Own session={session} place={place} first={[portal]} />
    </SideBar>
  );
}
