// The console's page about the running service.
import { groupDigits } from "../../../domain/number_text.ts";
import { isoTime } from "../../../domain/time.ts";
import { RelativeTime } from "../../../views/components/relative_time.tsx";
import { bytesWords, healthOf } from "../../../views/operator/health.ts";
import { systemPage } from "../../../views/operator/system.tsx";
import type { App } from "../../env.ts";
import { readSystemState } from "../../system_state.ts";
import { type PortalParts, sendPage } from "../page.ts";
import { operatorFrame, operatorPages } from "./page.ts";

/** Mounts `/operator/system`. */
export function operatorSystemPages(app: App, parts: PortalParts): void {
  const { get } = operatorPages(app, parts);
  get("/operator/system", async (c, actor) => {
    const frame = operatorFrame(parts, actor);
    const state = await readSystemState(parts);
    const { version, deno, startedAt, memoryBytes, threads, reports } = state;
    const page = systemPage({
      frame,
      facts: [
        { label: "Version", value: version },
        { label: "Deno", value: deno },
        { label: "Started", value: RelativeTime({ at: isoTime(startedAt), now: frame.now }) },
        { label: "HTTP threads", value: groupDigits(threads) },
        { label: "Memory", value: bytesWords(memoryBytes) },
        { label: "Reports", value: `${reports.running} running, ${reports.waiting} waiting` },
        { label: "Address", value: parts.config.baseUrl.origin },
      ],
      health: healthOf(state, frame),
    });
    return await sendPage(c, page);
  });
}
