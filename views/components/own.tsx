// The signed-in person and the links of their account, in the menus of both sidebars.
import type { Session } from "../../domain/sign_in/session.ts";
import { Icon, type IconName } from "./icon.tsx";

export interface OwnLink {
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
  readonly place: string;
}

const account: readonly OwnLink[] = [
  { place: "account", href: "/portal/account", label: "Account", icon: "person" },
  { place: "security", href: "/portal/account/security", label: "Security", icon: "shield" },
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
      {[...first, ...account].map((one) => (
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
