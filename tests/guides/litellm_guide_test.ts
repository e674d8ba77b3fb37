// docs/litellm.md: its commands and files against the real program. tests/support/litellm takes the place of LiteLLM.
import assert from "node:assert/strict";
import { python, pythonEnv } from "../support/client/python_meter.ts";
import { installGatehouse, readGuide, runLines } from "../support/runner/guides.ts";
import { onServer } from "../support/process/scene.ts";
import { isMissing } from "../support/runner/needs.ts";

const block = await readGuide("litellm.md");
const scenarios = new URL("../support/litellm/scenarios.py", import.meta.url).pathname;

const callback = {
  specversion: "1.0",
  type: "litellm_tokens",
  id: "chatcmpl-1",
  time: new Date().toISOString(),
  subject: "team-tideline",
  source: "litellm-proxy",
  data: { model: "small", cost: 0.0000123, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

Deno.test({
  name: "the guide reports usage with the callback, and enforces a limit with the handler",
  ignore: isMissing("curl", "python3"),
  fn: () =>
    onServer({}, async ({ folder, baseUrl }) => {
      const bin = await installGatehouse(folder);
      const env = { ...pythonEnv, GATEHOUSE_URL: baseUrl, PATH: `${bin}:${Deno.env.get("PATH")}` };
      const run = (lines: string, more: Record<string, string> = {}) =>
        runLines(lines.replaceAll("https://auth.example.com", baseUrl), {
          cwd: folder,
          env: { ...env, ...more },
        });
      const tokenIn = (output: string) => /service_operator_\w+/.exec(output)?.[0] ?? assert.fail(output);
      await run(block("limit"));

      assert.match(block("callback configuration"), /^ {2}success_callback: \["openmeter"\]$/m);
      const token = tokenIn(await run(block("callback token")));
      const variables = block("callback variables").replace("service_operator_…", token);
      const request = `curl --silent --output /dev/null --write-out '%{http_code}' ` +
        `"$OPENMETER_API_ENDPOINT/api/v1/events" -H "Authorization: Bearer $OPENMETER_API_KEY" ` +
        `-H "Content-Type: application/cloudevents+json" --data '${JSON.stringify(callback)}'`;
      assert.equal(await run(`${variables}\n${request}`), "204");

      const handler = tokenIn(await run(block("handler files")));
      await Deno.writeTextFile(`${folder}/config.yaml`, block("handler configuration"));
      const settings = block("handler variables").replace("service_operator_…", handler);
      const outcomes = await run(`${settings}\n${python} '${scenarios}' . guide team-tideline`, {
        GATEHOUSE_LITELLM_TIMEOUT: "60",
      });
      const reason = "This usage exceeds a limit of the organization or of the API key.";
      const [admitted, denied] = JSON.parse(outcomes);
      assert.deepEqual([admitted, denied.slice(0, 3)], [200, [429, "limit_exceeded", reason]]);
      const reader = tokenIn(await run('gatehouse token create "Reader" --scope organizations:read'));
      const limits = await run(
        `curl --fail --silent "$GATEHOUSE_URL/api/operator/organizations/external:team-tideline/limits" ` +
          `-H "Authorization: Bearer ${reader}"`,
      );
      const { limits: [limit] } = JSON.parse(limits);
      assert.deepEqual([limit.used, limit.held], [15 + 390, 0]);
    }),
});
