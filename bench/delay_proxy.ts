// A line with a delay, in a process of its own: arguments are the target's port and the delay each way in
// milliseconds; its own port is the first line that it prints. It delays and does not narrow.
import { startTcpProxy } from "../tests/support/tcp_proxy.ts";

const proxy = startTcpProxy({ targetPort: Number(Deno.args[0]), delayMs: Number(Deno.args[1]) });
Deno.stdout.writeSync(new TextEncoder().encode(`${proxy.port}\n`));
