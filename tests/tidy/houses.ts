// The walls between subjects: in which order they stand, where others come in, whose a table is, and how large each may get.
import { targetOf } from "./imports.ts";
import {
  type Finding,
  findingAt,
  nodeRule,
  nodesOf,
  program,
  type Rules,
  type SourceFile,
  ts,
} from "./source.ts";

/** The subjects from the ground up, and the most lines that each has in db/, services/, views/ and routes/. A change that needs more raises it. */
const linesMax: Readonly<Record<string, number>> = {
  access: 4_750,
  outbox: 6_490,
  meter: 26_600,
  keys: 6_340,
  billing: 6_210,
  people: 14_770,
  oauth: 6_010,
  console: 7_680,
};
const order = Object.keys(linesMax);

/** Files that put the parts of all subjects together, and so know their files. */
const assembly = [
  "services/context.ts",
  "services/services.ts",
  "services/process_parts.ts",
  "services/due_work.ts",
  "services/reports/job_list.ts",
  "db/due_work.ts",
];

/** Tables that a file names outside of their subject. Take one off the list when its statement moves. */
const foreign: Readonly<Record<string, string>> = {
  "db/access/sessions.ts": "passkey_challenges pending_sign_ins provider_attempts",
  "db/billing/limit_use.ts": "usage_rollups_monthly usage_series",
  "db/billing/statement_voids.ts": "usage_records usage_series usage_voids",
  "db/billing/statements.ts": "product_metrics products statement_changes usage_rollups_monthly",
  "db/console/organizations.ts": "usage_rollups_monthly",
  "db/console/portal_overview.ts": "usage_series",
  "db/console/users.ts": "passkeys",
  "db/meter/aggregation_list.ts": "statements",
  "db/meter/statement_changes.ts": "statements",
  "db/meter/value_prices.ts": "statement_lines statements",
  "db/people/account_deletion.ts": "link_tokens outbox",
  "db/people/invitations.ts": "link_tokens",
  "db/people/organizations.ts": "link_tokens outbox",
};

/** Deletes the rows of all subjects. */
const deletion = "db/people/organization_deletion.ts";

interface Place {
  readonly layer: string;
  readonly subject: string;
  /** Where other subjects come in. */
  readonly door: string;
}

/** @returns The subject of a file in a layer that has doors, or null. */
function placeOf(path: string): Place | null {
  const [, room = "", layer = "", subject = ""] =
    /^((db|services|views|routes)\/(\w+)\/(?:jobs\/)?)/.exec(path) ??
      [];
  return order.includes(subject) ? { layer, subject, door: `${room}mod.ts` } : null;
}

export const houseRules: Rules = {
  "subjects import each other only downwards": nodeRule(program, (node, { path }) => {
    const [from, to] = [placeOf(path), placeOf(targetOf(node, path) ?? "")];
    // A page may show what a subject above its own does.
    if (from?.layer === "routes" && to?.layer === "services") return null;
    const isUp = from !== null && to !== null && order.indexOf(to.subject) > order.indexOf(from.subject);
    return isUp ? `${from.subject} may not import ${to.subject}, which stands above it` : null;
  }),
  "subjects are entered by their doors": nodeRule(program, (node, { path }) => {
    const target = targetOf(node, path) ?? "";
    const [from, to] = [placeOf(path), placeOf(target)];
    if (to === null || from?.subject === to.subject || assembly.includes(path)) return null;
    // A page and its route belong together, and app.ts mounts each route by its file.
    if (to.layer === "routes" || to.layer === "views" && !path.startsWith("views/")) return null;
    return target === to.door ? null : `imports ${target}: use ${to.door}`;
  }),
  "tables are named by their own subject": tablesAtHome,
  "subjects do not grow unnoticed": (files) =>
    order.flatMap((subject) => {
      const own = files.filter(({ path }) => placeOf(path)?.subject === subject);
      const lines = own.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
      const max = linesMax[subject] ?? 0;
      const message = `${subject} has ${lines} lines, at most ${max}: shorten it, or raise the number`;
      return lines <= max ? [] : own.slice(0, 1).map((file) => findingAt(file, 0, message));
    }),
};

/** The comment of a subject's door in db/ lists its tables. */
function tablesAtHome(files: readonly SourceFile[]): Finding[] {
  const owners = new Map(
    files.flatMap(({ path, text }) => {
      const place = placeOf(path);
      if (place?.layer !== "db" || path !== place.door) return [];
      const comment = text.replaceAll(/\n\/\/ /g, " ");
      const [, names = ""] = /Tables: ([\w, ]+)\./.exec(comment) ?? [];
      return names.split(", ").map((table) => [table, place.subject] as const);
    }),
  );
  return files.filter(({ path }) => placeOf(path)?.layer === "db" && path !== deletion).flatMap((file) => {
    const foreigners = nodesOf(file).flatMap((node) => {
      const text = isSql(node) ? node.text : "";
      return [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:OR \w+ )?(\w+)/g)].flatMap(
        ([, table = ""]) => {
          const owner = owners.get(table) ?? placeOf(file.path)?.subject;
          if (owner === placeOf(file.path)?.subject) return [];
          return [{
            table,
            finding: findingAt(file, node.getStart(), `names ${table}, a table of ${owner}`),
          }];
        },
      );
    });
    const allowed = foreign[file.path]?.split(" ") ?? [];
    const unneeded = allowed.filter((table) => !foreigners.some((one) => one.table === table));
    return [
      ...foreigners.filter(({ table }) => !allowed.includes(table)).map(({ finding }) => finding),
      ...unneeded.map((table) => findingAt(file, 0, `doesn't name ${table}: take it off the list`)),
    ];
  });
}

const isSql = (node: ts.Node) =>
  ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node);
