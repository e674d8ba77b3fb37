// Pages that products show in their own app: the bar above them, the page of limits, and what to do when an address doesn't work.
import type { Catalogue } from "../domain/meter/catalogue.ts";
import type { LimitStanding } from "../domain/meter/usage_limit.ts";
import { embedEnterHref } from "../domain/keys/portal_session.ts";
import { SubmitButton } from "./components/button.tsx";
import { Card } from "./components/card.tsx";
import { EmptyState } from "./components/empty_state.tsx";
import { GateCard } from "./components/gate_card.tsx";
import { LimitMeters } from "./components/limit_meters.tsx";
import { PageHead } from "./components/page_head.tsx";
import { PlanLink } from "./components/plan_link.tsx";
import { type Assets, type GateFrame, type Page, type PortalFrame, PortalPage } from "./layout.tsx";

export function limitsPage({ frame, limits, plan, catalogue }: {
  frame: PortalFrame;
  /** Limits with the largest part used first; null when they are not available. */
  limits: readonly LimitStanding[] | null;
  plan: string;
  catalogue: Catalogue;
}): Page {
  return (
    <PortalPage title="Limits" frame={frame} place="limits">
      <PageHead title="Limits" text="Usage counts towards these limits immediately." />
      <Card
        title="Current usage"
        aside={<PlanLink name={plan} frame={frame} />}
      >
        {limits === null
          ? <p class="muted">Not available right now</p>
          : limits.length === 0
          ? <EmptyState title="No limits" text="Usage isn’t limited." />
          : <LimitMeters limits={limits} now={frame.now} catalogue={catalogue} />}
      </Card>
    </PortalPage>
  );
}

/** The page for an address that a program opened, such as a link scanner: it takes a click. */
export function enterPage(
  { assets, given }: { assets: Assets; given: Readonly<Record<string, string | undefined>> },
): Page {
  const hidden = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => value ? [[name, value]] : []),
  );
  return (
    <GateCard frame={gateFrame(assets)} title="Continue" action={embedEnterHref} hidden={hidden}>
      <SubmitButton>Continue</SubmitButton>
    </GateCard>
  );
}

/** The page for an address or a session that doesn't work. */
export function deadPage({ assets, title, text }: { assets: Assets; title: string; text: string }): Page {
  return <GateCard frame={gateFrame(assets)} title={title} text={text} />;
}

function gateFrame(assets: Assets): GateFrame {
  return { assets, signUpOpen: false, isEmbedded: true };
}
