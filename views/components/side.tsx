// The sidebar: navigation, organization switcher and account. On a phone it is a bar at the top with a menu.
import { hasPermission } from "../../domain/permissions.ts";
import type { Membership, Session } from "../../domain/sign_in/session.ts";
import type { OperatorPlace } from "../operator/side.tsx";
import { roleWords } from "../text/role.ts";
import { Form, returnField } from "./form.tsx";
import { Brand, Icon, type IconName } from "./icon.tsx";
import { Own, type OwnLink } from "./own.tsx";

/** The pages in the sidebars of the portal and of the operator console. */
export type Place =
  | "api-keys"
  | "usage"
  | "members"
  | "audit"
  | "organization"
  | "organizations"
  | "account"
  | "security"
  | OperatorPlace;

interface PlaceLink {
  readonly place: Place;
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
}

const places: readonly PlaceLink[] = [
  { place: "api-keys", href: "/portal/api-keys", label: "API keys", icon: "key" },
  { place: "usage", href: "/portal/usage", label: "Usage", icon: "usage" },
  { place: "members", href: "/portal/members", label: "Members", icon: "people" },
  { place: "audit", href: "/portal/audit", label: "Audit log", icon: "list" },
  { place: "organization", href: "/portal/organization", label: "Organization", icon: "building" },
];
const organizationsPlace: PlaceLink = {
  place: "organizations",
  href: "/portal/organizations",
  label: "Organizations",
  icon: "building",
};

export interface SideProps {
  readonly session: Session;
  /** The current page; null for pages that are not in the sidebar. */
  readonly place: Place | null;
}

/** The sidebar. */
export function Side({ session, place }: SideProps) {
  return (
    <header class="side" id="side">
      <div class="top">
        <Brand href={session.organization === null ? organizationsPlace.href : "/portal/api-keys"} />
        <details class="menu phone">
          <summary aria-label={`${organizationName(session)}, menu`}>
            <span class="cut">{organizationName(session)}</span>
            <Icon name="chevron" />
          </summary>
          <div class="menu-box">
            <Organizations session={session} place={place} />
            <Own session={session} place={place} first={operatorLinks(session)} />
          </div>
        </details>
      </div>
      <nav aria-label="Portal">
        {placesOf(session).map((one) => <SideLink link={one} place={place} />)}
      </nav>
      <div class="foot">
        <details class="menu">
          <summary>
            <span class="menu-name">
              <strong class="cut">{organizationName(session)}</strong>
              {session.organization && <span class="muted tiny">{roleWords[session.organization.role]}</span>}
            </span>
            <span class="unseen">Switch organization</span>
            <Icon name="updown" />
          </summary>
          <div class="menu-box">
            <Organizations session={session} place={place} />
          </div>
        </details>
        <Own session={session} place={place} first={operatorLinks(session)} />
      </div>
    </header>
  );
}

/** Operators have a link to the console. */
function operatorLinks({ isOperator }: Session): readonly OwnLink[] {
  return isOperator ? [{ place: "operator", href: "/operator", label: "Operator console" }] : [];
}

function placesOf({ organization }: Session): readonly PlaceLink[] {
  if (organization === null) return [organizationsPlace];
  return places.filter(({ place }) => place !== "audit" || hasPermission(organization.role, "audit.read"));
}

function SideLink({ link, place }: { link: PlaceLink; place: Place | null }) {
  return (
    <a href={link.href} aria-current={link.place === place ? "page" : undefined}>
      <Icon name={link.icon} />
      {link.label}
    </a>
  );
}

/** The organization switcher. */
function Organizations({ session, place }: SideProps) {
  return (
    <div class="menu-part">
      {session.memberships.length === 0 ? null : (
        <ul class="switch" aria-label="Your organizations">
          {session.memberships.map((membership) => (
            <li>
              <SwitchForm
                membership={membership}
                isActive={membership.organizationId === session.organization?.organizationId}
                place={place}
              />
            </li>
          ))}
        </ul>
      )}
      <a class="menu-item" href="/portal/organizations">All organizations</a>
      <a class="menu-item" href="/portal/organizations#new">New organization</a>
    </div>
  );
}

/** Switches to the same page of another organization. */
function SwitchForm(props: { membership: Membership; isActive: boolean; place: Place | null }) {
  const { membership, isActive } = props;
  const back = places.find(({ place }) => place === props.place)?.href;
  return (
    <Form
      action="/portal/switch"
      hidden={{ organizationId: membership.organizationId, ...returnField(back) }}
    >
      <button type="submit" class="menu-item" aria-current={isActive ? "true" : undefined}>
        <span class="menu-name">
          <span class="cut">{membership.name}</span>
          <span class="muted tiny">{roleWords[membership.role]}</span>
        </span>
        {isActive ? <Icon name="check" /> : null}
      </button>
    </Form>
  );
}

function organizationName(session: Session): string {
  return session.organization?.name ?? "No organization";
}
