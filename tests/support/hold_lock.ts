// A program that takes the write lock of a data file as any other process may: prints "held", keeps the lock for as many
// milliseconds as asked (or until its standard input ends, for 0), gives it back, and prints "given back".
import Sqlite from "libsql";

const [path = "", ms = "0"] = Deno.args;
const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

const database = new Sqlite(path, { timeout: 10_000 });
database.exec("BEGIN IMMEDIATE");
print("held");
if (ms === "0") await Deno.stdin.readable.pipeTo(new WritableStream());
else await new Promise((resolve) => setTimeout(resolve, Number(ms)));
database.exec("ROLLBACK");
database.close();
print("given back");
