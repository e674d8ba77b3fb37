// The page of an invitation's link, and its forms. What it shows depends on who opens it. A GET does not use the invitation up: mail
// scanners open links. The token is only in forms, and in the address that leads back here after signing in.
import type { Session } from "../../domain/access/session.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import type { InvitationOffer } from "../../domain/organization.ts";
import {
  acceptInvitation,
  checkNewPassword,
  findInvitationOffer,
  signUp,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { EmailField, NameField, PasswordField } from "../../views/components/field.tsx";
import { Form, typed } from "../../views/components/form.tsx";
import { GateCard } from "../../views/components/gate_card.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { type GateFrame, GatePage } from "../../views/layout.tsx";
import { ProviderButtons, type ProviderOffer } from "../../views/people/provider_buttons.tsx";
import { asRole, roleWords, yourRoleSentences } from "../../views/text/role.ts";
import type { App, AppContext } from "../env.ts";
import { type FormState, mountForm, mountTarget, newForm } from "../portal/form.ts";
import { gateFrame, home, openRoutes, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { check, checkTogether } from "../schemas/check.ts";
import { beginSession, findSession, sessionActor } from "../session.ts";
import { endSessions } from "../sign_out.ts";
import { signUpSchema } from "./schemas/sign_in.ts";
import { providerOffer } from "./sign_in.tsx";

const path = "/invitations/accept";
/** The page after joining. */
export const invitationJoined = "/portal/members?done=joined";
const explained: ReadonlySet<ErrorCode> = new Set(["invalid_token", "wrong_account", "email_unverified"]);

export function portalAcceptInvitationRoutes(app: App, parts: PortalParts): void {
  const { services } = parts;
  const routes = openRoutes(app, (handler) => (c) => {
    // The token in the address must not reach other sites.
    c.set("responseHeaders", [["referrer-policy", "same-origin"]]);
    return handler(c);
  });

  async function show(c: AppContext, _actor: null, form: FormState): Promise<Response> {
    const { token = "" } = form.input ?? c.req.query();
    const frame = gateFrame(parts);
    const [offer, session, providers] = await Promise.all([
      findInvitationOffer(services, token),
      findSession(c, parts),
      providerOffer(c, parts),
    ]);
    if (offer === null) return await sendPage(c, endedPage(frame, session !== null), 404);
    const { signUp } = parts.config;
    const sendsMail = services.mail.mode !== "none";
    const page = invitationPage(frame, { token, offer, session, providers, signUp, sendsMail, form });
    return await sendPage(c, page, form.status);
  }

  mountForm(routes, {
    path,
    show,
    async submit(c, actor, input) {
      const session = await findSession(c, parts);
      if (session === null) return await show(c, actor, { ...newForm, input, status: 401 });
      await acceptInvitation(services, sessionActor(c, session), input["token"] ?? "");
      return redirect(c, invitationJoined);
    },
    explained,
  });

  mountTarget(routes, {
    path: "/invitations/sign-up",
    show,
    async submit(c, _actor, { token: invitationToken = "", name = "", password = "" }) {
      const input = await checkTogether(
        () => check(signUpSchema, { name, password, invitationToken }, "body"),
        () => checkNewPassword(services, password, { email: "", name }),
      );
      await beginSession(c, parts, (client) => signUp(services, client, input));
      return redirect(c, invitationJoined);
    },
    explained,
  });

  mountTarget(routes, {
    path: "/invitations/sign-out",
    show,
    async submit(c, _actor, { token = "" }) {
      await endSessions(c, parts);
      return redirect(c, invitationAddress(token));
    },
  });

  // For people who reload the address of a form.
  for (const form of ["sign-up", "sign-out"]) app.get(`/invitations/${form}`, (c) => redirect(c, home));
}

export function invitationAddress(token: string): string {
  return `${path}?token=${encodeURIComponent(token)}`;
}

/** Returns the token in an {@linkcode invitationAddress}; undefined for other addresses. */
export function invitationTokenIn(address: string | null): string | undefined {
  const [page, query] = address?.split("?") ?? [];
  return page === path ? new URLSearchParams(query).get("token") ?? undefined : undefined;
}

interface Shown {
  readonly token: string;
  readonly offer: InvitationOffer;
  readonly session: Session | null;
  readonly providers: ProviderOffer;
  readonly signUp: PortalParts["config"]["signUp"];
  readonly sendsMail: boolean;
  readonly form: FormState;
}

function invitationPage(frame: GateFrame, shown: Shown) {
  const { organization, invitedBy, role } = shown.offer;
  return (
    <GatePage title={`Join ${organization.name}`} frame={frame}>
      <div class="card">
        <div>
          <h1>
            Join <bdi>{organization.name}</bdi>
          </h1>
          <p class="muted small">
            {invitedBy === null ? "You have been invited" : `${invitedBy} invited you`}
            {` to join as ${asRole(role)}. ${yourRoleSentences[role]}`}
          </p>
        </div>
        <Notice tone="error" text={shown.form.message} />
        {shown.session === null ? <SignedOut {...shown} /> : <SignedIn {...shown} {...shown.session} />}
      </div>
    </GatePage>
  );
}

/** Shows that a link doesn't work. */
function endedPage(frame: GateFrame, isSignedIn: boolean) {
  const text =
    "It was already used, was revoked, was replaced by a newer one, or is more than seven days old. Ask the person " +
    "who invited you for a new one.";
  return (
    <GateCard frame={frame} title="This invitation is no longer valid" text={text}>
      {isSignedIn
        ? <ButtonLink href="/portal">Go to the portal</ButtonLink>
        : <ButtonLink href="/sign-in">Go to sign-in</ButtonLink>}
    </GateCard>
  );
}

function SignedIn({ token, offer: { organization, role, email }, sendsMail, user }: Shown & Session) {
  if (user.email !== email) {
    return (
      <>
        <p>
          This invitation is for <strong>{email}</strong>, but you are signed in as{" "}
          <strong>{user.email}</strong>.
        </p>
        <Form class="part" action="/invitations/sign-out" hidden={{ token }}>
          <SubmitButton>Sign out and continue</SubmitButton>
        </Form>
        <ButtonLink href="/portal">Stay signed in</ButtonLink>
      </>
    );
  }
  if (user.emailVerified) {
    return (
      <Form class="part" action={path} hidden={{ token }}>
        <SubmitButton>{`Join ${organization.name} as ${roleWords[role]}`}</SubmitButton>
      </Form>
    );
  }
  if (!sendsMail) {
    return <p>Your email address is not confirmed, and this service sends no email. Ask its operator.</p>;
  }
  return (
    <>
      <p>
        Confirm <strong>{email}</strong>{" "}
        first: open the link in the email that we sent when you signed up. Then open this invitation again.
      </p>
      <Form class="part" action="/portal/account/verification">
        <SubmitButton>Resend confirmation email</SubmitButton>
      </Form>
    </>
  );
}

function SignedOut({ token, offer: { email, hasAccount }, providers, signUp, form }: Shown) {
  const buttons = <ProviderButtons {...providers} query={{ invitation: token }} />;
  if (hasAccount) {
    return (
      <>
        <p>
          <strong>{email}</strong> already has an account.
        </p>
        {buttons}
        <ButtonLink
          tone="primary"
          href={`/sign-in?return_to=${encodeURIComponent(invitationAddress(token))}`}
        >
          Sign in to accept
        </ButtonLink>
      </>
    );
  }
  if (signUp === "closed") {
    return (
      <p>
        Sign-up is closed. Ask the operator of this service for an account with the email address{" "}
        <strong>{email}</strong>, then open this link again.
      </p>
    );
  }
  return (
    <>
      {buttons}
      <Form class="part" action="/invitations/sign-up" hidden={{ token }}>
        <EmailField
          label="Email"
          value={email}
          hint="This invitation is for this address."
          error={form.fields["email"]}
          autocomplete="username"
          readonly
        />
        <NameField label="Your name" {...typed(form, "name")} autocomplete="name" autofocus />
        <PasswordField label="Password" name="password" isNew error={form.fields["password"]} />
        <SubmitButton>Create account and join</SubmitButton>
      </Form>
    </>
  );
}
