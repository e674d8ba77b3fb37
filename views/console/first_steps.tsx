// The overview before the first record: three steps that are ticked as they are done.
import type { Child } from "hono/jsx";
import { hasPermission } from "../../domain/access/permissions.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { CodeExample } from "../components/code_example.tsx";
import { EmptyState } from "../components/empty_state.tsx";
import { Form } from "../components/form.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHead } from "../components/page_head.tsx";
import { refresh } from "../components/refresh.ts";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

interface FirstStepsPageProps {
  readonly frame: PortalFrame;
  readonly hasKey: boolean;
  readonly hasOthers: boolean;
  readonly curl: string;
}

const everySeconds = 5;

/** With scripts, the page looks for completed steps, and becomes the overview with the first record. */
export function firstStepsPage({ frame, hasKey, hasOthers, curl }: FirstStepsPageProps): Page {
  const { organization } = frame.session;
  const mayInvite = organization !== null && hasPermission(organization.role, "members.manage");
  return (
    <PortalPage title="Overview" frame={frame} place="overview">
      <PageHead
        title="Welcome to {name}"
        name={organization?.name}
        text="Your first numbers are three steps and about three minutes away."
      />
      <section
        class="card"
        aria-label="First steps"
        hx-get="/portal"
        hx-push-url="false"
        {...refresh("#main", everySeconds)}
      >
        <Steps frame={frame} hasKey={hasKey} curl={curl} />
      </section>
      <div class="columns even">
        <section class="card">
          <EmptyState
            title="No usage yet"
            text="Totals, charts and your limits appear here after the first request."
          />
        </section>
        {!hasOthers && mayInvite && (
          <section class="card">
            <EmptyState
              title="No one else here yet"
              text="Invite the people who run your products. Members can create their own keys."
            >
              <ButtonLink href="/portal/members">Invite a member</ButtonLink>
            </EmptyState>
          </section>
        )}
      </div>
    </PortalPage>
  );
}

function Steps({ frame, hasKey, curl }: Omit<FirstStepsPageProps, "hasOthers">) {
  const { user } = frame.session;
  const isConfirmed = user.emailVerified || !frame.sendsMail;
  const first = !isConfirmed
    ? { title: "Confirm your email address", text: `Open the link that we sent to ${user.email}.` }
    : frame.sendsMail
    ? { title: "Confirm your email address", text: `${user.email} is confirmed.` }
    : { title: "Create your account", text: `You are signed in as ${user.email}.` };
  return (
    <ol class="steps">
      <Step number={1} isDone={isConfirmed} isNext={!isConfirmed} {...first}>
        <Form action="/portal/account/verification">
          <SubmitButton tone="plain">Resend email</SubmitButton>
        </Form>
      </Step>
      <Step
        number={2}
        isDone={hasKey}
        isNext={isConfirmed && !hasKey}
        title="Create your first API key"
        text="Your products use it to record usage."
      >
        <ButtonLink tone={hasKey ? "plain" : "primary"} href="/portal/api-keys/new">
          Create key
        </ButtonLink>
      </Step>
      <Step
        number={3}
        isDone={false}
        isNext={isConfirmed && hasKey}
        title="Record your first request"
        text="With curl, TypeScript or Python. It appears here as soon as it arrives."
        below={hasKey && (
          <CodeExample
            id="first-record"
            title="Record 1 request"
            samples={[{ language: "sh", code: curl }]}
          />
        )}
      >
        <ButtonLink href="/docs">Quick start</ButtonLink>
      </Step>
    </ol>
  );
}

function Step(props: {
  number: number;
  isDone: boolean;
  isNext: boolean;
  title: string;
  text: string;
  below?: Child;
  children: Child;
}) {
  const { number, isDone, isNext, title, text, below, children } = props;
  return (
    <li
      class={`step-row${isDone ? " done" : isNext ? " now" : ""}`}
      aria-current={isNext ? "step" : undefined}
    >
      <span class="step-mark">{isDone ? <Icon name="check" /> : number}</span>
      <div>
        <h2>{title}</h2>
        <p>{text}</p>
      </div>
      {isDone ? <span class="muted small">Done</span> : children}
      {below ? <div class="step-more">{below}</div> : null}
    </li>
  );
}
