// The statements on the console's page of an organization.
import { groupDigits } from "../../domain/number_text.ts";
import { Badge } from "../components/badge.tsx";
import { Card } from "../components/card.tsx";
import { Cell, Row, Table } from "../components/table.tsx";
import { statementsHref } from "./links.ts";
import { periodWords, statementCsvHref, statementHref } from "./statement_text.ts";

export interface OrganizationStatementsProps {
  readonly organizationId: string;
  /** The metric of the quantities; null without usage. */
  readonly metric: string | null;
  readonly statements: readonly {
    readonly statement: { readonly id: string; readonly period: string };
    /** Null while the month is being closed. */
    readonly quantity: string | null;
    readonly adjustments: number;
  }[];
  /** The next month to close, such as `2026-11`. */
  readonly open: string;
}

/** The newest statements with this organization's quantities, and the open month. */
export function OrganizationStatements(props: OrganizationStatementsProps) {
  const { organizationId, metric, statements, open } = props;
  return (
    <Card title="Statements" aside={<a class="small" href={statementsHref}>All statements</a>} flush>
      <Table
        label="Statements"
        columns={["Month", { title: metric ?? "Quantity", isNumber: true }, "Status"]}
        isSmall
      >
        <Row>
          <Cell place="title" value={<span>{periodWords(open)}</span>} />
          <Cell label={metric ?? "Quantity"} isNumber value="–" />
          <Cell place="state" value={<Badge tone="soon">Open</Badge>} />
        </Row>
        {statements.map(({ statement: { id, period }, quantity, adjustments }) => (
          <Row>
            <Cell place="title">
              <a class="name" href={statementHref(id, organizationId)}>{periodWords(period)}</a>
              {adjustments > 0 && <div class="muted tiny">With adjustments</div>}
            </Cell>
            <Cell
              label={metric ?? "Quantity"}
              isNumber
              value={quantity === null ? "–" : groupDigits(quantity)}
            />
            <Cell
              place="state"
              value={quantity === null
                ? <Badge tone="soon">Closing</Badge>
                : <a href={statementCsvHref(id, organizationId)} hx-boost="false">CSV</a>}
            />
          </Row>
        ))}
      </Table>
    </Card>
  );
}
