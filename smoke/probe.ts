// A program that tries what Gatehouse must not be able to do. A test compiles it with the binary's permissions.
import process from "node:process";
import { dropWritePermission } from "../commands/permissions.ts";

const found: Record<string, unknown> = {};
const attempt = (name: string, act: () => unknown) => {
  try {
    found[name] = act();
  } catch (error) {
    found[name] = (error as Error).name;
  }
};

attempt("environment", () => Object.keys(Deno.env.toObject()).sort());
attempt(
  "otherName",
  () => [Deno.env.get("AWS_SECRET_ACCESS_KEY"), process.env["AWS_SECRET_ACCESS_KEY"]].map(String),
);
attempt("run", () => new Deno.Command("/bin/true").outputSync().code);
attempt("system", () => Deno.osUptime());
attempt("writeAtStart", () => Deno.writeTextFileSync("probe.txt", "x") ?? "written");
dropWritePermission();
attempt("writeLater", () => Deno.writeTextFileSync("probe.txt", "y") ?? "written");
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(found)));
