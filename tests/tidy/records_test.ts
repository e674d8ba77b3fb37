// Proof that a changed migration and an undocumented setting are found.
import assert from "node:assert/strict";
import {
  type FrozenMigrations,
  migrationHash,
  migrationsAreFrozen,
  settingsAreDocumented,
} from "./records.ts";
import type { SourceFile } from "./source.ts";

const first = { path: "db/engine/migrations/0001_foundation.sql", text: "CREATE TABLE a (b);\n" };
const second = { path: "db/engine/migrations/0002_webhooks.sql", text: "CREATE TABLE c (d);\n" };
const list = {
  path: "db/engine/migrate.ts",
  text: `// For x.
import foundation from "./migrations/0001_foundation.sql" with { type: "text" };
import hooks from "./migrations/0002_webhooks.sql" with { type: "text" };
export const migrations = [
  { number: 1, name: "foundation", text: foundation },
  {
    number: 2, name: "webhooks", text: hooks },
];
`,
};
const frozen: FrozenMigrations = {
  "0001_foundation.sql": migrationHash(first.text),
  "0002_webhooks.sql": migrationHash(second.text),
};

function messages(files: readonly SourceFile[], map: FrozenMigrations = frozen): string[] {
  return migrationsAreFrozen(files, map).map(({ path, line, message }) => `${path}:${line}: ${message}`);
}

Deno.test("migrationsAreFrozen() is content with listed, unchanged migrations, whatever their line ends", () => {
  assert.deepEqual(messages([list, first, second]), []);
  assert.deepEqual(messages([list, first, { ...second, text: second.text.replaceAll("\n", "\r\n") }]), []);
});

Deno.test("migrationsAreFrozen() refuses the smallest change, and says what to do instead", () => {
  const [message, ...more] = messages([list, first, { ...second, text: second.text.replace("d", "e") }]);
  assert.match(
    message ?? "",
    /^db\/migrations\/0002_webhooks\.sql:1: was changed: .* never changed; .* write a new one/,
  );
  assert.deepEqual(more, []);
});

Deno.test("migrationsAreFrozen() gives the line to add for a new migration", () => {
  const [message, ...more] = messages([list, first, second], {
    "0001_foundation.sql": migrationHash(first.text),
  });
  const line = `"0002_webhooks.sql": "${migrationHash(second.text)}"`;
  assert.ok(message?.includes("tests/frozen_migrations.json") && message.endsWith(line), message ?? "");
  assert.deepEqual(more, []);
});

Deno.test("migrationsAreFrozen() refuses a migration that is gone, misnamed, doubled or not listed", () => {
  assert.match(messages([list, first])[0] ?? "", /0002_webhooks\.sql is gone/);
  assert.match(
    messages([list, first, second, { path: "db/engine/migrations/3.sql", text: "" }])[0] ?? "",
    /not named/,
  );
  const twin = { path: "db/engine/migrations/0002_again.sql", text: "" };
  assert.ok(
    messages([list, first, twin, second]).some((message) => /has the number of 0002_again/.test(message)),
  );
  for (
    const text of [
      list.text.replace("{\n    number: 2", "{ number: 3"),
      list.text.replace('name: "webhooks"', 'name: "hooks"'),
      list.text.replace("text: hooks", "text: foundation"),
      list.text.replace("import hooks", "// import hooks"),
    ]
  ) {
    assert.match(
      messages([{ ...list, text }, first, second])[0] ?? "",
      /^db\/migrate\.ts:1: does not list 0002_webhooks/,
    );
  }
});

const settings = {
  PORT: { default: "8000" },
  TOKEN: { default: "" },
  FORMAT: { default: "text, else json" },
};
const table = `# Gatehouse

| Setting | Default | |
|---|---|---|
| \`PORT\` | \`8000\` | where it listens |
| \`TOKEN\` | unset | a secret |
| \`FORMAT\` | text, else json | of the log |

| Role | |
|---|---|
| \`OWNER\` | may everything |
`;

function faults(text: string): string[] {
  return settingsAreDocumented({ path: "README.md", text }, settings).map(({ line, message }) =>
    `${line}: ${message}`
  );
}

Deno.test("settingsAreDocumented() is content with a row for each setting, also in several tables", () => {
  assert.deepEqual(faults(table), []);
  assert.deepEqual(faults(table.replace("| unset |", "| `unset` |")), []);
  assert.deepEqual(
    faults(table.replace("| `TOKEN`", "\n| Setting | Default | |\n|---|---|---|\n| `TOKEN`")),
    [],
  );
});

Deno.test("settingsAreDocumented() finds a missing row, another default, an unknown and a doubled one", () => {
  assert.deepEqual(faults(table.replace(/^.*TOKEN.*\n/m, "")), [
    "1: has no row for the setting: | `TOKEN` | `unset` | … |",
  ]);
  assert.deepEqual(faults(table.replace("`8000`", "`80`")), [
    "5: says that PORT defaults to “80”; in config.ts it is “8000”",
  ]);
  assert.deepEqual(faults(table.replace("| `TOKEN`", "| `OLD` | `1` | |\n| `TOKEN`")), [
    "6: has a row for OLD, which config.ts does not know",
  ]);
  assert.deepEqual(faults(table.replace("| `TOKEN`", "| `PORT` | `8000` | |\n| `TOKEN`")), [
    "6: has a second row for PORT",
  ]);
});

Deno.test("settingsAreDocumented() finds that there is no README or no table", () => {
  assert.equal(settingsAreDocumented(undefined, settings).length, 1);
  assert.equal(faults("# Gatehouse\n").length, 3);
});
