// The error page: what went wrong, what to do, and how to get help. It never shows internal details.
import { withReturnTo } from "../domain/people/return_to.ts";
import { ButtonLink } from "./components/button.tsx";
import { type GateFrame, GatePage, type Page, type PortalFrame, PortalPage } from "./layout.tsx";

interface ErrorPageProps {
  /** The signed-in frame if there is a session, otherwise the signed-out frame. */
  readonly frame: GateFrame | PortalFrame;
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly requestId: string;
  /** The people who can help. */
  readonly helpers?: readonly { readonly name: string; readonly email: string }[];
  /** For people who are signed out: the page to return to after signing in. */
  readonly returnTo: string | null;
}

export function errorPage(props: ErrorPageProps): Page {
  const { frame, title, returnTo } = props;
  if ("session" in frame) {
    return (
      <PortalPage title={title} frame={frame} place={null}>
        <div class="fault">
          <Words {...props} />
          {frame.embed !== null
            ? <ButtonLink href={frame.base}>Go back to the start</ButtonLink>
            : frame.isConsole
            ? <ButtonLink href="/operator">Go to the overview</ButtonLink>
            : frame.session.organization === null
            ? <ButtonLink href="/portal/organizations">Go to your organizations</ButtonLink>
            : <ButtonLink href="/portal">Go to the overview</ButtonLink>}
          <Help {...props} />
        </div>
      </PortalPage>
    );
  }
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <Words {...props} />
        <ButtonLink href={withReturnTo("/sign-in", returnTo)}>Go to sign-in</ButtonLink>
        <Help {...props} />
      </div>
    </GatePage>
  );
}

function Words({ status, title, message, helpers = [] }: ErrorPageProps) {
  return (
    <div>
      <p class="muted small">{`Error ${status}`}</p>
      <h1>{title}</h1>
      <p class="muted">{message}</p>
      {helpers.length > 0 && (
        <p class="muted">
          {`Ask ${helpers.length === 1 ? "the owner" : "an owner"}: `}
          {helpers.map(({ name, email }, index) => (
            <>
              {index > 0 && ", "}
              <a href={`mailto:${email}`}>
                <bdi>{name}</bdi>
              </a>
            </>
          ))}
        </p>
      )}
    </div>
  );
}

function Help({ requestId }: ErrorPageProps) {
  return (
    <p class="muted small">
      If you contact support, include this ID: <code class="pick">{requestId}</code>
    </p>
  );
}
