// The page for operators who have no second factor yet.
import { ButtonLink } from "../components/button.tsx";
import { PageHead } from "../components/page_head.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

export function secondFactorPage({ frame }: { frame: PortalFrame }): Page {
  return (
    <PortalPage title="Set up two-step sign-in" frame={frame} place={null}>
      <div class="ask">
        <PageHead
          title="Set up two-step sign-in"
          text="The operator console shows every organization, so a password alone isn't enough. Add a passkey or an authenticator app, then come back."
        />
        <div class="buttons">
          <ButtonLink tone="primary" href="/portal/account/security">Go to security</ButtonLink>
        </div>
      </div>
    </PortalPage>
  );
}
