// The page of an invitation's link. What it shows depends on who opens it; opening it does not use the invitation up. The
// token is only in forms, and in the address that leads back here after signing in.
import type { Child } from "hono/jsx";
import { nameCharactersMax } from "../../domain/limits.ts";
import type { InvitationOffer } from "../../domain/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { HiddenFields, PasswordField, TextField } from "../components/field.tsx";
import { GateCard } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { asRole, roleWords, yourRoleSentences } from "../text/role.ts";

/** Who opened the link. */
export type Invitee =
  /** The invited person, signed in. */
  | { readonly kind: "invited" }
  /** The invited person, signed in with an email address that is not confirmed yet. */
  | { readonly kind: "unverified"; readonly sendsMail: boolean }
  /** Someone else, signed in. */
  | { readonly kind: "other"; readonly email: string }
  /** No one is signed in, and the invited address has an account. */
  | { readonly kind: "signIn"; readonly href: string }
  /** No one is signed in, and the invited address has no account. */
  | {
    readonly kind: "signUp";
    readonly name: string;
    readonly fieldErrors: Readonly<Record<string, string>>;
  }
  /** The same, and sign-up is closed. */
  | { readonly kind: "closed" };

/** What the page shows. */
export interface AcceptInvitationPageProps {
  readonly frame: GateFrame;
  readonly token: string;
  readonly offer: InvitationOffer;
  readonly invitee: Invitee;
  /** What is wrong with the form as a whole. */
  readonly error: string | null;
}

/** @returns The page of a link that works. */
export function acceptInvitationPage(props: AcceptInvitationPageProps): Page {
  const { frame, offer, error } = props;
  const { organization, invitedBy, role } = offer;
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
        <Notice tone="refused" text={error} />
        <InviteePart {...props} />
      </div>
    </GatePage>
  );
}

/** @returns The page of a link that doesn't work. `home`: where to go instead. */
export function endedInvitationPage(
  { frame, home }: { frame: GateFrame; home: { readonly href: string; readonly label: string } },
): Page {
  return GateCard({
    frame,
    title: "This invitation is no longer valid",
    text:
      "It was already used, was revoked, was replaced by a newer one, or is more than seven days old. Ask the person " +
      "who invited you for a new one.",
    children: <ButtonLink href={home.href}>{home.label}</ButtonLink>,
  });
}

function InviteePart({ offer, invitee, token }: AcceptInvitationPageProps) {
  switch (invitee.kind) {
    case "invited":
      return (
        <TokenForm action="/invitations/accept" token={token}>
          <SubmitButton>{`Join ${offer.organization.name} as ${roleWords[offer.role]}`}</SubmitButton>
        </TokenForm>
      );
    case "unverified":
      return <Unverified email={offer.email} sendsMail={invitee.sendsMail} />;
    case "other":
      return (
        <>
          <p>
            This invitation is for <strong>{offer.email}</strong>, but you are signed in as{" "}
            <strong>{invitee.email}</strong>.
          </p>
          <TokenForm action="/invitations/sign-out" token={token}>
            <SubmitButton>Sign out and continue</SubmitButton>
          </TokenForm>
          <ButtonLink href="/portal">Stay signed in</ButtonLink>
        </>
      );
    case "signIn":
      return (
        <>
          <p>
            <strong>{offer.email}</strong> already has an account.
          </p>
          <ButtonLink tone="primary" href={invitee.href}>Sign in to accept</ButtonLink>
        </>
      );
    case "signUp":
      return <SignUpForm offer={offer} token={token} {...invitee} />;
    case "closed":
      return (
        <p>
          Sign-up is closed. Ask the operator of this service for an account with the email address{" "}
          <strong>{offer.email}</strong>, then open this link again.
        </p>
      );
  }
}

function Unverified({ email, sendsMail }: { email: string; sendsMail: boolean }) {
  if (!sendsMail) {
    return <p>Your email address is not confirmed, and this service sends no email. Ask its operator.</p>;
  }
  return (
    <>
      <p>
        Confirm <strong>{email}</strong>{" "}
        first: open the link in the email that we sent when you signed up. Then open this invitation again.
      </p>
      <form class="part" method="post" action="/portal/account/verification">
        <SubmitButton>Resend confirmation email</SubmitButton>
      </form>
    </>
  );
}

function SignUpForm(
  props: {
    offer: InvitationOffer;
    token: string;
    name: string;
    fieldErrors: Readonly<Record<string, string>>;
  },
) {
  const { offer, token, name, fieldErrors } = props;
  return (
    <TokenForm action="/invitations/sign-up" token={token}>
      <TextField
        label="Email"
        name="email"
        type="email"
        value={offer.email}
        hint="This invitation is for this address."
        error={fieldErrors["email"]}
        autocomplete="username"
        maxlength={offer.email.length}
        readonly
      />
      <TextField
        label="Your name"
        name="name"
        value={name}
        error={fieldErrors["name"]}
        autocomplete="name"
        required
        maxlength={nameCharactersMax}
        autofocus={Object.keys(fieldErrors).length === 0}
      />
      <PasswordField label="Password" name="password" isNew error={fieldErrors["password"]} />
      <SubmitButton>Create account and join</SubmitButton>
    </TokenForm>
  );
}

function TokenForm({ action, token, children }: { action: string; token: string; children: Child }) {
  return (
    <form class="part" method="post" action={action}>
      <HiddenFields values={{ token }} />
      {children}
    </form>
  );
}
