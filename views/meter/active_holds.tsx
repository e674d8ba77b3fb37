// The active holds of an API key, with their age.
import type { Catalogue } from "../../domain/meter/catalogue.ts";
import type { Hold } from "../../domain/meter/hold.ts";
import { Card } from "../components/card.tsx";
import { RelativeTime } from "../components/relative_time.tsx";
import { limitQuantity, scopeName } from "../text/limit.ts";

/** Nothing without holds. @param isPart Whether there are more than these. */
export function ActiveHolds(
  { holds, isPart, catalogue, now }: {
    holds: readonly Hold[];
    isPart: boolean;
    catalogue: Catalogue;
    now: number;
  },
) {
  if (holds.length === 0) return null;
  return (
    <Card title="Active holds" aside={isPart && <span class="muted tiny">Newest {holds.length}</span>} flush>
      <ul class="items plain">
        {holds.map(({ id, records, heldBy, onExpiry, createdAt, expiresAt }) => (
          <li>
            <div>
              {records.map((record) => (
                <span class="block">
                  {`${scopeName(record, catalogue)}: ${limitQuantity(record, catalogue)}`}
                </span>
              ))}
              <span class="second">
                <RelativeTime at={createdAt} now={now} />
                {heldBy === "operator" && " · by the operator"}
                {onExpiry === "record" ? " · recorded " : " · expires "}
                <RelativeTime at={expiresAt} now={now} />
              </span>
              <code class="tiny">{id}</code>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
