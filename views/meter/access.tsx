// The page for signed-in people without access to an application behind a proxy: why, what to do, and the link back. It
// doesn't reveal whether an organization exists to people who aren't members.
import type { Child } from "hono/jsx";
import type { Membership, Role, User } from "../../domain/access/session.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Form } from "../components/form.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

/** The condition that the session doesn't meet. */
export type AccessState =
  | { readonly kind: "granted" }
  | { readonly kind: "email"; readonly sendsMail: boolean }
  | { readonly kind: "organization" }
  | {
    readonly kind: "role";
    readonly role: Role;
    /** The membership without the role; null without an active organization. */
    readonly membership: Membership | null;
    /** Some of the people who can change the role. */
    readonly owners: readonly { readonly name: string; readonly email: string }[];
    /** Memberships with a sufficient role. */
    readonly others: readonly Membership[];
  };

interface AccessPageProps {
  readonly frame: GateFrame;
  readonly user: User;
  readonly state: AccessState;
  /** The application, with an address checked by the caller; null if unknown. */
  readonly application: { readonly host: string; readonly href: string } | null;
  /** The page's own address, for its forms. */
  readonly address: string;
  readonly notice: NoticeProps | null;
}

export function accessPage(props: AccessPageProps): Page {
  const { frame, user, state, application, address, notice } = props;
  const isGranted = state.kind === "granted";
  const title = isGranted
    ? "You have access"
    : state.kind === "email"
    ? "Confirm your email address"
    : "You don't have access";
  return (
    <GatePage title={title} frame={frame}>
      <div class="card">
        <div>
          <h1>{title}</h1>
          <p class="muted">
            <Reason {...props} />
          </p>
        </div>
        {notice === null ? null : <Notice {...notice} />}
        <Remedy {...props} />
        {application && (
          <ButtonLink tone={isGranted ? "primary" : "plain"} href={application.href}>
            {isGranted ? "Continue" : "Try again"}
          </ButtonLink>
        )}
        <ActionForm address={address} act="sign-out">
          <SubmitButton tone="plain">Use another account</SubmitButton>
        </ActionForm>
        <p class="muted small">
          Signed in as <bdi>{user.email}</bdi>. <a href="/portal">Go to your account</a>
        </p>
      </div>
    </GatePage>
  );
}

function Reason({ state, user, application }: AccessPageProps) {
  const name = application === null ? "This application" : <bdi>{application.host}</bdi>;
  switch (state.kind) {
    case "granted":
      return <>Your account meets all requirements of {name}.</>;
    case "email":
      return (
        <>
          {name} is only open to people with a confirmed email address. {state.sendsMail
            ? (
              <>
                Open the link in the email we sent to <bdi>{user.email}</bdi>, then try again.
              </>
            )
            : "Email isn't set up on this server. Contact its administrator."}
        </>
      );
    case "organization":
      return (
        <>
          {name}{" "}
          is only open to members of another organization. Ask the person who sent you here for an invitation,
          or use another account.
        </>
      );
    case "role":
      return (
        <>
          {name} requires the role {roleWords[state.role]}
          {state.role === "OWNER" ? "" : " or higher"}.{" "}
          {state.membership === null ? "You don't have an active organization." : (
            <>
              Your role in <bdi>{state.membership.name}</bdi> is {roleWords[state.membership.role]}.
            </>
          )}
        </>
      );
  }
}

function Remedy({ state, address }: AccessPageProps) {
  if (state.kind === "email" && state.sendsMail) {
    return (
      <ActionForm address={address} act="send-email">
        <SubmitButton>Resend email</SubmitButton>
      </ActionForm>
    );
  }
  if (state.kind !== "role") return null;
  return (
    <>
      {state.owners.length === 0 ? null : (
        <div>
          <p>Ask an owner to change your role:</p>
          <ul>
            {state.owners.map(({ name, email }) => (
              <li>
                <bdi>{name}</bdi> <span class="muted small">{email}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {state.others.map(({ organizationId, name }) => (
        <ActionForm address={address} act="switch" organizationId={organizationId}>
          <SubmitButton>
            Switch to <bdi>{name}</bdi>
          </SubmitButton>
        </ActionForm>
      ))}
    </>
  );
}

function ActionForm(
  { address, act, organizationId, children }: {
    address: string;
    act: string;
    organizationId?: string;
    children: Child;
  },
) {
  return (
    <Form class="part" action={address} hidden={{ act, ...(organizationId ? { organizationId } : {}) }}>
      {children}
    </Form>
  );
}
