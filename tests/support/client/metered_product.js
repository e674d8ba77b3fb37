// A product for fault tests: it meters each request before it responds. Runs under Deno and Node.js.
// Arguments: the meter's module, the port, and the meter's options as JSON.
import { createServer } from "node:http";
import process from "node:process";

const [module, port, options] = process.argv.slice(2);
const { Meter } = await import(module);
const meter = new Meter(JSON.parse(options));

createServer(async (request, response) => {
  if (request.url === "/stats") return response.end(JSON.stringify(meter.stats()));
  let body = "";
  for await (const text of request.setEncoding("utf8")) body += text;
  for (const record of JSON.parse(body)) meter.record(record);
  response.end("Here is your tile.");
}).listen(Number(port), "127.0.0.1");
