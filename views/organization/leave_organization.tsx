// The page that asks before one leaves an organization; an only owner is told what to do first.
import { ButtonLink } from "../components/button.tsx";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { memberFacts, membersBack, type MemberView } from "./member_table.tsx";
import { Notice } from "../components/notice.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { countOf } from "../../domain/number_text.ts";

/** What the page shows. */
export interface LeaveOrganizationPageProps {
  readonly frame: PortalFrame;
  /** Whoever looks. */
  readonly member: MemberView;
  /** Why they cannot leave. */
  readonly error: string | null;
}

/** @returns The page that asks whether to leave. */
export function leaveOrganizationPage({ frame, member, error }: LeaveOrganizationPageProps): Page {
  const name = frame.session.organization?.name ?? "";
  const title = (
    <>
      Leave “<bdi>{name}</bdi>”?
    </>
  );
  if (error !== null) {
    return (
      <PortalPage title="Leave the organization" frame={frame} place="members">
        <div class="ask">
          <div class="head">
            <h1>{title}</h1>
          </div>
          <Notice tone="refused" text={error} />
          <div class="buttons">
            <ButtonLink href="/portal/members">Go to members</ButtonLink>
            <ButtonLink href="/portal/organization">Go to the organization</ButtonLink>
          </div>
        </div>
      </PortalPage>
    );
  }
  const { activeApiKeys: keys } = member;
  return (
    <PortalPage title="Leave the organization" frame={frame} place="members">
      <ConfirmPanel
        title={title}
        text={`You lose sight of it at once${
          keys === 0
            ? ""
            : `, and your ${countOf(keys, "active key")} here ${keys === 1 ? "is" : "are"} revoked`
        }. To come back, you need an invitation.`}
        facts={memberFacts(member, frame.now)}
        action="/portal/members/leave"
        about={{ organizationId: frame.session.organization?.organizationId ?? "" }}
        submit="Leave"
        tone="destroy"
        back={membersBack}
      />
    </PortalPage>
  );
}
