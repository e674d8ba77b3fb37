// The page between signing in and a product on another origin. It goes on by itself, without scripts, and has a link for
// browsers that do not.
import { ButtonLink } from "../components/button.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";

/** What the page shows. */
export interface ContinuePageProps {
  readonly frame: GateFrame;
  /** A whole address, checked by the caller. */
  readonly href: string;
  /** Its host, with the port. */
  readonly host: string;
}

/** @returns The page that leads on. */
export function continuePage({ frame, href, host }: ContinuePageProps): Page {
  return (
    <GatePage title="Signed in" frame={frame} goOnTo={href}>
      <div class="card">
        <div>
          <h1>You are signed in</h1>
          <p class="muted">
            Going on to <bdi>{host}</bdi>.
          </p>
        </div>
        <ButtonLink tone="primary" href={href}>Go on</ButtonLink>
      </div>
    </GatePage>
  );
}
