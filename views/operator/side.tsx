// The sidebar of the operator console. It is darker and says "Operator", so that no one mistakes its pages for a customer's.
import type { Session } from "../../domain/sign_in/session.ts";
import type { PageLink } from "../components/page_head.tsx";
import { Own, type PlaceLink, SideBar } from "../components/side_bar.tsx";

export type OperatorPlace = (typeof places)[number]["place"];

const places = [
  { place: "operator", href: "/operator", label: "Overview", icon: "home", isNear: true },
  {
    place: "operator/organizations",
    href: "/operator/organizations",
    label: "Organizations",
    icon: "building",
    isNear: true,
  },
  { place: "operator/users", href: "/operator/users", label: "Users", icon: "people" },
  { place: "operator/usage", href: "/operator/usage", label: "Usage", icon: "usage", isNear: true },
  { place: "operator/statements", href: "/operator/statements", label: "Statements", icon: "file" },
  { place: "operator/plans", href: "/operator/plans", label: "Plans", icon: "gauge", isApart: true },
  { place: "operator/products", href: "/operator/products", label: "Products", icon: "box" },
  { place: "operator/tokens", href: "/operator/tokens", label: "Operator tokens", icon: "token" },
  { place: "operator/audit", href: "/operator/audit", label: "Audit log", icon: "list" },
  { place: "operator/system", href: "/operator/system", label: "System", icon: "disk" },
] as const satisfies readonly PlaceLink[];

export function operatorPlaceLink(place: OperatorPlace): PageLink {
  return { href: `/${place}`, label: places.find((one) => one.place === place)?.label ?? place };
}

interface OperatorSideProps {
  readonly session: Session;
  readonly place: string | null;
}

export function OperatorSide({ session, place }: OperatorSideProps) {
  return (
    <SideBar
      class="operator"
      label="Console"
      home="/operator"
      badge={<span class="badge solid">Operator</span>}
      places={places}
      place={place}
      who={{ name: session.user.name, second: "Operator" }}
    >
      <Own
        session={session}
        place={place}
        first={[{ place: "", href: "/portal", label: "Portal", icon: "switch" }]}
      />
    </SideBar>
  );
}
