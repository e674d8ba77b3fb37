// Published applications with the real program: one whose host was taken off the list is gone before the first request.
import assert from "node:assert/strict";
import { Connection } from "../../db/engine/connection.ts";
import { sql } from "../../db/engine/database.ts";
import { runHere } from "../support/process/here.ts";
import { inScene } from "../support/process/scene.ts";

const insertClients = ["a.example", "b.example"].map((host) =>
  `INSERT INTO oauth_clients (id, name, type, grants, redirect_uris, post_logout_redirect_uris, scopes, created_at)
    VALUES ('https://${host}/', 'X', 'public', '[]', '[]', '[]', '[]', 0);
  INSERT INTO oauth_documents (id, client_id, host, content_hash, read_at, fresh_until)
    VALUES ('doc_${host}', 'https://${host}/', '${host}', '', 0, 0);`
).flatMap((text) => text.split(";\n"));

Deno.test("ends the access of applications whose hosts aren't listed when the server starts", () =>
  inScene({}, async ({ folder, path, start }) => {
    await Deno.mkdir(`${folder}/data`);
    assert.equal((await runHere({ folder }, "migrate")).status, 0);
    const connection = new Connection(path, { readOnly: false });
    try {
      for (const insert of insertClients) connection.exec(insert);
      await start({ env: { OAUTH_CLIENT_HOSTS: "b.example", SECRETS_KEY: new Uint8Array(32).toBase64() } });
      const left = connection.first(sql`SELECT group_concat(id) AS ids FROM oauth_clients`) as {
        ids: string;
      };
      assert.equal(left.ids, "https://b.example/");
    } finally {
      connection.close();
    }
  }));
