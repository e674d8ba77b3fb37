// The shapes of codes and passkeys that people sign in with.
import { z } from "@hono/zod-openapi";
import { tooLong } from "../../schemas/messages.ts";

const stepToken = z.string().max(200, tooLong).openapi({
  description: "The `secondStep.token` of the sign-in response.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});
const optionalStepToken = stepToken.optional().openapi({ example: undefined });
export const codeSchema = z.string().max(100, tooLong).openapi({
  description: "Six digits from the authenticator app.",
  example: "123456",
});
const base64url = (charactersMax: number, description: string) =>
  z.string().max(charactersMax, tooLong).regex(/^[A-Za-z0-9_-]*$/, "must be base64url.").openapi({
    description: `${description} Base64url.`,
    example: "AQIDBAUGBwgJCgsMDQ4PEA",
  });

export const secondStepSchema = z.strictObject({
  token: stepToken,
  code: codeSchema.describe("Six digits from the authenticator app, or a recovery code."),
}).openapi("SecondStep");

/** Unknown fields are ignored: browsers may add some. */
const credential = {
  id: base64url(2_000, "The credential's id."),
  rawId: base64url(2_000, "The same as `id`."),
  type: z.literal("public-key").describe("The type of the credential."),
};

export const passkeyAssertionSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000, "The client data that the authenticator signed."),
    authenticatorData: base64url(20_000, "The authenticator data."),
    signature: base64url(20_000, "The signature."),
    userHandle: base64url(200, "The user handle of the passkey.").nullish(),
  }).describe("The authenticator's response."),
}).openapi("PasskeyAnswer", {
  description: "A `PublicKeyCredential` of `navigator.credentials.get()`, from its `toJSON()`.",
});

export const passkeyRegistrationSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000, "The client data that the authenticator signed."),
    authenticatorData: base64url(20_000, "The authenticator data."),
    transports: z.array(z.string().max(50, tooLong)).max(20).optional()
      .openapi({
        description: "How browsers can communicate with the authenticator.",
        example: ["internal"],
      }),
  }).describe("The authenticator's response."),
}).openapi("PasskeyRegistration", {
  description: "A `PublicKeyCredential` of `navigator.credentials.create()`, from its `toJSON()`.",
});

export const passkeyOptionsRequestSchema = z.strictObject({ token: optionalStepToken }).openapi(
  "PasskeyOptionsRequest",
);
export const passkeySignInSchema = z.strictObject({
  response: passkeyAssertionSchema,
  token: optionalStepToken.describe("Completes the sign-in with this token."),
}).openapi("PasskeySignIn");

export const passkeyProofSchema = z.strictObject({ response: passkeyAssertionSchema }).openapi(
  "PasskeyProof",
);
export const passkeyOptionsSchema = z.object({
  options: z.record(z.string(), z.unknown()).describe(
    "For `PublicKeyCredential.parseCreationOptionsFromJSON()` or `parseRequestOptionsFromJSON()`.",
  ),
}).openapi("PasskeyOptions");
