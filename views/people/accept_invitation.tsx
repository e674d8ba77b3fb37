// The page of an invitation's link. What it shows depends on who opens it; opening it does not use the invitation up. The
// token is only in forms, and in the address that leads back here after signing in.
import type { InvitationOffer } from "../../domain/organization.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmailField, NameField, PasswordField } from "../components/field.tsx";
import { errorAt, Form, type FormErrors } from "../components/form.tsx";
import { GateCard } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { ProviderButtons, type ProviderOffer } from "./provider_buttons.tsx";
import { asRole, roleWords, yourRoleSentences } from "../text/role.ts";

interface SignUp extends Pick<FormErrors, "fields"> {
  readonly kind: "signUp";
  readonly name: string;
}

export type Invitee =
  | { readonly kind: "invited" }
  /** The invited person, signed in with an email address that is not confirmed yet. */
  | { readonly kind: "unverified"; readonly sendsMail: boolean }
  | { readonly kind: "other"; readonly email: string }
  /** No one is signed in, and the invited address has an account. */
  | { readonly kind: "signIn"; readonly href: string }
  /** No one is signed in, and the invited address has no account. */
  | SignUp
  /** No one is signed in, the invited address has no account, and sign-up is closed. */
  | { readonly kind: "closed" };

interface AcceptInvitationPageProps {
  readonly frame: GateFrame;
  readonly token: string;
  readonly offer: InvitationOffer;
  readonly invitee: Invitee;
  readonly providers: ProviderOffer;
  readonly error: string | null;
}

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
        <Notice tone="error" text={error} />
        <InviteePart {...props} />
      </div>
    </GatePage>
  );
}

/** Shows that a link doesn't work. `home`: where to go instead. */
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

function InviteePart({ offer, invitee, providers, token }: AcceptInvitationPageProps) {
  const buttons = <ProviderButtons {...providers} query={{ invitation: token }} />;
  switch (invitee.kind) {
    case "invited":
      return (
        <Form class="part" action="/invitations/accept" hidden={{ token }}>
          <SubmitButton>{`Join ${offer.organization.name} as ${roleWords[offer.role]}`}</SubmitButton>
        </Form>
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
          <Form class="part" action="/invitations/sign-out" hidden={{ token }}>
            <SubmitButton>Sign out and continue</SubmitButton>
          </Form>
          <ButtonLink href="/portal">Stay signed in</ButtonLink>
        </>
      );
    case "signIn":
      return (
        <>
          <p>
            <strong>{offer.email}</strong> already has an account.
          </p>
          {buttons}
          <ButtonLink tone="primary" href={invitee.href}>Sign in to accept</ButtonLink>
        </>
      );
    case "signUp":
      return (
        <>
          {buttons}
          <SignUpForm offer={offer} token={token} {...invitee} />
        </>
      );
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
      <Form class="part" action="/portal/account/verification">
        <SubmitButton>Resend confirmation email</SubmitButton>
      </Form>
    </>
  );
}

function SignUpForm({ offer, token, name, fields }: { offer: InvitationOffer; token: string } & SignUp) {
  return (
    <Form class="part" action="/invitations/sign-up" hidden={{ token }}>
      <EmailField
        label="Email"
        value={offer.email}
        hint="This invitation is for this address."
        error={fields["email"]}
        autocomplete="username"
        readonly
      />
      <NameField
        label="Your name"
        value={name}
        {...errorAt(fields, "name")}
        autocomplete="name"
        autofocus
      />
      <PasswordField label="Password" name="password" isNew error={fields["password"]} />
      <SubmitButton>Create account and join</SubmitButton>
    </Form>
  );
}
