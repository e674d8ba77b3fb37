// The shapes of reports of leaked keys.
import { z } from "@hono/zod-openapi";
import {
  githubReportBytesMax,
  reportedKeyCharactersMax,
  reportedUrlCharactersMax,
} from "../../domain/keys/key_limits.ts";
import { atMost } from "./messages.ts";

export const keyReportSchema = z.strictObject({
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
export const githubReportSchema = z.array(z.object({
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

export const githubHeadersSchema = z.object({
  "Github-Public-Key-Identifier": z.string().describe("Which of GitHub's keys signed the body."),
  "Github-Public-Key-Signature": z.string().describe(
    "The signature in base64: ECDSA with P-256 and SHA-256.",
  ),
});
