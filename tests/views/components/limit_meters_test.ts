// Meters say in words what their bars show.
import assert from "node:assert/strict";
import { type Catalogue, catalogueOf } from "../../../domain/meter/catalogue.ts";
import type { LimitStanding } from "../../../domain/meter/usage_limit.ts";
import { LimitMeters } from "../../../views/components/limit_meters.tsx";

const now = Date.parse("2026-11-22T15:12:00Z");

/** @returns The text of a meter, a bar as its width in brackets. */
function textOf(html: string): string {
  return html.replaceAll(/<rect width="([^"]*)"[^>]*>/g, "[$1]").replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ").trim();
}

async function shown(limit: Partial<LimitStanding>, catalogue?: Catalogue): Promise<string> {
  const { quantity = 1_000, used = 0, held = 0 } = limit;
  const standing: LimitStanding = {
    limitId: "lim_1",
    productSlug: "tiles",
    metric: "requests",
    per: "day",
    mode: "hard",
    quantity,
    used,
    held,
    remaining: Math.max(0, quantity - used - held),
    resetsAt: "2026-11-23T00:00:00.000Z",
    ...limit,
  };
  return textOf(String(await LimitMeters({ limits: [standing], now, catalogue })));
}

Deno.test("a meter says what is used, and when it resets", async () => {
  assert.equal(
    await shown({ used: 667.4 }),
    "tiles · requests per day 667.4 of 1,000 [66.7%] 66% used Resets Nov 23, 00:00 UTC",
  );
  assert.match(await shown({ used: 0 }), /0 of 1,000 0% used/);
  assert.match(await shown({ per: "total", resetsAt: null }), /Never resets$/);
});

Deno.test("a meter says what is held beside what is used", async () => {
  const limit = { quantity: 5_000, used: 1_200 };
  assert.equal(
    await shown({ ...limit, held: 300 }),
    "tiles · requests per day 1,200 used, 300 held, of 5,000 [24.0%] [6.0%] 24% used Resets Nov 23, 00:00 UTC",
  );
  assert.match(await shown({ ...limit, used: 4_000, held: 300 }), / 80% used, 700 left Resets/);
  assert.match(
    await shown({ ...limit, held: 3_800 }),
    /\[24\.0%\] \[76\.0%\] Nothing left until holds end\./,
  );
  assert.match(await shown({ ...limit, held: 3_800, mode: "soft" }), / Everything else is held\./);
  assert.match(await shown({ ...limit, used: 5_080, held: 10 }), /\[100\.0%\] Over the limit by 80\./);
});

Deno.test("a meter leaves out grants that holds of another window need", async () => {
  assert.match(await shown({ used: 800, remaining: 50 }), / 80% used, 50 left Resets/);
  assert.match(await shown({ used: 800, remaining: 0 }), / Nothing left until holds end\./);
});

Deno.test("a meter has the names and units of the catalogue", async () => {
  const metrics = [{ slug: "bytes", name: "Data transfer", unit: "bytes" }];
  const catalogue = catalogueOf({ products: [{ slug: "tiles", name: "Map tiles", metrics }], used: [] });
  const limit = { metric: "bytes", quantity: 5e12, used: 4.2e12, per: "month" as const };
  assert.match(
    await shown(limit, catalogue),
    /^Map tiles · Data transfer per month 4\.2 of 5 TB \[84\.0%\] 84% used, 800 GB left/,
  );
});

Deno.test("a meter says how much is left from 80% on", async () => {
  assert.match(await shown({ used: 799.999999 }), / 79% used Resets/);
  assert.match(await shown({ used: 800 }), / 80% used, 200 left Resets/);
  assert.match(await shown({ used: 999.9 }), /\[100\.0%\] 99% used, 0\.1 left Resets/);
});

Deno.test("a meter of a month says when the limit is reached at this rate, if that is before it resets", async () => {
  const limit = { per: "month", quantity: 1_000, resetsAt: "2026-12-01T00:00:00.000Z" } as const;
  const month = (used: number) => shown({ ...limit, used, remaining: 1_000 - used });
  assert.match(await month(750), / 75% used\. At this rate, reached around Nov 29\. Resets/);
  assert.match(await month(900), / 90% used, 100 left\. At this rate, reached around Nov 25\. Resets/);
  assert.match(await month(700), / 70% used Resets/);
});

Deno.test("a meter says that a limit is reached or exceeded, and what that means", async () => {
  assert.match(
    await shown({ used: 1_000 }),
    /\[100\.0%\] Limit reached\. New requests are rejected\. Resets/,
  );
  assert.match(
    await shown({ used: 1_000, mode: "soft" }),
    /\[100\.0%\] Limit reached\. Usage is still recorded\. Resets/,
  );
  assert.match(
    await shown({ used: 2_500.5, mode: "soft" }),
    /2,500\.5 of 1,000 \[100\.0%\] Over the limit by 1,500\.5\. Usage is still recorded\./,
  );
  assert.match(await shown({ quantity: 0 }), /0 of 0 \[100\.0%\] Limit reached\./);
});
