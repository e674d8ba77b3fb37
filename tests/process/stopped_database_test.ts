// Commands on a database that no server uses.
import assert from "node:assert/strict";
import { openEmbedded } from "../../db/engine/embedded.ts";
import { migrate } from "../../db/engine/migrate.ts";
import { upgrades } from "../support/database/upgrades.ts";
import { runHere } from "../support/process/here.ts";
import { inScene } from "../support/process/scene.ts";

Deno.test(
  "a command says which migrations it has applied to an older database",
  {},
  () =>
    inScene({}, async ({ folder }) => {
      const path = `${folder}/older.db`;
      const older = await openEmbedded({ path, create: "file", onFatal: (error) => assert.fail(error) });
      await migrate(older, { now: 1, list: upgrades.slice(0, -1) });
      await older.close();
      const list = () => runHere({ folder, env: { DATABASE_URL: `file:${path}` } }, "user", "list");
      const { number } = upgrades.at(-1) ?? assert.fail();
      assert.match((await list()).stderr, new RegExp(`^Database: .*\nApplied migrations: ${number}\\.\n$`));
      assert.match((await list()).stderr, /^Database: .*\n$/);
    }),
);
