// The background work of the OpenID provider.
import { hasDueLogouts } from "../../db/oauth/logouts.ts";
import { retentionIntervalMs } from "../../domain/limits.ts";
import type { BackgroundWork } from "../background_work.ts";
import type { Context } from "../context.ts";
import { sendLogouts } from "./backchannel_logout.ts";

export function oauthWork(context: Context): BackgroundWork[] {
  return [
    {
      name: "logouts of applications",
      due: hasDueLogouts,
      pauseMs: retentionIntervalMs,
      step: () => sendLogouts(context),
    },
  ];
}
