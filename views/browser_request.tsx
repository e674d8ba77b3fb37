// The page that shows an owner what their own browser sent, as it arrived behind whatever stands before the server.
import type { RequestFact } from "../domain/browser_request.ts";
import type { Verdict } from "../domain/check_result.ts";
import { Badge, type BadgeTone } from "./components/badge.tsx";
import { SubmitButton } from "./components/button.tsx";
import { Card } from "./components/card.tsx";
import { Icon } from "./components/icon.tsx";
import { Cell, type Column, Row, Table } from "./components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "./layout.tsx";

/** What the page shows. */
export interface BrowserRequestPageProps {
  readonly frame: PortalFrame;
  readonly facts: readonly RequestFact[];
  /** The facts are of the test form, and not of opening the page. */
  readonly isForm: boolean;
}

const columns: readonly Column[] = [
  { title: "What" },
  { title: "Arrived" },
  { title: "Expected" },
  { title: "Fits" },
];
const words: Readonly<Record<Verdict, { tone: BadgeTone; text: string }>> = {
  ok: { tone: "on", text: "Fits" },
  warning: { tone: "soon", text: "Look at it" },
  wrong: { tone: "soon", text: "Wrong" },
};

/** @returns The page of a request. */
export function browserRequestPage({ frame, facts, isForm }: BrowserRequestPageProps): Page {
  return (
    <PortalPage title="What your browser sent" frame={frame} place="organization">
      <div class="head">
        <a class="up-link" href="/portal/organization">
          <Icon name="back" />
          Organization
        </a>
        <h1>What your browser sent</h1>
        <p class="muted">
          As it arrived at the server, after every proxy on the way. Whoever runs the service can check the
          rest with <code>gatehouse check</code>.
        </p>
      </div>
      <Card title={isForm ? "This form" : "This page"} flush>
        <Table label="What arrived" columns={columns}>
          {facts.map(factRow)}
        </Table>
      </Card>
      <Card title="Forms">
        <form class="new-key" method="post" action="/portal/check" hx-boost="false">
          <p class="muted">
            With a form a browser says where it comes from. Send one that changes nothing, and see what
            arrives.
          </p>
          <div>
            <SubmitButton tone="plain">Send a test form</SubmitButton>
          </div>
        </form>
      </Card>
    </PortalPage>
  );
}

function factRow({ about, seen, expected, verdict, meaning }: RequestFact) {
  const { tone, text } = words[verdict];
  return (
    <Row>
      <Cell place="title">
        <div class="name">{about}</div>
        <div class="muted small">{meaning}</div>
      </Cell>
      <Cell label="Arrived">
        {seen === null ? <span class="muted">Nothing</span> : <code class="pick">{seen}</code>}
      </Cell>
      <Cell label="Expected">
        <span>{expected}</span>
      </Cell>
      <Cell place="state">
        <Badge tone={tone}>{text}</Badge>
      </Cell>
    </Row>
  );
}
