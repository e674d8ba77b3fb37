// The page of the active organization: its name, facts about it, and the ways out of it.
import type { Child } from "hono/jsx";
import type { Session } from "../../domain/sign_in/session.ts";
import { FormOrganization } from "./form_organization.tsx";
import { nameCharactersMax } from "../../domain/limits.ts";
import type { Role } from "../../domain/sign_in/session.ts";
import { ButtonLink, type ButtonTone, SubmitButton } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { TextField } from "../components/field.tsx";
import { Notice } from "../components/notice.tsx";
import { DayTime } from "../components/relative_time.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { groupDigits } from "../../domain/number_text.ts";
import { asRole, yourRoleSentences } from "../text/role.ts";

/** An organization as one of its members sees it. */
export interface OrganizationView {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly memberCount: number;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/** What the page shows. */
export interface OrganizationPageProps {
  readonly frame: PortalFrame;
  readonly organization: OrganizationView;
  /** Whoever looks is the only owner: they cannot leave. */
  readonly isOnlyOwner: boolean;
  readonly form: {
    /** The name as typed, at first the organization's. */
    readonly value: string;
    readonly fieldErrors: Readonly<Record<string, string>>;
    readonly error: string | null;
  };
  readonly flash: string | null;
}

/** @returns The page of the active organization. */
export function organizationPage(props: OrganizationPageProps): Page {
  const { frame, organization, isOnlyOwner, flash } = props;
  const isOwner = organization.role === "OWNER";
  return (
    <PortalPage title="Organization" frame={frame} place="organization">
      <div class="head">
        <h1>
          <bdi>{organization.name}</bdi>
        </h1>
        <p class="muted">
          {`You are ${asRole(organization.role)} here. ${yourRoleSentences[organization.role]}`}
        </p>
      </div>
      {flash === null ? null : <Notice tone="done" text={flash} />}
      <Card title="Name">
        {isOwner ? <RenameForm {...props.form} session={props.frame.session} /> : (
          <TextField
            label="Name of the organization"
            name="name"
            value={organization.name}
            hint="Only an owner can change it."
            autocomplete="off"
            maxlength={nameCharactersMax}
            readonly
          />
        )}
      </Card>
      <Card title="Facts" flush>
        <Facts organization={organization} now={frame.now} />
      </Card>
      <Card title="Ways out" flush>
        <ul class="acts">
          <Act
            title="Leave"
            text={isOnlyOwner
              ? "You are the only owner. Make another member the owner first, or delete the organization."
              : "You lose sight of this organization at once. The keys that you made here are revoked."}
          >
            {isOnlyOwner ? null : <ActLink href="/portal/members/leave">Leave</ActLink>}
          </Act>
          {isOwner
            ? (
              <>
                <Act title="Hand over" text="Another member becomes the owner, and you become an admin.">
                  {organization.memberCount > 1
                    ? <ActLink tone="plain" href="/portal/organization/hand-over">Choose a member</ActLink>
                    : <ActLink tone="plain" href="/portal/members">Invite somebody first</ActLink>}
                </Act>
                <Act
                  title="Delete"
                  text="The organization ends for everybody: keys stop at once, and everything recorded is deleted."
                >
                  <ActLink href="/portal/organization/delete">Delete</ActLink>
                </Act>
              </>
            )
            : null}
        </ul>
      </Card>
      {isOwner
        ? (
          <p class="muted small">
            <a href="/portal/check">See what your browser sends</a>{" "}
            when you set the service up behind a proxy.
          </p>
        )
        : null}
    </PortalPage>
  );
}

function RenameForm(
  { value, fieldErrors, error, session }: OrganizationPageProps["form"] & { session: Session },
) {
  return (
    <form class="new-key" method="post" action="/portal/organization" hx-disable="find button">
      <FormOrganization session={session} />
      {error === null ? null : <Notice tone="refused" text={error} />}
      <div class="row one">
        <TextField
          label="Name of the organization"
          name="name"
          value={value}
          hint="Members, invitations and the audit log show it."
          error={fieldErrors["name"]}
          autocomplete="organization"
          required
          maxlength={nameCharactersMax}
        />
        <SubmitButton>Rename</SubmitButton>
      </div>
    </form>
  );
}

function Facts({ organization, now }: { organization: OrganizationView; now: number }) {
  const { id, memberCount, createdAt } = organization;
  return (
    <dl class="facts">
      <div>
        <dt>Created</dt>
        <dd>
          <DayTime at={createdAt} now={now} />
        </dd>
      </div>
      <div>
        <dt>Members</dt>
        <dd>
          <a href="/portal/members">{groupDigits(memberCount)}</a>
        </dd>
      </div>
      <div>
        <dt>Id</dt>
        <dd>
          <code class="pick">{id}</code>
        </dd>
      </div>
    </dl>
  );
}

function Act({ title, text, children }: { title: string; text: string; children: Child }) {
  return (
    <li>
      <div>
        <h3>{title}</h3>
        <p class="muted small">{text}</p>
      </div>
      {children}
    </li>
  );
}

function ActLink(props: { href: string; tone?: ButtonTone; children: Child }) {
  return <ButtonLink tone={props.tone ?? "plain-destroy"} href={props.href}>{props.children}</ButtonLink>;
}
