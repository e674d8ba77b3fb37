// A program that takes the write lock of a data file, prints "held", keeps the lock for the given number of milliseconds
// (0: until its standard input ends), releases it, and prints "released".
import { DatabaseSync } from "node:sqlite";

const [path = "", ms = "0"] = Deno.args;
const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

const database = new DatabaseSync(path, { timeout: 10_000 });
database.exec("BEGIN IMMEDIATE");
print("held");
if (ms === "0") await Deno.stdin.readable.pipeTo(new WritableStream());
else await new Promise((resolve) => setTimeout(resolve, Number(ms)));
database.exec("ROLLBACK");
database.close();
print("released");
