// The signed-in person and the links of their account, in both sidebars.
import type { Session } from "../../domain/sign_in/session.ts";

/** A link of the account menu. */
export interface OwnLink {
  readonly href: string;
  readonly label: string;
  /** The name of its page in the sidebar. */
  readonly place: string;
}

const account: readonly OwnLink[] = [
  { place: "account", href: "/portal/account", label: "Account" },
  { place: "security", href: "/portal/account/security", label: "Security" },
];

/** The account menu. `place`: the current page. `first`: links before those of the account. */
export function Own(
  { session, place, first = [] }: {
    session: Session;
    place: string | null;
    first?: readonly OwnLink[];
  },
) {
  return (
    <div class="own">
      <div class="own-name">
        <span class="cut">{session.user.name}</span>
        <span class="cut muted tiny" title={session.user.email}>{session.user.email}</span>
      </div>
      <ul class="own-links">
        {[...first, ...account].map((one) => (
          <li>
            <a href={one.href} aria-current={one.place === place ? "page" : undefined}>{one.label}</a>
          </li>
        ))}
        <li>
          <form method="post" action="/sign-out" hx-boost="false">
            <button type="submit" class="as-link">Sign out</button>
          </form>
        </li>
      </ul>
    </div>
  );
}
