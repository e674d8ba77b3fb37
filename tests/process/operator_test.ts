// `gatehouse operator …`, `gatehouse token …` and `gatehouse provider …` with the real program, alongside a running server.
import assert from "node:assert/strict";
import { operatorScopes } from "../../domain/access/operator_scope.ts";
import { cookieOf, testPassword } from "../support/app/app.ts";
import { startDiscovery } from "../support/network/discovery.ts";
import { sendJson } from "../support/process/journey.ts";
import { runHere } from "../support/process/here.ts";
import { inScene, onServer } from "../support/process/scene.ts";

const dayMs = 24 * 3_600_000;

Deno.test("operators, tokens and sign-in providers are managed alongside a running server", async () => {
  await using discovery = startDiscovery();
  await onServer({ env: { LOG_LEVEL: "warning" } }, async ({ folder, program, baseUrl, options }) => {
    const settings = { ...options, env: { PORT: new URL(baseUrl).port } };
    const gatehouse = async (...args: readonly string[]) => {
      const { status, stdout, stderr } = await runHere(settings, ...args);
      return [status, stdout.trim(), stderr.replace(/^Database: .*\n/, "").trim()] as const;
    };
    const json = { name: "Mara Rossi", email: "mara@example.com", password: testPassword };
    const cookie = cookieOf(await sendJson(baseUrl, "/api/auth/sign-up", { json }));
    const listTokens = async () => {
      const response = await sendJson(baseUrl, "/api/operator/tokens", { cookie });
      return (await response.json()).error?.code;
    };

    assert.equal(await listTokens(), "not_found");
    const added = await gatehouse("operator", "add", "Mara@Example.com");
    assert.deepEqual(added.slice(0, 2), [0, "Mara@Example.com is now an operator."]);
    assert.match(added[2], /set up two-step sign-in or a passkey/);
    assert.equal(await listTokens(), "second_factor_required");
    assert.deepEqual((await gatehouse("operator", "add", "mara@example.com"))[1], alreadyOperator);
    assert.match(
      (await gatehouse("operator", "list"))[1],
      /^EMAIL .*\nmara@example\.com {2}\d{4}-.* Mara Rossi$/,
    );
    const listed = JSON.parse((await gatehouse("operator", "list", "--json"))[1]);
    assert.deepEqual([listed.email, listed.twoStep, listed.passkeys], ["mara@example.com", false, 0]);
    assert.equal((await gatehouse("operator", "remove", "mara@example.com"))[0], 0);
    assert.equal(await listTokens(), "not_found");
    assert.equal((await gatehouse("operator", "list", "--json"))[1], "");

    const created = await gatehouse(
      ...["token", "create", "Billing", "--scope", "users:read,usage:read", "--expires", "90d"],
      ...["--address", "127.0.0.0/8"],
    );
    assert.equal(created[0], 0, created[2]);
    assert.match(created[1], /^service_operator_[0-9A-Za-z]{38}$/);
    const asToken = { apiKey: created[1] };
    assert.equal((await sendJson(baseUrl, "/api/operator/users", asToken)).status, 200);
    const token = JSON.parse((await gatehouse("token", "list", "--json"))[1]);
    assert.deepEqual(
      [token.name, token.scopes, token.addresses, token.createdBy],
      ["Billing", ["usage:read", "users:read"], ["127.0.0.0/8"], null],
    );
    assert.equal(Math.round((Date.parse(token.expiresAt) - Date.parse(token.createdAt)) / dayMs), 90);
    assert.match((await gatehouse("token", "list"))[1], /^ID .*\nopt_\w+ {2}active .*127\.0\.0\.0\/8$/);
    assert.match((await gatehouse("token", "revoke", token.id))[1], /Revoked “Billing”/);
    assert.equal((await sendJson(baseUrl, "/api/operator/users", asToken)).status, 401);

    await Deno.writeTextFile(`${folder}/secret`, " canary\n");
    const provider = [
      ...["provider", "add", "local", "--client-id", "a", "--client-secret-file", `${folder}/secret`],
      ...["--trust-email", "--kind", "oidc", "--issuer", discovery.issuer],
    ];
    const callback = "/sign-in/with/local/callback";
    const [status, redirectUri, text] = await gatehouse(...provider);
    assert.deepEqual([status, new URL(redirectUri).pathname], [0, callback], text);
    const again = await gatehouse(...provider);
    assert.deepEqual(again, [65, "", "gatehouse provider: A provider with this slug already exists."]);
    const [, listedProviders] = await gatehouse("provider", "list", "--json");
    const { name, issuer, trustEmail, signUp } = JSON.parse(listedProviders);
    assert.deepEqual([name, issuer, trustEmail, signUp], ["local", discovery.issuer, true, true]);
    assert.ok(!listedProviders.includes("canary"));
    assert.match((await gatehouse("provider", "list"))[1], /^SLUG .*\nlocal {2}oidc .*\/callback$/);
    const checks = JSON.parse((await gatehouse("check", "--json"))[1]).checks as {
      about: string;
      verdict: string;
    }[];
    assert.equal(checks.find(({ about }) => about === "Provider local")?.verdict, "ok");
    assert.match((await gatehouse("provider", "remove", "local"))[1], /^Removed “local”/);
    assert.match((await gatehouse("provider", "remove", "local"))[2], /no provider has this slug/);
    assert.ok(!program.output().includes("canary"));
  });
});

const alreadyOperator = "The account was already an operator.";

Deno.test("says what is wrong with the arguments, and exits with the documented status", () =>
  inScene({}, async (scene) => {
    const scopes = operatorScopes.join(", ");
    const cases: readonly (readonly [args: string, status: number, message: string])[] = [
      ["operator", 64, "a command is required. Try gatehouse operator --help."],
      ["operator promote", 64, "unknown command “promote”. Try gatehouse operator --help."],
      ["operator add", 64, "add takes exactly one email address."],
      ["operator list all", 64, "list takes no argument."],
      ["token create A", 64, "--scope is required."],
      [
        "token create A --scope usage:read,usage:all",
        65,
        `“usage:all” is not a scope. The scopes are ${scopes}.`,
      ],
      ["token create A --scope usage:read --expires 0d", 65, "--expires must be in the future"],
      ["token create A --scope usage:read --expires never", 65, "--expires must be in the future"],
      ["token create A --scope usage:read --address 10.1", 65, "--address 10.1 is not an IP address"],
      ["token create A --scope usage:read --scope", 64, "Option '--scope <value>' argument missing"],
      ["provider add a --kind oidc --client-id a", 64, "--client-secret-file is required."],
      [
        "provider add a --kind saml --client-id a --client-secret-file f",
        64,
        "--kind must be one of oidc, google",
      ],
      [
        "provider add A --kind oidc --client-id a --client-secret-file f",
        65,
        "SLUG must be 1 to 32 lowercase",
      ],
      ["token revoke", 64, "revoke takes exactly one token id."],
      // Never creates a database.
      ["token list", 78, "doesn't exist"],
    ];
    const rejects = async (rejected: typeof cases) => {
      for (const [args, status, message] of rejected) {
        const end = await runHere(scene.options, ...args.split(" "));
        assert.deepEqual([end.status, end.stdout], [status, ""], `${args}: ${end.stderr}`);
        assert.ok(end.stderr.includes(message), `${args}: ${end.stderr}`);
      }
    };
    await rejects(cases);
    for (const command of ["operator", "token", "provider"]) {
      const { status, stdout } = await runHere(scene.options, command, "--help");
      assert.equal(status, 0);
      assert.match(stdout, new RegExp(`gatehouse ${command} list`));
    }
    await Deno.mkdir(`${scene.folder}/data`);
    assert.equal((await runHere(scene.options, "migrate")).status, 0);
    await rejects([
      ["operator add nobody@example.com", 67, "gatehouse operator: no account has this email address."],
      [`token revoke opt_${"0".repeat(32)}`, 65, "gatehouse token: no token has this id."],
    ]);
  }));
