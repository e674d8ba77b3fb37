// `gatehouse operator …`: who may open the operator console, set alongside a running server.
import { addOperator, listOperators, removeOperator } from "../services/console/mod.ts";
import { type Subcommand, unknownAccount, verbCommand } from "./administration.ts";
import { operatorHelp } from "./help.ts";
import { writeLine } from "./terminal.ts";
import { minute, textTable } from "./text_table.ts";

const subject = "email address";

export const operatorCommand = verbCommand("gatehouse operator", {
  verbs: {
    add: { subject, options: {}, act: add },
    remove: { subject, options: {}, act: remove },
    list: { options: { json: "flag" }, act: list, onlyReads: true },
  },
  help: operatorHelp,
  unknown: unknownAccount,
});

async function add({ services, actor, subject }: Subcommand): Promise<void> {
  const { wasOperator, hasSecondFactor } = await addOperator(services, actor, subject);
  writeLine(wasOperator ? "The account was already an operator." : `${subject} is now an operator.`);
  if (!hasSecondFactor) {
    writeLine("To open the console, they must set up two-step sign-in or a passkey first.", "stderr");
  }
}

async function remove({ services, actor, subject }: Subcommand): Promise<void> {
  const { wasOperator } = await removeOperator(services, actor, subject);
  if (!wasOperator) return void writeLine("The account was not an operator.");
  writeLine(`${subject} is no longer an operator. Tokens that they created still work.`);
}

async function list({ services, flags }: Subcommand): Promise<void> {
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
