// An application that meters the requests it serves.
import { Meter } from "@gatehouse/client";
import { createServer } from "node:http";
import process from "node:process";

// GATEHOUSE_URL and GATEHOUSE_KEY are in the environment. Requests beyond a hard limit are served too: their usage is rejected, and
// kept in usage.spool/rejected.jsonl. To deny them, use requireKey with `meter`, or `verify()`.
const meter = new Meter({ spool: "./usage.spool" });

const server = createServer((_request, response) => {
  meter.record({ product: "tiles", metric: "requests" });
  response.end("Here is your tile.\n");
});
server.listen(Number(process.env.PORT ?? "3000"), "127.0.0.1");

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.once(signal, async () => {
    server.close();
    await meter.close();
    process.exit(0);
  });
}
