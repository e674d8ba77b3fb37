// The shapes of two-step sign-in and passkeys.
import { z } from "@hono/zod-openapi";
import { totpWrongCodesMax } from "../../domain/limits.ts";
import { idOut, idParam, nameSchema, stringSchema, timeOut } from "./common.ts";
import { tooLong } from "./messages.ts";

const stepToken = z.string().max(200, tooLong).openapi({
  description: "The `secondStep.token` of the sign-in response.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});
const optionalStepToken = stepToken.optional().openapi({ example: undefined });
const code = z.string().max(100, tooLong).openapi({
  description: "Six digits from the authenticator app.",
  example: "123456",
});
const base64url = (charactersMax: number, description: string) =>
  z.string().max(charactersMax, tooLong).regex(/^[A-Za-z0-9_-]*$/, "must be base64url.").openapi({
    description: `${description} Base64url.`,
    example: "AQIDBAUGBwgJCgsMDQ4PEA",
  });
const passkeyName = nameSchema("A name for the passkey", { example: "My phone" });

export const secondStepSchema = z.strictObject({
  token: stepToken,
  code: code.describe("Six digits from the authenticator app, or a recovery code."),
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

const passkeySchema = z.object({
  id: idOut("pas", "The passkey's id."),
  name: stringSchema("The passkey's name.", "My phone"),
  otherHost: stringSchema(
    "The host that the passkey works at, if the service has moved to another one since. It can't be used anymore.",
    "old.example.com",
  ).nullable(),
  createdAt: timeOut("When the passkey was added."),
  lastUsedAt: timeOut("When the passkey was last used to sign in.").nullable(),
}).openapi("Passkey");
export const passkeyResponseSchema = z.object({ passkey: passkeySchema });
export const passkeysSchema = z.object({ passkeys: z.array(passkeySchema) });
export const passkeyNameSchema = z.strictObject({ name: passkeyName }).openapi("PasskeyName");
export const passkeyParamsSchema = z.object({ id: idParam("pas", "The passkey's id.") });
export const addPasskeySchema = z.strictObject({
  name: passkeyName,
  response: passkeyRegistrationSchema,
}).openapi("AddPasskey");

export const twoStepSchema = z.object({
  totp: z.object({
    enabled: z.boolean().describe("Whether signing in requires a code."),
    confirmedAt: timeOut("When the authenticator app was confirmed.").nullable(),
    lockedAt: timeOut(
      `When the app's codes were locked: after ${totpWrongCodesMax} incorrect codes in a row, until the password is changed or reset.`,
    ).nullable(),
  }).describe("The authenticator app."),
  recoveryCodesLeft: z.number().int().describe("The number of unused recovery codes."),
  passkeys: z.array(passkeySchema).describe("Your passkeys, oldest first."),
}).openapi("TwoStep");
export const totpSetUpSchema = z.object({
  secret: stringSchema("The secret in Base32, to enter in an app.", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"),
  otpauthUrl: stringSchema(
    "The secret as a link that opens an app.",
    "otpauth://totp/Gatehouse:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
  ),
  qrCode: stringSchema("The secret as a QR code, in SVG.", "<svg></svg>"),
}).openapi("TotpSetUp");
export const totpCodeSchema = z.strictObject({ code }).openapi("TotpCode");
export const recoveryCodesSchema = z.object({
  recoveryCodes: z.array(z.string()).openapi({
    description:
      "Codes that each work once instead of a code from the app. They appear only in this response.",
    example: ["7KQ2-MXFB-0D9T-HE4W"],
  }),
}).openapi("RecoveryCodes");
