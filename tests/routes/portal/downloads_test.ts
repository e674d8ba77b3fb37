// The clients that the server offers for download.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { type TestApp, testApp } from "../../support/app/app.ts";

/** Of the version of test servers, which no build writes. */
const name = "gatehouse-client-0.0.0.tgz";
const file = new URL(`../../../dist/${name}`, import.meta.url);

async function assertOffered(test: TestApp, names: readonly string[]): Promise<void> {
  const list = await test.send("/download/SHA256SUMS");
  assert.equal(list.status, 200);
  const sums = (await list.text()).trim().split("\n").map((line) => line.split("  "));
  assert.deepEqual(sums.map(([, name]) => name), names);
  const page = await (await test.send("/download/")).text();
  for (const [sum = "", name = ""] of sums) {
    const answer = await test.send(`/download/${name}`);
    assert.equal(answer.status, 200, name);
    assert.equal(hash("sha256", await answer.bytes(), "hex"), sum);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.ok(page.includes(sum), name);
    assert.ok(page.includes(`${test.config.baseUrl.origin}/download/${name}`), name);
  }
}

testApp("offers the clients with their checksums, and nothing else", async (test) => {
  await assertOffered(test, ["gatehouse.py"]);
  assert.equal((await test.send(`/download/${name}`)).status, 404);
  await Deno.mkdir(new URL(".", file), { recursive: true });
  await Deno.writeTextFile(file, "package");
  try {
    await assertOffered(test, ["gatehouse.py", name]);
  } finally {
    await Deno.remove(file);
  }
  assert.equal((await test.send("/download")).headers.get("location"), "/download/");
  for (const other of ["gatehouse", "..%2fbuild.json", "build.json"]) {
    assert.equal((await test.send(`/download/${other}`)).status, 404, other);
  }
});
