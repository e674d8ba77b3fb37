// Reports of leaked keys: from anyone who holds one, and from GitHub's secret scanning.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { AppError, invalidSignatureError } from "../../domain/errors.ts";
import {
  githubReportBytesMax,
  reportedKeyCharactersMax,
  reportedUrlCharactersMax,
} from "../../domain/keys/key_limits.ts";
import { reportLeakedKeys, requireGithubSignature } from "../../services/keys/mod.ts";
import type { RateLimitState } from "../../services/rate_limiter.ts";
import { rateLimited } from "../api/bearer.ts";
import { mount, type OtherBody } from "../api/endpoint.ts";
import type { AppContext, AppEnv, AppParts } from "../env.ts";
import { check } from "../schemas/check.ts";
import { atMost } from "../schemas/messages.ts";

const keyReportSchema = z.strictObject({
  key: z.string().min(1, "must not be empty.")
    .max(reportedKeyCharactersMax, atMost(reportedKeyCharactersMax, "characters")).openapi({
      description: "The whole key.",
      example: "service_live_7Kq2mXfB0example0example0example0",
    }),
  url: z.string().max(reportedUrlCharactersMax, atMost(reportedUrlCharactersMax, "characters"))
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "must be an http or https URL.")
    .optional().openapi({
      description: "Where you found it. The key's owners see the address without its query.",
      example: "https://github.com/octocat/hello-world/blob/main/config.py",
    }),
}).openapi("KeyReport");

/** GitHub may add fields. Malformed keys and URLs must not keep it from reporting the others. */
const githubReportSchema = z.array(z.object({
  token: z.string().openapi({
    description: "The key.",
    example: "service_live_7Kq2mXfB0example0example0example0",
  }),
  type: z.string().optional().openapi({
    description: "The name of the pattern.",
    example: "gatehouse_api_key",
  }),
  url: z.string().nullish().openapi({
    description: "Where GitHub found it.",
    example: "https://github.com/octocat/hello-world/blob/main/config.py",
  }),
  source: z.string().optional().openapi({ description: "The kind of place.", example: "commit" }),
})).openapi("GithubReport", { description: `At most ${githubReportBytesMax} bytes.` });

const githubHeadersSchema = z.object({
  "Github-Public-Key-Identifier": z.string().describe("Which of GitHub's keys signed the body."),
  "Github-Public-Key-Signature": z.string().describe(
    "The signature in base64: ECDSA with P-256 and SHA-256.",
  ),
});

const path = "/api/v1/keys/report";
const accepted = { 202: { description: "Received. The response is the same for keys that don't exist." } };
const common = { tag: "API keys", security: "none", responses: accepted } as const;

export function leakedKeyRoutes(app: OpenAPIHono<AppEnv>, { services }: AppParts): void {
  const { leakReports } = services.rateLimits;
  const requireFew = (state: RateLimitState) => {
    if (!state.isAllowed) throw rateLimited(state, "Too many reports from this address.");
  };

  mount(app, {
    ...common,
    route: `POST ${path}`,
    operationId: "reportKey",
    summary: "Report a key that leaked",
    description:
      "For anyone who found a key. If it works, it is revoked, or its owners are notified. Who holds a key may report it, so no " +
      "authentication is required.",
    body: keyReportSchema,
    errors: ["rate_limited"],
  }, {
    authenticate: (c) => requireFew(leakReports.take(c.get("client"))),
    handle: (_c, { body }) => reportLeakedKeys(services, [body], { source: "someone who found it" }),
  });

  mount(app, {
    ...common,
    route: `POST ${path}/github`,
    operationId: "reportKeysFromGithub",
    summary: "Report keys that GitHub found",
    description: "The endpoint for GitHub's secret scanning partner program. GitHub signs the body.",
    headers: githubHeadersSchema,
    otherBodies: { "application/json": githubReportSchema },
    bodyBytesMax: githubReportBytesMax,
    errors: ["invalid_signature", "rate_limited"],
  }, {
    async authenticate(c) {
      requireFew(leakReports.peek(c.get("client")));
      const headers = c.get("headers");
      const identifier = headers["github-public-key-identifier"] ?? "";
      const signature = headers["github-public-key-signature"] ?? "";
      if (!/^[0-9a-f]{1,128}$/i.test(identifier) || signature === "") throw invalidSignatureError();
      const key = await services.githubKeys.find(identifier);
      // Not the room of operators, whom a stranger could otherwise lock out.
      c.set("bodyPlace", c.get("bodyRooms").keys.open("GitHub"));
      return { key, signature };
    },
    otherBody: (_c, { key, signature }): OtherBody => ({
      contentType: "application/json",
      optional: false,
      async handle({ text, value }) {
        requireGithubSignature(key, text, signature);
        const reports = check(githubReportSchema, value, "body")
          .filter(({ token }) => token !== "" && token.length <= reportedKeyCharactersMax)
          .map(({ token, url }) => ({ key: token, url: url ?? undefined }));
        await reportLeakedKeys(services, reports, { source: "GitHub" });
        return new Response(null, { status: 202 });
      },
    }),
    onError: (c: AppContext, error) => {
      const isInvalid = error instanceof AppError && error.code === "invalid_signature";
      if (isInvalid) leakReports.take(c.get("client"));
      return Promise.resolve(error);
    },
    handle: () => {},
  });
}
