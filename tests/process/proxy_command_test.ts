// Tests that the documentation shows the output of `gatehouse proxy`, and that it rejects invalid arguments.
// forward_proxies_test.ts and reverse_proxy_guide_test.ts run the output.
import assert from "node:assert/strict";
import { codeBlocks, installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";
import { runHere } from "../support/process/here.ts";
import { inScene } from "../support/process/scene.ts";
import { proxyNames } from "../../commands/proxy/configuration.ts";
import { proxyCommand } from "../../commands/proxy/proxy.ts";

const recipe = await readGuide("forward-auth.md");
const settings = Object.fromEntries(
  recipe("settings").trim().split("\n").map((line) => line.split("=", 2) as [string, string]),
);

async function print(args: readonly string[], env: Record<string, string> = settings) {
  // It needs no data file, and no folder for one.
  const { status, stdout, stderr } = await runHere({ folder: "/nowhere", env }, "proxy", ...args);
  return { code: status, out: stdout, said: stderr };
}

Deno.test("the recipe shows the output of its command", () =>
  inScene({}, async ({ folder }) => {
    const env = { ...settings, PATH: `${await installGatehouse(folder)}:${Deno.env.get("PATH")}` };
    const blocks = { nginx: recipe("nginx"), caddy: recipe("caddy"), traefik: recipe("traefik") };
    for (const name of proxyNames) {
      const printed = await runLines(recipe("command").replace("nginx", name), { cwd: folder, env });
      assert.equal(printed, blocks[name], `docs/forward-auth.md: ${name}`);
    }
  }));

Deno.test("the reverse proxy guide shows the output of the command without applications", async () => {
  const guide = codeBlocks(await Deno.readTextFile(new URL("../../docs/reverse-proxy.md", import.meta.url)));
  for (const name of proxyNames) {
    const { out } = await print([name]);
    const shown = guide.filter(({ mark }) => mark?.endsWith(`: ${name}`));
    assert.deepEqual(shown.map(({ text }) => text), [out], name);
  }
});

Deno.test("prints the conditions of each application, plus email=verified where anyone could get in", async () => {
  const organization = "org_0199d3c1a2b47c6e8f00112233445566";
  const queries = {
    "": "email=verified",
    "?role=ADMIN": "email=verified&role=ADMIN",
    "?user=email": "email=verified&user=email",
    [`?organization=${organization}&role=OWNER`]: `organization=${organization}&role=OWNER`,
    [`?user=email&organization=${organization}`]: `email=verified&user=email&organization=${organization}`,
    "?accept=session,key": "email=verified&accept=session,key",
    "?accept=key&meter=tiles/requests": "accept=key&meter=tiles/requests",
    "?accept=key&meter=tiles%2Frequests": "accept=key&meter=tiles/requests",
  };
  const applications = Object.keys(queries).map((conditions, n) =>
    `${n === 0 ? "APP" : "app"}${n}.example.com=127.0.0.1:3000${conditions}`
  );
  for (const name of proxyNames) {
    const { code, out, said } = await print([name, ...applications], {
      ...settings,
      ALLOWED_ORIGINS: "https://*.example.com",
    });
    assert.deepEqual([code, said], [0, ""]);
    const asked = [...out.matchAll(/\/api\/auth\/forward\?(?:redirect=401&)?([^";\s]*)/g)].map(([, query]) =>
      query
    );
    assert.deepEqual(asked, Object.values(queries), name);
    assert.match(out, /\bapp0\.example\.com\b/);
  }
});

Deno.test("rejects invalid proxies, applications and conditions with status 64", async () => {
  const good = "app.example.com=127.0.0.1:3000";
  const invalid = [
    [],
    ["apache"],
    ["--json"],
    ["nginx", "app.example.com"],
    ["nginx", "app.example.com="],
    ["nginx", "=127.0.0.1:3000"],
    ["nginx", "app.example.com=127.0.0.1"],
    ["nginx", "app.example.com=127.0.0.1:0"],
    ["nginx", "app.example.com=127.0.0.1:65536"],
    ["nginx", "app.example.com=http://127.0.0.1:3000"],
    ["nginx", "app.example.com;=127.0.0.1:3000"],
    ["nginx", "app.example.com=127.0.0.1:3000;}"],
    ["nginx", "app.example.com=127.0.0.1:3000\n"],
    ["nginx", "a b=127.0.0.1:3000"],
    ["nginx", "app..example.com=127.0.0.1:3000"],
    ["nginx", `${good}?role=BOSS`],
    ["nginx", `${good}?rol=ADMIN`],
    ["nginx", `${good}?role=ADMIN&role=MEMBER`],
    ["nginx", `${good}?meter=tiles/requests`],
    ["nginx", `${good}?accept=key&meter=tiles/requests;`],
    ["nginx", `${good}?organization=org_1`],
    ["nginx", `${good}?redirect=302`],
    ["nginx", "app.example.com=127.0.0.1:3000?accept=key&user=email"],
    ["nginx", good, good],
    ["nginx", "auth.example.com=127.0.0.1:3000"],
  ];
  for (const args of invalid) {
    assert.throws(() => proxyCommand(args, settings), { name: "Error", status: 64 }, args.join(" "));
  }
  // The program prints the problem in one line.
  const { code, out, said } = await print(["nginx", "app.example.com=127.0.0.1:3000\n"]);
  assert.deepEqual([code, out], [64, ""]);
  assert.match(said, /^gatehouse proxy: .*\n$/);
});

Deno.test("warns about a host outside the cookie's domain, and exits with 78 for invalid settings", async () => {
  const outside = await print(["caddy", "app.other.example=127.0.0.1:3000"]);
  assert.equal(outside.code, 0);
  assert.match(outside.said, /warning: app\.other\.example is outside COOKIE_DOMAIN=\.example\.com/);
  assert.match(outside.said, /warning: https:\/\/app\.other\.example isn't in ALLOWED_ORIGINS/);
  assert.doesNotMatch(outside.out, /warning/);
  const unset = await print(["caddy", "app.example.com=127.0.0.1:3000"], {
    BASE_URL: "https://auth.example.com",
  });
  assert.match(unset.said, /COOKIE_DOMAIN isn't set/);
  // Clients with an API key don't need the cookie.
  assert.equal((await print(["caddy", "api.other.example=127.0.0.1:3000?accept=key"])).said, "");
  for (const env of [{ BASE_URL: "auth.example.com" }, { PORT: "0", BASE_URL: "https://auth.example.com" }]) {
    const { code, out } = await print(["nginx"], env);
    assert.deepEqual([code, out], [78, ""]);
  }
  const help = await print(["--help"]);
  assert.deepEqual([help.code, help.said], [0, ""]);
  assert.match(help.out, /^Usage: gatehouse proxy nginx\|caddy\|traefik/);
});
