// Counts of outcomes in a real server: those of all threads add up when it stops, and a kill loses only what wasn't written.
import assert from "node:assert/strict";
import { signUpForLoad } from "../support/meter/load.ts";
import { sendJson } from "../support/process/journey.ts";
import { isReady } from "../support/process/program.ts";
import { inScene, stop } from "../support/process/scene.ts";
import { sendToAll } from "../support/process/threads.ts";

const threads = 2;
const path = "/api/auth/forward?accept=key";

Deno.test("a stop writes the counts of all threads, and a kill loses at most those since the last write", () =>
  inScene({ env: { HTTP_THREADS: String(threads) } }, async (scene) => {
    const { baseUrl } = await scene.start();
    const { cookie, apiKeys: [apiKey = ""] } = await signUpForLoad(baseUrl);
    const headers = { authorization: `Bearer ${apiKey}` };
    const counts = async (url: string) => {
      const response = await sendJson(url, "/api/portal/outcomes?window=total", { cookie });
      const { data } = await response.json();
      return Object.fromEntries(data.map(({ outcome, count }: Record<string, string>) => [outcome, count]));
    };
    const accepted = (await sendToAll(baseUrl, path, { threads, headers })).length;
    const denied = (await sendToAll(baseUrl, `${path}&role=OWNER`, { threads, headers })).length;
    await stop(scene.program);

    const { baseUrl: restarted } = await scene.start();
    const written = { accepted, permission_missing: denied };
    assert.deepEqual(await counts(restarted), written);
    const more = (await sendToAll(restarted, path, { threads, headers })).length;
    scene.program.kill("SIGKILL");
    await scene.program.ended();

    const last = scene.begin();
    await isReady(last);
    const { accepted: kept = 0, permission_missing: keptDenied } = await counts(last.baseUrl);
    assert(kept >= accepted && kept <= accepted + more, `${accepted} ≤ ${kept} ≤ ${accepted + more}`);
    assert.equal(keptDenied, denied);
  }));
