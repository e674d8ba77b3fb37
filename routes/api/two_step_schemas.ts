// The shapes of two-step sign-in and passkeys in the JSON API.
import { z } from "@hono/zod-openapi";
import { nameCharactersMax } from "../../domain/limits.ts";
import { nameSchema, timeOutSchema } from "./schemas.ts";

const stepToken = z.string().max(200, "is too long.").openapi({
  description: "The `secondStep.token` of the sign-in.",
});
const code = z.string().max(100, "is too long.");
const base64url = (charactersMax: number) =>
  z.string().max(charactersMax, "is too long.").regex(/^[A-Za-z0-9_-]*$/, "must be base64url.");

export const secondStepSchema = z.strictObject({
  token: stepToken,
  code: code.openapi({
    description: "Six digits from the authenticator app, or a recovery code.",
    example: "123456",
  }),
}).openapi("SecondStep");

/** What browsers name may grow with them: fields that are not read here are let pass. */
const credential = {
  id: base64url(2_000),
  rawId: base64url(2_000),
  type: z.literal("public-key"),
};

export const passkeyAnswerSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000),
    authenticatorData: base64url(20_000),
    signature: base64url(20_000),
    userHandle: base64url(200).nullish(),
  }),
}).openapi("PasskeyAnswer", {
  description: "A `PublicKeyCredential` of `navigator.credentials.get()`, from its `toJSON()`.",
});

export const registrationAnswerSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000),
    authenticatorData: base64url(20_000),
    transports: z.array(z.string().max(50, "is too long.")).max(20, "are too many.").optional(),
  }),
}).openapi("PasskeyRegistration", {
  description: "A `PublicKeyCredential` of `navigator.credentials.create()`, from its `toJSON()`.",
});

export const passkeyOptionsRequestSchema = z.strictObject({ token: stepToken.optional() }).openapi(
  "PasskeyOptionsRequest",
);
export const passkeySignInSchema = z.strictObject({
  response: passkeyAnswerSchema,
  token: stepToken.optional().openapi({ description: "Makes it the second step of that sign-in." }),
}).openapi("PasskeySignIn");

export const passkeyOptionsSchema = z.object({
  options: z.record(z.string(), z.unknown()).openapi({
    description:
      "For `PublicKeyCredential.parseCreationOptionsFromJSON()` or `parseRequestOptionsFromJSON()`.",
  }),
}).openapi("PasskeyOptions");

export const passkeySchema = z.object({
  id: z.string().openapi({ example: "pas_0199d3c1a2b47c6e8f00112233445566" }),
  name: z.string(),
  createdAt: timeOutSchema,
  lastUsedAt: timeOutSchema.nullable(),
}).openapi("Passkey");
export const passkeyBodySchema = z.object({ passkey: passkeySchema });
export const passkeysSchema = z.object({ passkeys: z.array(passkeySchema) });
export const passkeyNameSchema = z.strictObject({ name: nameSchema(nameCharactersMax) }).openapi(
  "PasskeyName",
);
export const addPasskeySchema = z.strictObject({
  name: nameSchema(nameCharactersMax),
  response: registrationAnswerSchema,
}).openapi("AddPasskey");

export const twoStepSchema = z.object({
  totp: z.object({ enabled: z.boolean(), confirmedAt: timeOutSchema.nullable() }),
  recoveryCodesLeft: z.number().int(),
  passkeys: z.array(passkeySchema),
}).openapi("TwoStep");
export const totpSetUpSchema = z.object({
  secret: z.string().openapi({ description: "Base32, to type into an app." }),
  otpauthUrl: z.string().openapi({ example: "otpauth://totp/…" }),
  qrCode: z.string().openapi({ description: "The same as a picture: SVG." }),
}).openapi("TotpSetUp");
export const totpCodeSchema = z.strictObject({ code }).openapi("TotpCode");
export const recoveryCodesSchema = z.object({
  recoveryCodes: z.array(z.string()).openapi({
    description: "Each signs in once, instead of the app. They are in this answer alone, ever.",
    example: ["7KQ2-MXFB-0D9T-HE4W"],
  }),
}).openapi("RecoveryCodes");
