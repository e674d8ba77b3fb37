// docs/traefik.md: its command prints what it shows, and the requests that Traefik makes with it are judged as it says.
import assert from "node:assert/strict";
import { createTestKey } from "../support/app/app.ts";
import { realTest } from "../support/app/real_app.ts";
import { addLimit } from "../support/meter/limits.ts";
import { assertStops, hostileHeaders, identityOf, ledgerOf } from "../support/network/gateway_cases.ts";
import { type ClientRequest, type Outcome, requestOf, throughTraefik } from "../support/network/gateways.ts";
import { inScene } from "../support/process/scene.ts";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";

const guide = await readGuide("traefik.md");
const configuration = guide("configuration");
const [, address = ""] = /address: "([^"]+)"/.exec(configuration) ?? [];
const [, replaced = ""] = /authResponseHeadersRegex: "\(\?i\)([^"]+)"/.exec(configuration) ?? [];
const options = { address, replaced: new RegExp(replaced, "i"), removed: ["authorization"] };

Deno.test("the command prints the configuration that the guide shows", () =>
  inScene({}, async ({ folder }) => {
    const env = {
      BASE_URL: "https://auth.example.com",
      PATH: `${await installGatehouse(folder)}:${Deno.env.get("PATH")}`,
    };
    assert.equal(await runLines(guide("command"), { cwd: folder, env }), configuration);
    // The key goes no further than the middleware.
    assert.match(configuration, /middlewares: \[app-api-example-com, without-key\]/);
    assert.match(configuration, /without-key:\n *headers:\n *customRequestHeaders:\n *Authorization: ""/);
  }));

realTest(
  "Traefik passes on and counts what fits, and tells the client what doesn't",
  async (test, baseUrl) => {
    const ada = await test.signUp();
    const { id, fullKey } = await createTestKey(test, ada, {
      permissions: ["usage:read", "usage:write", "maps:render"],
    });
    const counted = ledgerOf(test, fullKey);
    await addLimit(test, {}, { productSlug: "tiles", per: "day", quantity: 3, mode: "hard" });
    const send = (headers: ClientRequest["headers"], rest?: Partial<ClientRequest>): Promise<Outcome> =>
      throughTraefik(baseUrl, requestOf(headers, rest), options);
    for (const method of ["GET", "POST", "DELETE"]) {
      const outcome = await send([["Authorization", `Bearer ${fullKey}`], ...hostileHeaders], { method });
      assert("passed" in outcome, JSON.stringify(outcome));
      assert.deepEqual(identityOf(outcome.passed), [
        ada.organizationId,
        id,
        "live",
        "maps:render,usage:read,usage:write",
      ]);
    }
    assert.equal(await counted(), 3);
    const full = await send([["Authorization", `Bearer ${fullKey}`]]);
    assert("denied" in full);
    assert.equal(full.denied.status, 429);
    assert.equal(
      full.denied.headers.get("retry-after"),
      String(Math.ceil((Date.UTC(2026, 10, 22) - test.now()) / 1000)),
    );
    assert.equal(JSON.parse(full.denied.body).error.details[0].remaining, 0);
    assert.equal(await counted(), 3);
  },
);

realTest("Traefik lets no one in without a key that works", async (test, baseUrl) => {
  await assertStops(test, (headers, rest) => throughTraefik(baseUrl, requestOf(headers, rest), options));
});
