// The page that asks to whom an organization is handed over.
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { RadioGroup } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import type { MemberView } from "./member_table.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { roleWords } from "../text/role.ts";

/** What the page shows. */
export interface HandOverPageProps {
  readonly frame: PortalFrame;
  /** The other members, some of them where they are many. */
  readonly members: readonly MemberView[];
  /** There are more than those. */
  readonly hasMore: boolean;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for the new owner. */
export function handOverPage({ frame, members, hasMore, fieldErrors }: HandOverPageProps): Page {
  return (
    <PortalPage title="Hand the organization over" frame={frame} place="organization">
      <div class="ask">
        <div class="head">
          <a class="up-link" href="/portal/organization">
            <Icon name="back" />
            Organization
          </a>
          <h1>
            Hand over “<bdi>{frame.session.organization?.name ?? ""}</bdi>”
          </h1>
          <p class="muted">Choose who becomes the owner. You are asked once more on the next page.</p>
        </div>
        {members.length === 0
          ? (
            <div class="card">
              <EmptyState title="You are alone here" text="Invite somebody first, and wait until they join.">
                <ButtonLink tone="primary" href="/portal/members">Invite somebody</ButtonLink>
              </EmptyState>
            </div>
          )
          : (
            <form class="card" method="post" action="/portal/organization/hand-over">
              <div class="body">
                <RadioGroup
                  label="The new owner"
                  name="userId"
                  value=""
                  choices={members.map(({ user, role }) => ({
                    value: user.id,
                    label: user.name,
                    hint: `${user.email} · ${roleWords[role]}`,
                  }))}
                  hint={hasMore ? "Others are on the page of members, each with “Make owner”." : undefined}
                  error={fieldErrors["userId"]}
                />
              </div>
              <footer>
                <SubmitButton>Go on</SubmitButton>
                <ButtonLink href="/portal/organization">Cancel</ButtonLink>
              </footer>
            </form>
          )}
      </div>
    </PortalPage>
  );
}
