// The pages that ask before two-step sign-in is turned off, and before recovery codes are replaced.
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";
import { twoStepPath } from "./two_step.tsx";

const back = { href: twoStepPath, label: "Two-step sign-in" } as const;

/** What the pages show. */
export interface TwoStepActProps {
  readonly frame: PortalFrame;
  readonly recoveryCodesLeft: number;
}

/** @returns The page that asks whether to turn two-step sign-in off. */
export function turnOffTwoStepPage({ frame, recoveryCodesLeft }: TwoStepActProps): Page {
  return (
    <PortalPage title="Turn two-step sign-in off" frame={frame} place="security">
      <ConfirmPanel
        title="Turn two-step sign-in off?"
        text="From now on your password alone signs you in. Your recovery codes end; passkeys stay."
        facts={facts(frame, recoveryCodesLeft)}
        action={`${twoStepPath}/turn-off`}
        submit="Turn off"
        tone="destroy"
        back={back}
      />
    </PortalPage>
  );
}

/** @returns The page that asks whether to make new recovery codes. */
export function newRecoveryCodesPage({ frame, recoveryCodesLeft }: TwoStepActProps): Page {
  return (
    <PortalPage title="New recovery codes" frame={frame} place="security">
      <ConfirmPanel
        title="Make new recovery codes?"
        text="Those that you have now stop working. The new ones are shown once."
        facts={facts(frame, recoveryCodesLeft)}
        action={`${twoStepPath}/recovery-codes`}
        submit="Make new codes"
        tone="primary"
        back={back}
      />
    </PortalPage>
  );
}

function facts(frame: PortalFrame, left: number) {
  return [
    { label: "Account", value: <bdi>{frame.session.user.email}</bdi> },
    { label: "Recovery codes left", value: String(left) },
  ];
}
