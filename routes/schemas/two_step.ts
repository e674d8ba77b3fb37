// The shapes of two-step sign-in and passkeys in the JSON API.
import { z } from "@hono/zod-openapi";
import { nameCharactersMax, totpWrongCodesMax } from "../../domain/limits.ts";
import { idOut, idParam, nameSchema, timeOut } from "./common.ts";

const stepToken = z.string().max(200, "is too long.").openapi({
  description: "The `secondStep.token` of the sign-in.",
  example: "3q2Zr8vYw0nK1bT6mXc4LdFpHs9uJ7gE",
});
const optionalStepToken = stepToken.optional().openapi({ example: undefined });
const code = z.string().max(100, "is too long.").openapi({
  description: "Six digits from the authenticator app.",
  example: "123456",
});
const base64url = (charactersMax: number, description: string) =>
  z.string().max(charactersMax, "is too long.").regex(/^[A-Za-z0-9_-]*$/, "must be base64url.").openapi({
    description: `${description} In base64url.`,
    example: "AQIDBAUGBwgJCgsMDQ4PEA",
  });
const passkeyName = nameSchema(nameCharactersMax).openapi({
  description: `What to call it, 1 to ${nameCharactersMax} characters.`,
  example: "My phone",
});

export const secondStepSchema = z.strictObject({
  token: stepToken,
  code: code.openapi({
    description: "Six digits from the authenticator app, or a recovery code.",
    example: "123456",
  }),
}).openapi("SecondStep");

/** What browsers name may grow with them: fields that are not read here are let pass. */
const credential = {
  id: base64url(2_000, "The credential's id."),
  rawId: base64url(2_000, "The same once more."),
  type: z.literal("public-key").openapi({ description: "Always this." }),
};

export const passkeyAnswerSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000, "What the browser signed for."),
    authenticatorData: base64url(20_000, "What the authenticator says of itself."),
    signature: base64url(20_000, "The signature."),
    userHandle: base64url(200, "Whose passkey it is.").nullish(),
  }).openapi({ description: "What the authenticator answered." }),
}).openapi("PasskeyAnswer", {
  description: "A `PublicKeyCredential` of `navigator.credentials.get()`, from its `toJSON()`.",
});

export const registrationAnswerSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(20_000, "What the browser signed for."),
    authenticatorData: base64url(20_000, "What the authenticator says of itself."),
    transports: z.array(z.string().max(50, "is too long.")).max(20, "are too many.").optional()
      .openapi({ description: "How the authenticator can be reached.", example: ["internal"] }),
  }).openapi({ description: "What the authenticator answered." }),
}).openapi("PasskeyRegistration", {
  description: "A `PublicKeyCredential` of `navigator.credentials.create()`, from its `toJSON()`.",
});

export const passkeyOptionsRequestSchema = z.strictObject({ token: optionalStepToken }).openapi(
  "PasskeyOptionsRequest",
);
export const passkeySignInSchema = z.strictObject({
  response: passkeyAnswerSchema,
  token: optionalStepToken.openapi({ description: "Makes it the second step of that sign-in." }),
}).openapi("PasskeySignIn");

export const passkeyOptionsSchema = z.object({
  options: z.record(z.string(), z.unknown()).openapi({
    description:
      "For `PublicKeyCredential.parseCreationOptionsFromJSON()` or `parseRequestOptionsFromJSON()`.",
  }),
}).openapi("PasskeyOptions");

export const passkeySchema = z.object({
  id: idOut("pas", "The passkey's id."),
  name: z.string().openapi({ description: "What you called it.", example: "My phone" }),
  createdAt: timeOut("When it was added."),
  lastUsedAt: timeOut("When it signed in last.").nullable(),
}).openapi("Passkey");
export const passkeyBodySchema = z.object({ passkey: passkeySchema });
export const passkeysSchema = z.object({ passkeys: z.array(passkeySchema) });
export const passkeyNameSchema = z.strictObject({ name: passkeyName }).openapi("PasskeyName");
export const passkeyParamsSchema = z.object({ id: idParam("pas", "The passkey's id.") });
export const addPasskeySchema = z.strictObject({
  name: passkeyName,
  response: registrationAnswerSchema,
}).openapi("AddPasskey");

export const twoStepSchema = z.object({
  totp: z.object({
    enabled: z.boolean().openapi({ description: "Signing in asks for a code." }),
    confirmedAt: timeOut("Since when.").nullable(),
    lockedAt: timeOut(
      `Since when its codes are not taken: after ${totpWrongCodesMax} wrong ones in a row, until the password is new.`,
    ).nullable(),
  }).openapi({ description: "The authenticator app." }),
  recoveryCodesLeft: z.number().int().openapi({ description: "Recovery codes that were not used yet." }),
  passkeys: z.array(passkeySchema).openapi({ description: "The oldest first." }),
}).openapi("TwoStep");
export const totpSetUpSchema = z.object({
  secret: z.string().openapi({
    description: "Base32, to type into an app.",
    example: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
  }),
  otpauthUrl: z.string().openapi({
    description: "The same as a link that apps open.",
    example: "otpauth://totp/Gatehouse:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
  }),
  qrCode: z.string().openapi({ description: "The same as a picture: SVG.", example: "<svg></svg>" }),
}).openapi("TotpSetUp");
export const totpCodeSchema = z.strictObject({ code }).openapi("TotpCode");
export const recoveryCodesSchema = z.object({
  recoveryCodes: z.array(z.string()).openapi({
    description: "Each signs in once, instead of the app. They are in this answer alone, ever.",
    example: ["7KQ2-MXFB-0D9T-HE4W"],
  }),
}).openapi("RecoveryCodes");
