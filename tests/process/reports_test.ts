// Tests that neither queued reports nor a client that doesn't read one keeps the program from stopping.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sendJson, signUpAndRecord } from "../support/process/journey.ts";
import { manySums } from "../support/meter/many_sums.ts";
import { endsWith, onServer } from "../support/process/scene.ts";

Deno.test("stops cleanly with running, queued and unread reports", () =>
  onServer({}, async ({ program, baseUrl, path }) => {
    const { cookie, keyId, fullKey } = await signUpAndRecord(baseUrl);
    const connection = new Connection(path, { readOnly: false });
    const from = Date.UTC(2026, 9, 1);
    for (const statement of manySums({ series: 5_000, hours: 60, keyId, from })) connection.run(statement);
    connection.close();
    const range = "from=2026-10-01&to=2026-10-04&groupBy=productSlug,metric,apiKey";
    // More than the connection buffers, and the client doesn't read it.
    const unread = await fetch(`${baseUrl}/api/portal/usage.csv?window=hour&${range}`, {
      headers: { cookie },
    });
    assert.equal(unread.status, 200);
    const waiting = Array.from(
      { length: 8 },
      () =>
        sendJson(baseUrl, `/api/v1/usage?window=day&${range}`, { apiKey: fullKey }).then(
          ({ status }) => status,
          () => 0,
        ),
    );
    // Once this responds, the server has received the others.
    await sendJson(baseUrl, "/api/auth/me", { cookie });
    program.kill("SIGTERM");
    for (const status of await Promise.all(waiting)) assert.ok([0, 200, 503].includes(status), `${status}`);
    await endsWith(program, 0);
    await unread.body?.cancel().catch(() => {});
    // The reports thread closed its connection without errors.
    assert.doesNotMatch(program.output(), /"level":"(ERROR|error)"/);
  }));
