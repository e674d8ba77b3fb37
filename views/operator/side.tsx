// The sidebar of the operator console. It is darker and says "Operator", so that no one mistakes its pages for a customer's.
// On a phone it is a bar at the top, and one at the bottom with three places and a menu.
import type { Session } from "../../domain/sign_in/session.ts";
import { Brand, Icon, type IconName } from "../components/icon.tsx";
import { Own } from "../components/own.tsx";

/** The pages in the sidebar of the console. */
export type OperatorPlace = (typeof places)[number]["place"];

const places = [
  { place: "operator", href: "/operator", label: "Overview", icon: "home" },
  {
    place: "operator/organizations",
    href: "/operator/organizations",
    label: "Organizations",
    icon: "building",
  },
  { place: "operator/users", href: "/operator/users", label: "Users", icon: "people" },
  { place: "operator/usage", href: "/operator/usage", label: "Usage", icon: "usage" },
  { place: "operator/statements", href: "/operator/statements", label: "Statements", icon: "file" },
  { place: "operator/plans", href: "/operator/plans", label: "Plans", icon: "gauge" },
  { place: "operator/products", href: "/operator/products", label: "Products", icon: "box" },
  { place: "operator/tokens", href: "/operator/tokens", label: "Operator tokens", icon: "token" },
  { place: "operator/audit", href: "/operator/audit", label: "Audit log", icon: "list" },
  { place: "operator/system", href: "/operator/system", label: "System", icon: "disk" },
] as const satisfies readonly { place: string; href: string; label: string; icon: IconName }[];

/** On a phone, the places in the bar at the bottom. */
const nearest: ReadonlySet<string> = new Set(["operator", "operator/organizations", "operator/usage"]);

export interface OperatorSideProps {
  readonly session: Session;
  /** The current page; null for pages that are not in the sidebar. */
  readonly place: string | null;
}

/** The sidebar. */
export function OperatorSide(props: OperatorSideProps) {
  return (
    <header class="side operator" id="side">
      <div class="top">
        <Brand href="/operator" />
        <span class="badge solid">Operator</span>
        <span class="cut muted small phone-name">{props.session.user.name}</span>
      </div>
      <nav aria-label="Console">
        {places.map((one) => (
          <a href={one.href} aria-current={one.place === props.place ? "page" : undefined}>
            <Icon name={one.icon} />
            {one.label}
          </a>
        ))}
      </nav>
      <div class="foot">
        <OperatorOwn {...props} />
      </div>
      <Tabs {...props} />
    </header>
  );
}

function OperatorOwn({ session, place }: OperatorSideProps) {
  return <Own session={session} place={place} first={[{ place: "", href: "/portal", label: "Portal" }]} />;
}

function Tabs({ session, place }: OperatorSideProps) {
  const others = places.filter((one) => !nearest.has(one.place));
  return (
    <nav class="tabbar" aria-label="Console, phone">
      {places.filter((one) => nearest.has(one.place)).map((one) => (
        <a href={one.href} aria-current={one.place === place ? "page" : undefined}>
          <Icon name={one.icon} />
          {one.place === "operator/organizations" ? "Customers" : one.label}
        </a>
      ))}
      <details class="menu">
        <summary aria-current={others.some((one) => one.place === place) ? "true" : undefined}>
          <Icon name="more" />
          More
        </summary>
        <div class="menu-box">
          {others.map((one) => (
            <a
              class="menu-item"
              href={one.href}
              aria-current={one.place === place ? "page" : undefined}
            >
              <Icon name={one.icon} />
              {one.label}
            </a>
          ))}
          <OperatorOwn session={session} place={place} />
        </div>
      </details>
    </nav>
  );
}
