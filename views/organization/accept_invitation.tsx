// The page that an invitation's link leads to. Whoever looks decides what is on it; looking uses nothing up. The token is
// in forms alone, and in the address that leads back here after signing in.
import type { Child } from "hono/jsx";
import { nameCharactersMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { PasswordField, TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { asRole, roleWords, yourRoleSentences } from "../text/role.ts";

/** What an invitation's link offers. */
export interface OfferView {
  readonly organization: { readonly name: string };
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
}

/** Who looks. */
export type Invitee =
  /** The one who is invited, signed in. */
  | { readonly kind: "invited" }
  /** The one who is invited, with an address that is not proved yet. */
  | { readonly kind: "unverified"; readonly sendsMail: boolean }
  /** Somebody else, signed in. */
  | { readonly kind: "other"; readonly email: string }
  /** Nobody is signed in, and the address has an account. */
  | { readonly kind: "signIn"; readonly href: string }
  /** Nobody is signed in, and the address has no account. */
  | {
    readonly kind: "signUp";
    readonly name: string;
    readonly fieldErrors: Readonly<Record<string, string>>;
  }
  /** So it is, and nobody can make an account. */
  | { readonly kind: "closed" };

/** What the page shows. */
export interface AcceptInvitationPageProps {
  readonly frame: GateFrame;
  readonly token: string;
  readonly offer: OfferView;
  readonly invitee: Invitee;
  /** What is wrong with the whole form. */
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
            {invitedBy === null ? "You are invited" : `${invitedBy} invites you`}
            {` to join as ${asRole(role)}. ${yourRoleSentences[role]}`}
          </p>
        </div>
        {error === null ? null : <Notice tone="refused" text={error} />}
        <InviteePart {...props} />
      </div>
    </GatePage>
  );
}

/** @returns The page of a link that does not work; `home`: where the way out leads. */
export function endedInvitationPage(
  { frame, home }: { frame: GateFrame; home: { readonly href: string; readonly label: string } },
): Page {
  return (
    <GatePage title="This invitation does not work" frame={frame}>
      <div class="card">
        <div>
          <h1>This invitation does not work</h1>
          <p class="muted">
            It was used already, was revoked, was replaced by a newer mail, or is older than seven days. Ask
            whoever invited you to send it again.
          </p>
        </div>
        <ButtonLink href={home.href}>{home.label}</ButtonLink>
      </div>
    </GatePage>
  );
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
            The invitation is for <strong>{offer.email}</strong>, and you are signed in as{" "}
            <strong>{invitee.email}</strong>.
          </p>
          <TokenForm action="/invitations/sign-out" token={token}>
            <SubmitButton>Sign out and go on</SubmitButton>
          </TokenForm>
          <ButtonLink href="/portal">Stay signed in</ButtonLink>
        </>
      );
    case "signIn":
      return (
        <>
          <p>
            <strong>{offer.email}</strong> has an account here.
          </p>
          <ButtonLink tone="primary" href={invitee.href}>Sign in to accept</ButtonLink>
        </>
      );
    case "signUp":
      return <SignUpForm offer={offer} token={token} {...invitee} />;
    case "closed":
      return (
        <p>
          Accounts are made by the people who run this service. Ask them for one with the address{" "}
          <strong>{offer.email}</strong>, then open this link again.
        </p>
      );
  }
}

function Unverified({ email, sendsMail }: { email: string; sendsMail: boolean }) {
  if (!sendsMail) {
    return <p>Your address is not confirmed, and this service sends no mails. Ask the people who run it.</p>;
  }
  return (
    <>
      <p>
        First confirm that <strong>{email}</strong>{" "}
        is yours: open the link in the mail that we sent you when you signed up. Then open the invitation
        again.
      </p>
      <form class="part" method="post" action="/portal/account/verification">
        <SubmitButton>Send that mail again</SubmitButton>
      </form>
    </>
  );
}

function SignUpForm(
  props: { offer: OfferView; token: string; name: string; fieldErrors: Readonly<Record<string, string>> },
) {
  const { offer, token, name, fieldErrors } = props;
  return (
    <TokenForm action="/invitations/sign-up" token={token}>
      <TextField
        label="E-mail"
        name="email"
        type="email"
        value={offer.email}
        hint="The invitation is for this address."
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
      <input type="hidden" name="token" value={token} />
      {children}
    </form>
  );
}
