// The page behind a link that confirms an email address. The link alone confirms nothing: it also takes a session of the same
// account, and a click on the button, because spam filters open links too.
import { findEmailLink, verifyEmail } from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Form } from "../../views/components/form.tsx";
import { GateCard, GateHint } from "../../views/components/gate_card.tsx";
import type { GateFrame } from "../../views/layout.tsx";
import type { App } from "../env.ts";
import { sessionActor } from "../session.ts";
import { mountLinkPage } from "../portal/link_page.ts";
import { gateFrame, type PortalParts, redirect } from "../portal/page.ts";

const path = "/verify-email";

export function verifyEmailPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const frame = gateFrame(parts);

  mountLinkPage(app, parts, {
    path,
    async show(token, session, error) {
      if (error === "email_taken") return { page: takenPage(frame) };
      if (error !== undefined && error !== "invalid_token" && error !== "wrong_account") return null;
      const link = await findEmailLink(services, token);
      if (link === null) {
        const confirmed = session?.user.emailVerified ? session.user.email : null;
        return { isDead: true, page: deadPage(frame, { isSignedIn: session !== null, confirmed }) };
      }
      const { userId, ...shown } = { ...link, token };
      if (session === null) return { page: signedOutPage(frame, shown) };
      const isOwn = session.user.id === userId;
      return { page: isOwn ? readyPage(frame, shown) : otherPage(frame, link.email, session.user.email) };
    },
    async use(c, token, session) {
      if (session === null) return redirect(c, signInHref(token));
      const { purpose } = await verifyEmail(services, sessionActor(c, session), token);
      return redirect(c, `/portal/account?done=${purpose === "verify_email" ? "confirmed" : "changed"}`);
    },
  });
}

/** The only address that contains the token: the sign-in page, which returns here. */
function signInHref(token: string): string {
  return `/sign-in?return_to=${encodeURIComponent(`${path}?token=${encodeURIComponent(token)}`)}`;
}

const account = { href: "/portal/account", label: "Go to your account" };

interface Link {
  readonly purpose: "verify_email" | "change_email";
  /** The address that the link confirms. */
  readonly email: string;
  readonly token: string;
}

function readyPage(frame: GateFrame, { purpose, email, token }: Link) {
  const address = <strong>{email}</strong>;
  return (
    <GateCard
      frame={frame}
      title={purpose === "verify_email" ? "Confirm your email address" : "Change your email address"}
      text={purpose === "verify_email"
        ? <>Confirm that {address} is yours. Other sessions of this account will be signed out.</>
        : <>You'll sign in with {address} and receive our emails there.</>}
      action={path}
      hidden={{ token }}
    >
      <SubmitButton>
        <span class="cut">Confirm {email}</span>
      </SubmitButton>
      <GateHint text="Not now?" {...account} />
    </GateCard>
  );
}

function signedOutPage(frame: GateFrame, { purpose, email, token }: Link) {
  const address = <strong>{email}</strong>;
  return (
    <GateCard
      frame={frame}
      title="Sign in to confirm"
      text={purpose === "verify_email"
        ? <>Sign in to your account to confirm that {address} is yours.</>
        : <>Sign in to your account to change its email address to {address}.</>}
    >
      <ButtonLink tone="primary" href={signInHref(token)}>Sign in to confirm</ButtonLink>
      <p class="small muted">
        {purpose === "verify_email"
          ? (
            <>
              Didn't create this account? You can ignore this, or{" "}
              <a href="/forgot-password">reset its password</a>{" "}
              to take it over and remove everyone else's access.
            </>
          )
          : "Don't have an account here? Someone mistyped their new address. You can ignore this."}
      </p>
    </GateCard>
  );
}

function otherPage(frame: GateFrame, email: string, signedInAs: string) {
  const text = (
    <>
      You're signed in as <strong>{signedInAs}</strong>. To confirm{" "}
      <strong>{email}</strong>, sign in to the account it belongs to and open the link again.
    </>
  );
  return (
    <GateCard frame={frame} title="This link is for another account" text={text}>
      <Form action="/sign-out">
        <SubmitButton tone="plain">Sign out</SubmitButton>
      </Form>
      <GateHint text="Not yours?" {...account} />
    </GateCard>
  );
}

/** @param viewer `confirmed`: the confirmed address of the signed-in account. */
function deadPage(frame: GateFrame, viewer: { isSignedIn: boolean; confirmed: string | null }) {
  const { isSignedIn, confirmed } = viewer;
  const text = confirmed === null
    ? "It may have expired, been used already, or been replaced by a newer one."
    : (
      <>
        It has expired or was used already. Your email address <strong>{confirmed}</strong> is confirmed.
      </>
    );
  return (
    <GateCard frame={frame} title="This link doesn't work" text={text}>
      <ButtonLink tone={confirmed === null ? "primary" : "plain"} href={account.href}>
        {isSignedIn ? account.label : "Sign in to request a new one"}
      </ButtonLink>
    </GateCard>
  );
}

function takenPage(frame: GateFrame) {
  const text = "Another account now uses it. Your account keeps its current address.";
  return (
    <GateCard frame={frame} title="This email address is taken" text={text}>
      <ButtonLink href={account.href}>{account.label}</ButtonLink>
    </GateCard>
  );
}
