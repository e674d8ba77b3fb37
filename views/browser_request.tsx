// The page that shows an owner what their own browser sent, as it arrived through any proxies.
import type { RequestFact } from "../domain/browser_request.ts";
import type { Verdict } from "../domain/check_result.ts";
import { Badge } from "./components/badge.tsx";
import { SubmitButton } from "./components/button.tsx";
import { Card } from "./components/card.tsx";
import { PageHead } from "./components/page_head.tsx";
import { Cell, Row, Table } from "./components/table.tsx";
import { type Page, type PortalFrame, PortalPage } from "./layout.tsx";

const columns = ["Check", "Received", "Expected", "Result"];
export const verdictLabels: Readonly<Record<Verdict, string>> = {
  ok: "OK",
  warning: "Review",
  wrong: "Wrong",
};

/** `withProxy`: the facts include proxies. `isForm`: they are about the test form. */
export function browserRequestPage(
  { frame, facts, withProxy, isForm }: {
    frame: PortalFrame;
    facts: readonly RequestFact[];
    withProxy: boolean;
    isForm: boolean;
  },
): Page {
  return (
    <PortalPage title="What your browser sent" frame={frame} place="organization">
      <PageHead
        back={{ href: "/portal/organization", label: "Organization" }}
        title="What your browser sent"
        text={withProxy
          ? (
            <>
              As it arrived at the server, after any proxies. Check the rest with{" "}
              <code>gatehouse check</code>.
            </>
          )
          : "As it arrived at the server. Operators also see what proxies sent, after signing in to the console."}
      />
      <Card title={isForm ? "This form" : "This page"} flush>
        <Table label="Received" columns={columns}>
          {facts.map(factRow)}
        </Table>
      </Card>
      <Card title="Forms">
        <form class="new-key" method="post" action="/portal/check" hx-boost="false">
          <p class="muted">
            With forms, browsers also send where they come from. The test form changes nothing.
          </p>
          <div>
            <SubmitButton tone="plain">Send test form</SubmitButton>
          </div>
        </form>
      </Card>
    </PortalPage>
  );
}

function factRow({ about, seen, expected, verdict, meaning }: RequestFact) {
  return (
    <Row>
      <Cell place="title">
        <div class="name">{about}</div>
        <div class="muted small">{meaning}</div>
      </Cell>
      <Cell label="Received">
        {seen === null ? <span class="muted">Nothing</span> : <code class="pick">{seen}</code>}
      </Cell>
      <Cell label="Expected" value={<span>{expected}</span>} />
      <Cell place="state">
        <Badge tone={verdict === "ok" ? "on" : "soon"}>{verdictLabels[verdict]}</Badge>
      </Cell>
    </Row>
  );
}
