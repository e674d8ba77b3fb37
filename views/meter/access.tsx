// The page for a signed-in person whom an application behind a proxy rejects: why, what to do, and the way back. It never
// says whether an organization exists to people who aren't members of it.
import type { Child } from "hono/jsx";
import type { Membership, Role, User } from "../../domain/sign_in/session.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Notice, type NoticeProps } from "../components/notice.tsx";
import { type GateFrame, GatePage, type Page } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

/** What the session lacks. */
export type AccessState =
  /** Nothing, by now. */
  | { readonly kind: "granted" }
  | { readonly kind: "email"; readonly sendsMail: boolean }
  | { readonly kind: "organization" }
  | {
    readonly kind: "role";
    readonly role: Role;
    /** Where the role is missing; null for a person without an active organization. */
    readonly membership: Membership | null;
    /** Some of those who can change it. */
    readonly owners: readonly { readonly name: string; readonly email: string }[];
    /** Where it would be enough. */
    readonly others: readonly Membership[];
  };

/** What the page shows. */
export interface AccessPageProps {
  readonly frame: GateFrame;
  readonly user: User;
  readonly state: AccessState;
  /** The application: its host for people, and a whole address, checked by the caller; null when it isn't known. */
  readonly application: { readonly host: string; readonly href: string } | null;
  /** The page's own address, which its forms are sent to. */
  readonly address: string;
  readonly notice: NoticeProps | null;
}

/** @returns The page. */
export function accessPage(props: AccessPageProps): Page {
  const { frame, user, state, application, address, notice } = props;
  const title = titleOf(state);
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
        {application === null
          ? null
          : (
            <ButtonLink tone={state.kind === "granted" ? "primary" : "plain"} href={application.href}>
              {state.kind === "granted" ? "Continue" : "Try again"}
            </ButtonLink>
          )}
        <Act address={address} act="sign-out">
          <SubmitButton tone="plain">Use another account</SubmitButton>
        </Act>
        <p class="muted small">
          Signed in as <bdi>{user.email}</bdi>. <a href="/portal">Go to your account</a>
        </p>
      </div>
    </GatePage>
  );
}

function titleOf({ kind }: AccessState): string {
  if (kind === "granted") return "You have access";
  return kind === "email" ? "Confirm your email address" : "You don’t have access";
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
            : "This service doesn’t send email. Contact the people who run it."}
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
          {state.membership === null ? "You don’t have an active organization." : (
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
      <Act address={address} act="send-email">
        <SubmitButton>Send the email again</SubmitButton>
      </Act>
    );
  }
  if (state.kind !== "role") return null;
  const { owners, others } = state;
  return (
    <>
      {owners.length === 0 ? null : (
        <div>
          <p>Ask an owner to change your role:</p>
          <ul>
            {owners.map(({ name, email }) => (
              <li>
                <bdi>{name}</bdi> <span class="muted small">{email}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {others.map(({ organizationId, name }) => (
        <Act address={address} act="switch" organizationId={organizationId}>
          <SubmitButton>
            Switch to <bdi>{name}</bdi>
          </SubmitButton>
        </Act>
      ))}
    </>
  );
}

function Act(
  { address, act, organizationId, children }: {
    address: string;
    act: string;
    organizationId?: string;
    children: Child;
  },
) {
  return (
    <form class="part" method="post" action={address}>
      <input type="hidden" name="act" value={act} />
      {organizationId === undefined
        ? null
        : <input type="hidden" name="organizationId" value={organizationId} />}
      {children}
    </form>
  );
}
