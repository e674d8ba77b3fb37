// An application that meters the requests it serves and shows its own usage at /usage.
import { createServer } from "node:http";
import process from "node:process";
import { Meter } from "./meter.ts";

const { GATEHOUSE_URL = "http://localhost:8000", GATEHOUSE_KEY = "", PORT = "3000" } = process.env;
const meter = new Meter({ address: GATEHOUSE_URL, apiKey: GATEHOUSE_KEY });

const server = createServer(async (request, response) => {
  if (request.url !== "/usage") {
    meter.record("tiles", "requests");
    response.end("Here is your tile.\n");
    return;
  }
  try {
    response.end(JSON.stringify(await meter.sums()));
  } catch (error) {
    response.writeHead(503).end(`${error}\n`);
  }
});
server.listen(Number(PORT), "127.0.0.1");

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, async () => {
    server.close();
    await meter.close();
    process.exit(0);
  });
}
