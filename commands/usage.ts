// `gatehouse usage`: prints usage across organizations as CSV, without a server or alongside one.
import type { Settings } from "../config.ts";
import { AppError } from "../domain/errors.ts";
import { parse } from "../routes/schemas/issues.ts";
import { operatorUsageQuerySchema } from "../routes/meter/schemas/operator_usage.ts";
import { usageCsv } from "../services/meter/jobs/mod.ts";
import { operatorUsageInput } from "../services/console/mod.ts";
import { administer } from "./administration.ts";
import { usageHelp } from "./help.ts";
import { withProgress } from "./progress.ts";
import { CommandError, exitStatus } from "./settings.ts";
import { writeBytes, writeLine } from "./terminal.ts";
import { parseVerbArguments } from "./verb_arguments.ts";

/** Each option, by its name in the API. */
const optionNames = {
  from: "from",
  to: "to",
  window: "window",
  timezone: "timezone",
  groupBy: "group-by",
  organizationId: "organization",
  productSlug: "product",
  metric: "metric",
  apiKey: "key",
  environment: "environment",
  properties: "property",
} as const;

const text = "text" as const;
const list = "list" as const;
const forms = {
  usage: {
    options: {
      ...{ from: text, to: text, window: text, timezone: text, environment: text },
      ...{ "group-by": list, organization: list, product: list, metric: list, key: list, property: list },
    },
  },
};

export async function usageCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseVerbArguments("gatehouse", forms, ["usage", ...args]);
  if (parsed === "help") return writeLine(usageHelp());
  const { texts, lists } = parsed.given;
  const given = Object.entries(optionNames).map(([name, option]) =>
    [
      name,
      name === "properties" ? propertiesOf(lists.get(option)) : texts.get(option) ?? lists.get(option),
    ] as const
  );
  const { data: query, error } = parse(
    operatorUsageQuerySchema,
    Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  );
  if (error !== undefined) {
    throw optionError(error.issues.map(({ path: [name], message }) => ({ path: String(name), message })));
  }
  const unknown = { message: "--organization names no organization.", status: exitStatus.data };
  return await administer(
    { command: "gatehouse usage", environment, onlyReads: true, unknown },
    async ({ services }) => {
      const input = await operatorUsageInput(services, { window: "total", ...query });
      const context = {
        database: services.database,
        pause: () => Promise.resolve(),
        send: (bytes: Uint8Array) => Promise.resolve(writeBytes(bytes)),
      };
      try {
        writeBytes(await withProgress("Adding up usage", () => usageCsv(context, input)));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (error.code === "dimension_unknown") throw new CommandError(error.message, exitStatus.data);
        throw error.details === undefined ? error : optionError(error.details);
      }
    },
  );
}

/** Returns the values of each property of texts such as `region=eu`. */
function propertiesOf(given: readonly string[] | undefined): Record<string, string[]> | undefined {
  if (given === undefined) return undefined;
  const pairs = given.map((text) => {
    const at = text.indexOf("=");
    if (at < 1) {
      throw new CommandError("--property must be a name and a value, such as region=eu.", exitStatus.data);
    }
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  const names = [...new Set(pairs.map(([name]) => name))];
  return Object.fromEntries(
    names.map((name) => [name, pairs.flatMap(([of, value]) => of === name ? [value] : [])]),
  );
}

/** Reports the first problem, with the name of its option. */
function optionError([fault]: readonly { readonly path: string; readonly message: string }[]): CommandError {
  const { path = "", message = "" } = fault ?? {};
  const option = optionNames[path as keyof typeof optionNames] ?? path;
  return new CommandError(`--${option} ${message}`, exitStatus.data);
}
