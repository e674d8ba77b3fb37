// Stands in for commands/serve/http_server.ts in the HTTP threads other than the main one: it makes them end, hang,
// write or start late when a test asks.
import * as original from "../../../commands/serve/http_server.ts";
import { CommandError } from "../../../commands/settings.ts";
import { writeLine } from "../../../commands/terminal.ts";
import { currentOrder } from "./orders.ts";

/** What a running thread can be ordered to do. */
const orders: Readonly<Record<string, () => void>> = {
  throw: () => {
    throw new Error("thrown by a test");
  },
  reject: () => void Promise.reject(new Error("rejected by a test")),
  exit: () => Deno.exit(0),
  write: () => {
    try {
      Deno.writeTextFileSync("written.txt", "");
    } catch (error) {
      writeLine(`a thread can't write: ${(error as Error).name}`, "stderr");
    }
  },
  hang: () => {
    writeLine("a thread hangs", "stderr");
    for (;;);
  },
};

if (currentOrder() === "die") throw new Error("thrown by a test");
setInterval(() => orders[currentOrder()]?.(), 20);

/** The same server, unless it is ordered to fail or to wait. */
export class HttpServer extends original.HttpServer {
  constructor(options: ConstructorParameters<typeof original.HttpServer>[0]) {
    if (currentOrder() === "fail") throw new CommandError("failed by a test", 75);
    while (currentOrder() === "wait") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    super(options);
  }
}
