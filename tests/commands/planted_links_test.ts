// Temporary files beside the data file and beside imports: a link that someone has put there isn't followed.
import assert from "node:assert/strict";
import { noProgress, ProgressFile } from "../../commands/import/progress_file.ts";
import { createIfMissing } from "../../db/engine/data_file.ts";
import { restoreDataFile } from "../../db/engine/restore.ts";

/** Calls `act` with a file's path, after linking a temporary name of it to another file, which must stay as it is. */
async function besideLink(end: string, act: (path: string) => unknown): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const [path, other] = [`${folder}/file`, `${folder}/other`];
    await Deno.writeTextFile(other, "private");
    await Deno.symlink(other, `${path}${end}`);
    await act(path);
    assert.equal(await Deno.readTextFile(other), "private");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("creates a data file without following a link", () =>
  besideLink(".new", (path) => {
    createIfMissing(path, "file");
    assert.ok(Deno.lstatSync(path).isFile);
  }));

Deno.test("restores a backup without following a link", () =>
  besideLink(".restoring", async (path) => {
    const backup = `${path}.backup`;
    createIfMissing(backup, "file");
    const stream = (await Deno.open(backup)).readable;
    await assert.rejects(restoreDataFile(path, { backup: stream, now: 0 }), /not a Gatehouse database/);
    assert.ok(
      !(await Array.fromAsync(Deno.readDir(path.slice(0, path.lastIndexOf("/"))))).some(({ name }) =>
        name.endsWith("ing")
      ),
    );
  }));

Deno.test("writes the progress of an import without following a link", () =>
  besideLink(".progress.new", (path) => {
    Deno.writeTextFileSync(path, "");
    const file = new ProgressFile(`${path}.progress`, { imported: path, options: [] });
    file.write({ ...noProgress, accepted: 1 });
    file.write({ ...noProgress, accepted: 2 });
    assert.equal(file.read()?.accepted, 2);
    assert.ok(Deno.lstatSync(`${path}.progress`).isFile);
  }));
