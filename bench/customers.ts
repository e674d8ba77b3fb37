// Fills a migrated data file with customers: organizations, their members and keys, and usage of this month and the one
// before. It writes rows with SQL, because the program's own verbs would take hours for this many.
import type { Connection } from "../db/engine/connection.ts";
import { integer, sql, type Statement } from "../db/engine/database.ts";
import { rollupNumber, rollupStart } from "../domain/meter/rollup_unit.ts";

/** How many of each. */
export interface Customers {
  readonly organizations: number;
  /** Those with usage. Each has five series. */
  readonly active: number;
  readonly users: number;
  readonly keys: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const sinceMs = 730 * 86_400_000;
const firstNames =
  "Ada,Élodie,Grace,Łukasz,Mara,Noor,Olu,Pär,Quentin,Renée,Søren,Tomás,Ursula,Víctor,Wanda,Xochitl,Yusuf,Zoë,Anna,Ben";
const lastNames =
  "Lovelace,Müller,Hopper,Nowak,Rossi,Haddad,Adeyemi,Åkesson,Dubois,Lefèvre,Kierkegaard,García,Le Guin,Ångström,Kowalska,Pérez,Demir,Brontë,Schmidt,Okafor,Ωmega,Иванова,Tanaka,Silva,O'Brien";
const places =
  "Northwind,Halden,Tessel,Kartverket,Pelago,Ostra,Meridian,Köln,Zürich,Malmö,Bergen,Aurora,Cobalt,Delta,Ember,Falcon,Granite,Harbor,Indigo,Juniper,Krona,Lumen,Mistral,Nordlys,Opal,Prisma,Quarry,Riga,Sable,Tundra";
const trades =
  "Maps,Logistics,Weather,Shipping,Mobility,Energy,Foods,Health,Games,Travel,Robotics,Textiles,Studios,Bank,Media,Farms,Optics,Marine,Tools,Motors";

const words = (list: string) => JSON.stringify(list.split(","));
/** A word of a list, chosen by a number. */
const word = (list: string, n: Statement) =>
  sql`json_extract(${words(list)}, format('$[%d]', (${n}) % ${integer(list.split(",").length)}))`;
const upTo = (count: number) =>
  sql`WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ${integer(count)})`;
/** Spread over the last two years, in the order of n. */
const createdAt = ({ now }: Customers, count: number) =>
  sql`${integer(now - sinceMs)} + n * ${integer(Math.floor(sinceMs / count))}`;
/** The program's own form, which sorts by time. */
const newId = (prefix: string, at: Statement) =>
  sql`format('%s_%012x%s', ${prefix}, ${at}, lower(hex(randomblob(10))))`;

/** Inserts the customers in one transaction. */
export function fillCustomers(connection: Connection, customers: Customers): void {
  connection.exec("BEGIN IMMEDIATE");
  for (const statement of statements(customers)) connection.run(statement);
  connection.exec("COMMIT");
  connection.exec("ANALYZE");
}

function statements(customers: Customers): Statement[] {
  const { organizations, users, keys, now } = customers;
  const organizationsAt = createdAt(customers, organizations);
  const usersAt = createdAt(customers, users);
  const keysAt = createdAt(customers, keys);
  // A large step that shares no factor with the counts spreads members and keys over all organizations.
  const organizationOf = sql`(n * 7919) % ${integer(organizations)}`;
  return [
    sql`CREATE TEMP TABLE filled_organizations (n INTEGER PRIMARY KEY, id TEXT NOT NULL)`,
    sql`CREATE TEMP TABLE filled_users (n INTEGER PRIMARY KEY, id TEXT NOT NULL)`,
    sql`${upTo(organizations)} INSERT INTO filled_organizations SELECT n, ${
      newId("org", organizationsAt)
    } FROM n`,
    sql`${upTo(users)} INSERT INTO filled_users SELECT n, ${newId("usr", usersAt)} FROM n`,
    sql`INSERT INTO organizations (id, external_id, suspended_at, name, created_at)
      SELECT id, format('cus_%d', n), iif(n % 100 = 0, ${integer(now)}, NULL), format('%s %s %d', ${
      word(places, sql`n`)
    }, ${word(trades, sql`n / 30`)}, n / 600), ${organizationsAt}
      FROM filled_organizations ORDER BY n`,
    sql`INSERT INTO users (id, email, name, password_hash, email_verified_at, disabled_at, created_at)
      SELECT id, format('%s%d@%s.example', lower(${word(trades, sql`n / 7`)}), n, lower(${
      word(trades, sql`n / 11`)
    })), format('%s %s', ${word(firstNames, sql`n`)}, ${word(lastNames, sql`n / 20`)}), 'none', ${usersAt},
        iif(n % 200 = 0, ${integer(now)}, NULL), ${usersAt}
      FROM filled_users ORDER BY n`,
    sql`INSERT INTO memberships (user_id, organization_id, role, created_at)
      SELECT u.id, o.id, iif(u.n < ${integer(organizations)}, 'OWNER', 'MEMBER'), ${integer(now)}
      FROM (SELECT n, id, ${organizationOf} AS organization FROM filled_users) u
      JOIN filled_organizations o ON o.n = u.organization`,
    sql`${upTo(keys)} INSERT INTO api_keys
        (id, organization_id, key_hash, key_prefix, name, created_at, last_used_at, revoked_at)
      SELECT ${newId("key", sql`k.at`)}, o.id, lower(hex(randomblob(32))), format('service_live_%06x', k.n),
        format('%s %d', ${word(trades, sql`k.n`)}, k.n), k.at, iif(k.n % 3 = 0, NULL, ${
      integer(now)
    } - k.n % 86400000),
        iif(k.n % 10 = 0, ${integer(now)}, NULL)
      FROM (SELECT n, ${organizationOf} AS organization, ${keysAt} AS at FROM n) k
      JOIN filled_organizations o ON o.n = k.organization`,
    sql`DROP TABLE filled_organizations`,
    sql`DROP TABLE filled_users`,
    ...usage(customers),
  ];
}

const products = JSON.stringify(["tiles", "search", "geocoding", "routing", "elevation"]);
const metrics = JSON.stringify(["requests", "bytes"]);
/** Organizations with the most usage have a rollup for every hour. */
const busiest = 20;
const hoursPerMonth = 720;
/** All others have one for every so many hours. */
const sparseHours = 60;
/** The monthly limit of the default plan. Used shares are spread evenly, up to 3% above it. */
const limit = 1000;

/** Every so many hours of two months. */
const hoursOf = (every: number): string =>
  JSON.stringify(Array.from({ length: 2 * hoursPerMonth / every }, (_, n) => n * every));

function usage({ organizations, active, now }: Customers): Statement[] {
  const step = Math.floor(organizations / active);
  const month = rollupNumber("month", now);
  const hour = rollupNumber("hour", rollupStart("month", month - 1));
  const quantity = sql`(1 + 1000000 / (1 + s.organization + s.id % 7))`;
  const rollups = ({ every, condition }: { every: number; condition: Statement }) =>
    sql`INSERT INTO usage_rollups_hourly (series, hour, count, sum_high, sum_low, sum_micro, smallest, largest)
      SELECT s.id, ${integer(hour)} + h.value + s.id % ${
      integer(every)
    }, 10, 0, ${quantity}, 250000, 1, 2000000
      FROM usage_series s CROSS JOIN json_each(${hoursOf(every)}) h WHERE ${condition}`;
  return [
    sql`INSERT INTO usage_series (organization, product_slug, metric, api_key)
      SELECT o.number, p.value, m.value, k.number
      FROM organizations o JOIN json_each(${products}) p JOIN json_each(${metrics}) m
      JOIN api_keys k ON k.number = (SELECT min(number) FROM api_keys WHERE organization_id = o.id)
      WHERE o.number % ${integer(step)} = 0 AND (o.number / ${integer(step)} + p.key + m.key) % 2 = 0`,
    sql`INSERT INTO usage_rollups_monthly (month, organization, series, count, sum_high, sum_low, sum_micro, smallest,
        largest, first_quarter, last_quarter)
      SELECT m.value, s.organization, s.id, 7200, 0, 720 * ${quantity}, 250000, 1, 2000000, ${
      integer(4 * hour)
    },
        ${integer(rollupNumber("quarter", now))} - s.organization % 500
      FROM usage_series s JOIN json_each(${JSON.stringify([month - 1, month])}) m`,
    rollups({ every: 1, condition: sql`s.organization <= ${integer(busiest * step)}` }),
    rollups({ every: sparseHours, condition: sql`s.organization > ${integer(busiest * step)}` }),
    sql`INSERT INTO usage_limits (number, id, plan, product_slug, metric, per, quantity_whole, quantity_micro, mode,
        created_seq, created_at) VALUES (1, 'lim_bench', 1, '', 'requests', 'month', ${
      integer(limit)
    }, 0, 'soft', 0, 0)`,
    sql`INSERT INTO usage_limit_counters (usage_limit, organization, window_number, sum_high, sum_low, sum_micro,
        is_known, opened_seq)
      SELECT 1, o.number, ${integer(month)}, 0, 30 + o.number / ${integer(step)} * 7919 % ${
      integer(limit)
    }, 0, 1, 0
      FROM organizations o WHERE o.number % ${integer(step)} = 0`,
    sql`INSERT INTO limit_notices (usage_limit, organization, window_number, percent, is_refusal, used, at, noted_at, mailed_at)
      SELECT 1, organization, window_number, iif(sum_low >= ${
      integer(limit)
    }, 100, 80), 0, json_array(0, sum_low, 0), ${integer(now)}, ${integer(now)}, ${integer(now)}
      FROM usage_limit_counters WHERE sum_low * 5 >= ${integer(4 * limit)}`,
  ];
}
