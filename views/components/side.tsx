// The sidebar of the portal: its pages, the organization switcher and the account.
import { hasPermission, type Permission } from "../../domain/access/permissions.ts";
import type { Membership, Session } from "../../domain/access/session.ts";
import type { Assets } from "../assets.ts";
import { organizationHref, rejectionsQuery } from "./links.ts";
import type { OperatorPlace } from "./operator_side.tsx";
import { roleWords } from "../text/role.ts";
import { Form, returnField } from "./form.tsx";
import { Icon } from "./icon.tsx";
import {
  accountLinks,
  Initial,
  Own,
  type OwnLink,
  type PlaceLink,
  type SearchLinks,
  type SearchPlace,
  SideBar,
} from "./side_bar.tsx";

export type Place =
  | "overview"
  | "api-keys"
  | "usage"
  | "limits"
  | "billing"
  | "members"
  | "audit"
  | "webhooks"
  | "organization"
  | "organizations"
  | "account"
  | "security"
  | OperatorPlace;

const placesOfMembers: readonly Omit<PlaceLink, "href">[] = [
  { place: "overview", label: "Overview", icon: "home", isNear: true },
  { place: "api-keys", label: "API keys", icon: "key", isNear: true, also: "rotate revoke tokens" },
  { place: "usage", label: "Usage", icon: "usage", isNear: true },
  { place: "billing", label: "Billing", icon: "file", also: "invoices statements plan limits" },
  { place: "webhooks", label: "Webhooks", icon: "webhook" },
  { place: "members", label: "Members", icon: "people" },
  { place: "audit", label: "Audit log", icon: "list" },
  { place: "organization", label: "Organization", icon: "building", also: "settings single sign-on" },
];
const places: readonly PlaceLink[] = placesOfMembers.map((one) => (
  { ...one, href: one.place === "overview" ? "/portal" : `/portal/${one.place}` }
));
const organizationsPlace: PlaceLink = {
  place: "organizations",
  href: "/portal/organizations",
  label: "Organizations",
  icon: "building",
  isNear: true,
};
const documentation: PlaceLink = {
  place: "docs",
  href: "/docs",
  label: "Documentation",
  icon: "book",
  isApart: true,
  isElsewhere: true,
};

/** Pages that the sidebar lacks. */
const subPages = [
  { href: "/portal/alerts", label: "Alerts", icon: "gauge", also: "limits notifications budgets" },
  { href: "/portal/usage/records", label: "Usage records", icon: "list", also: "events" },
  {
    href: `/portal/usage${rejectionsQuery}`,
    label: "Rejected requests",
    icon: "usage",
    also: "429 403 why rejections outcomes errors denied",
  },
  { href: "/portal/account/passkeys", label: "Passkeys", icon: "key" },
  {
    href: "/portal/account/two-step",
    label: "Two-step sign-in",
    icon: "shield",
    also: "authenticator codes 2fa",
  },
] as const;

const createOrganization = {
  href: "/portal/organizations#new",
  label: "Create organization",
  icon: "plus",
} as const;

export const portalSearch: SearchPlace = {
  href: "/portal/search",
  label: "Search keys, members, webhooks, statements, pages and IDs",
};

export function portalLinks(session: Session): SearchLinks {
  const { organization } = session;
  const isMember = organization !== null;
  return {
    pages: [
      ...placesOf(session),
      ...(isMember ? subPages : []),
      ...(isMember ? [{ ...organizationsPlace, label: "All organizations" }] : []),
      ...accountLinks,
      ...operatorLinks(session),
      documentation,
    ],
    actions: [
      ...(isMember ? [{ href: "/portal/api-keys/new", label: "Create API key", icon: "plus" } as const] : []),
      ...(isMember && hasPermission(organization.role, "webhooks.manage")
        ? [{ href: "/portal/webhooks/new", label: "Add webhook", icon: "plus" } as const]
        : []),
      ...(isMember && hasPermission(organization.role, "members.manage")
        ? [{ href: "/portal/members", label: "Invite a member", icon: "plus" } as const]
        : []),
      createOrganization,
    ],
  };
}

interface SideProps {
  readonly session: Session;
  readonly place: Place | null;
}

/** `base`, `isReadOnly`: as in `PortalFrame`. */
export function Side(
  { session, place, base, isReadOnly, assets }: SideProps & {
    base: string;
    isReadOnly: boolean;
    assets: Assets;
  },
) {
  const { user, organization } = session;
  if (isReadOnly && organization !== null) {
    return (
      <SideBar
        label="Portal"
        home={base}
        assets={assets}
        badge={<span class="badge solid">Read only</span>}
        places={placesOf(session).filter((one) => one.place !== "organization")
          .map((one) => ({ ...one, href: one.href.replace("/portal", base) }))}
        place={place}
        who={{ name: organization.name, second: `Viewed by ${user.name}` }}
      >
        <a class="menu-item" href={organizationHref(organization.organizationId)}>
          <Icon name="switch" />
          Back to the console
        </a>
      </SideBar>
    );
  }
  return (
    <SideBar
      label="Portal"
      assets={assets}
      home={organization === null ? organizationsPlace.href : "/portal"}
      search={portalSearch}
      places={[...placesOf(session), documentation]}
      place={place}
      who={organization === null
        ? { name: user.name, second: "No organization" }
        : { name: organization.name, second: `${user.name} · ${roleWords[organization.role]}` }}
    >
      <Organizations session={session} place={place} />
      <hr />
      <Own session={session} place={place} first={operatorLinks(session)} />
    </SideBar>
  );
}

function operatorLinks({ isOperator }: Session): readonly OwnLink[] {
  return isOperator
    ? [{ place: "operator", href: "/operator", label: "Operator console", icon: "switch" }]
    : [];
}

function placesOf({ organization }: Session): readonly PlaceLink[] {
  if (organization === null) return [organizationsPlace];
  const needed: Partial<Record<string, Permission>> = { audit: "audit.read", webhooks: "webhooks.read" };
  return places.filter(({ place }) => {
    const permission = needed[place];
    return permission === undefined || hasPermission(organization.role, permission);
  });
}

function Organizations({ session, place }: SideProps) {
  return (
    <>
      {session.memberships.length === 0 ? null : (
        <>
          <p class="label">Organizations</p>
          <ul class="own-organizations" aria-label="Your organizations">
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
        </>
      )}
      <a class="menu-item" href="/portal/organizations">
        <Icon name="list" />
        All organizations
      </a>
      <a class="menu-item" href="/portal/organizations#new">
        <Icon name="plus" />
        New organization
      </a>
    </>
  );
}

function SwitchForm(props: { membership: Membership; isActive: boolean; place: Place | null }) {
  const { membership, isActive } = props;
  const back = places.find(({ place }) => place === props.place)?.href;
  return (
    <Form
      action="/portal/switch"
      hidden={{ organizationId: membership.organizationId, ...returnField(back) }}
    >
      <button type="submit" class="menu-item" aria-current={isActive ? "true" : undefined}>
        <Initial name={membership.name} />
        <bdi class="cut">{membership.name}</bdi>
        <span class="muted tiny">{roleWords[membership.role]}</span>
        {isActive ? <Icon name="check" /> : null}
      </button>
    </Form>
  );
}
