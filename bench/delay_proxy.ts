// A TCP proxy in its own process that adds latency without limiting bandwidth. Arguments: the target's port, and the
// delay each way in milliseconds. Prints its own port on the first line.
import { startTcpProxy } from "../tests/support/network/tcp_proxy.ts";

const proxy = startTcpProxy({ targetPort: Number(Deno.args[0]), delayMs: Number(Deno.args[1]) });
Deno.stdout.writeSync(new TextEncoder().encode(`${proxy.port}\n`));
