// `gatehouse operator …`: who may open the operator console, set alongside a running server.
import type { Settings } from "../config.ts";
import { addOperator, listOperators, removeOperator } from "../services/operator/operators.ts";
import { administer, type AdministrationParts, unknownAccount } from "./administration.ts";
import { operatorHelp } from "./help.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";
import { parseVerbArguments, type VerbArguments } from "./verb_arguments.ts";

const forms = {
  add: { subject: "email address", options: {} },
  remove: { subject: "email address", options: {} },
  list: { options: { json: "flag" } },
} as const;

type OperatorVerb = keyof typeof forms;
type Call = VerbArguments<OperatorVerb> & AdministrationParts;

const verbs: Readonly<Record<OperatorVerb, (call: Call) => Promise<void>>> = { add, remove, list };

export async function operatorCommand(args: readonly string[], environment: Settings): Promise<number> {
  const parsed = parseVerbArguments("gatehouse operator", forms, args);
  if (parsed === "help") return writeLine(operatorHelp());
  const { verb } = parsed;
  const options = { environment, onlyReads: verb === "list", unknown: unknownAccount };
  return await administer(
    { ...options, command: `gatehouse operator ${verb}` },
    (parts) => verbs[verb]({ ...parsed, ...parts }),
  );
}

async function add({ services, actor, subject }: Call): Promise<void> {
  const { wasOperator, hasSecondFactor } = await addOperator(services, actor, subject);
  writeLine(wasOperator ? "The account was already an operator." : `${subject} is now an operator.`);
  if (!hasSecondFactor) {
    writeLine("To open the console, they must set up two-step sign-in or a passkey first.", "stderr");
  }
}

async function remove({ services, actor, subject }: Call): Promise<void> {
  const { wasOperator } = await removeOperator(services, actor, subject);
  if (!wasOperator) return void writeLine("The account was not an operator.");
  writeLine(`${subject} is no longer an operator. Tokens that they created still work.`);
}

async function list({ services, flags }: Call): Promise<void> {
  const operators = await listOperators(services);
  if (flags.has("json")) {
    for (const operator of operators) writeLine(JSON.stringify(operator));
    return;
  }
  const table = textTable(["EMAIL", "SINCE", "DISABLED", "TWO-STEP", "PASSKEYS", "NAME"]);
  writeLine(
    table(operators.map(({ email, operatorSince, disabledAt, twoStep, passkeys, name }) => [
      email,
      minute(operatorSince),
      disabledAt === null ? "no" : "yes",
      twoStep ? "on" : "off",
      String(passkeys),
      name,
    ])).join("\n"),
  );
}
