// Kills the program at random moments while a client exchanges codes and refresh tokens, honestly and not: no code works twice, and no
// access survives that its code or an old refresh token is used again.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { storedInFile } from "../support/meter/stored_usage.ts";
import { runCommand } from "../support/process/command.ts";
import { sendJson } from "../support/process/journey.ts";
import { httpThreads, killProgram } from "../support/process/program.ts";
import { inScene, type Scene } from "../support/process/scene.ts";
import { repeats } from "../support/runner/extent.ts";
import { poll } from "../support/runner/poll.ts";
import { faultRandom, faultsTimeoutMs, letOthersRun } from "../support/runner/random.ts";

const env = { LOG_LEVEL: "warning", SECRETS_KEY: btoa("7".repeat(32)) };
const rounds = repeats({ quick: 5, full: 50 });
const redirectUri = "https://app.example.com/callback";
const person = { email: "ada@example.com", password: "nine green umbrellas" };

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}
type Answer = Tokens | "invalid_grant" | null;

Deno.test(
  "after kills at random moments, no code works twice, and no access survives a reuse",
  { timeout: faultsTimeoutMs * Math.ceil(rounds / 40) },
  () =>
    inScene({ env }, async (scene) => {
      const random = faultRandom("token_kill_test.ts");
      let starts = 0;
      const start = () =>
        scene.start({ env: { HTTP_THREADS: httpThreads[starts++ % httpThreads.length] as string } });
      await start();
      const client = await Client.create(scene);
      for (let round = 0; round < rounds; round++) {
        const end = client.begin(3);
        const before = client.replays;
        // A server that has just started takes longer for its first response.
        if (random.chance(0.8) || round === 0) {
          await poll(() => client.replays > before || client.surprises.length > 0);
        }
        await letOthersRun(random.between(20, 300));
        await killProgram(scene.program);
        await end();
        await start();
        await client.repeatAll();
        assert.deepEqual(client.surprises, []);
      }
      assert.ok(client.replays >= rounds / 2, `only ${client.replays} replays`);
      await killProgram(scene.program);
      const stored = await storedInFile(scene.path);
      const twice = await stored.read(
        "SELECT grant_id FROM oauth_codes WHERE grant_id IS NOT NULL GROUP BY grant_id HAVING count(*) > 1",
      );
      await stored.close();
      assert.deepEqual(twice, []);
    }),
);

/** Sends what a client sends, and a thief, and notes what must not be. */
class Client {
  readonly surprises: string[] = [];
  /** How often something was used again and rejected. */
  replays = 0;
  /** Codes whose last response was lost or was a success, with the tokens that each has given. */
  readonly #codes = new Map<string, Tokens[]>();
  /** Access that must have ended. */
  #ended: Tokens[] = [];

  private constructor(
    readonly scene: Scene,
    readonly by: Readonly<Record<"cookie" | "id" | "secret", string>>,
  ) {}

  static async create(scene: Scene): Promise<Client> {
    const create = ["user", "create", person.email, "--name", "Ada", "--password-stdin"];
    const created = await runCommand({ ...scene.options, stdin: `${person.password}\n` }, ...create);
    assert.equal(created.status, 0, created.stderr);
    const add = ["client", "add", "Grafana", "--redirect-uri", redirectUri, "--no-consent"];
    const { stdout, stderr } = await scene.run(...add);
    const response = await sendJson(scene.baseUrl, "/api/auth/sign-in", { json: person });
    await response.body?.cancel();
    const [cookie = ""] = response.headers.getSetCookie().map((text) => text.split(";", 1)[0] ?? "");
    return new Client(scene, { cookie, id: /cli_\w+/.exec(stderr)?.[0] ?? "", secret: stdout.trim() });
  }

  /** @returns A function that ends the loops after their current requests. */
  begin(loops: number): () => Promise<void> {
    let isRunning = true;
    const running = Array.from({ length: loops }, async (_, loop) => {
      while (isRunning) await (loop % 2 === 0 ? this.#replayCode() : this.#replayRefresh());
    });
    return async () => {
      isRunning = false;
      await Promise.all(running);
    };
  }

  /** After a restart: uses each code again, and checks what must have ended. */
  async repeatAll(): Promise<void> {
    for (const code of [...this.#codes.keys()].slice(-5)) {
      await this.#exchangeTwice(code);
    }
    this.#codes.clear();
    for (const tokens of this.#ended.slice(-5)) await this.#checkEnded(tokens, "after a restart");
    this.#ended = [];
  }

  async #replayCode(): Promise<void> {
    const code = await this.#newCode();
    if (code !== null) await this.#exchangeTwice(code);
  }

  /** Exchanges a code twice at the same time: after a rejection, nothing that it has given works. */
  async #exchangeTwice(code: string): Promise<void> {
    const answers = await Promise.all([this.#exchange(code), this.#exchange(code)]);
    if (!answers.includes("invalid_grant")) return;
    this.replays++;
    for (const tokens of this.#codes.get(code) ?? []) {
      await this.#checkEnded(tokens, "after its code was used again");
    }
  }

  async #exchange(code: string): Promise<Answer> {
    const given = this.#codes.get(code) ?? [];
    this.#codes.set(code, given);
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    const answer = await this.#token(form);
    if (answer !== null && answer !== "invalid_grant") given.push(answer);
    if (given.length > 1) this.surprises.push("a code worked twice");
    return answer;
  }

  /** Refreshes twice, and then uses the first refresh token again. */
  async #replayRefresh(): Promise<void> {
    const code = await this.#newCode();
    const first = code && await this.#exchange(code);
    if (typeof first !== "object" || first === null) return;
    const refresh = async (tokens: Tokens) => {
      const answer = await this.#token({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
      // Its response may be lost: a client repeats it.
      return answer ??
        await this.#token({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    };
    const second = await refresh(first);
    if (typeof second !== "object" || second === null) return;
    const third = await refresh(second);
    if (typeof third !== "object" || third === null) return;
    const reused = await refresh(first);
    if (reused === null) return;
    if (reused !== "invalid_grant") this.surprises.push("an old refresh token worked");
    this.replays++;
    for (const tokens of [first, second, third]) await this.#checkEnded(tokens, "after a reuse");
    this.#codes.delete(code ?? "");
  }

  async #checkEnded(tokens: Tokens, when: string): Promise<void> {
    this.#ended.push(tokens);
    const found = await this.#post("/oauth/introspect", { token: tokens.access_token });
    if (found !== null && found.active !== false) this.surprises.push(`an access token works ${when}`);
    const refreshed = await this.#token({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    if (refreshed !== null && refreshed !== "invalid_grant") {
      this.surprises.push(`a refresh token works ${when}`);
    }
  }

  async #newCode(): Promise<string | null> {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: this.by.id,
      redirect_uri: redirectUri,
      scope: "openid",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    });
    const headers = { cookie: this.by.cookie, "sec-fetch-dest": "document" };
    const response = await this.#fetch(`/oauth/authorize?${query}`, { headers, redirect: "manual" });
    await response?.body?.cancel();
    const location = response?.headers.get("location") ?? "";
    return URL.canParse(location) ? new URL(location).searchParams.get("code") : null;
  }

  async #token(form: Record<string, string>): Promise<Answer> {
    const answer = await this.#post("/oauth/token", form);
    if (answer === null || answer.access_token !== undefined) return answer;
    if (answer.error !== "invalid_grant") this.surprises.push(JSON.stringify(answer));
    return "invalid_grant";
  }

  // deno-lint-ignore no-explicit-any
  async #post(path: string, form: Record<string, string>): Promise<any> {
    const authorization = `Basic ${btoa(`${this.by.id}:${this.by.secret}`)}`;
    const body = new URLSearchParams(form);
    const response = await this.#fetch(path, { method: "POST", headers: { authorization }, body });
    return response === null ? null : await response.json().catch(() => null);
  }

  /** @returns Null between a kill and the next start. */
  async #fetch(path: string, init: RequestInit): Promise<Response | null> {
    const response = await fetch(this.scene.baseUrl + path, init).catch(() => null);
    if (response !== null && response.status !== 503) return response;
    await response?.body?.cancel().catch(() => {});
    await letOthersRun(20);
    return null;
  }
}

const verifier = randomBytes(32).toString("base64url");
