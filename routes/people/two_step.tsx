// A person's own two-step sign-in: its shapes, its API, and its pages. Other origins can't call it. The emailed link that turns it
// off is in turn_off_link.tsx.
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { raw } from "hono/html";
import type { SessionActor } from "../../domain/access/actor.ts";
import { totpWrongCodesMax } from "../../domain/limits.ts";
import { countOf } from "../../domain/number_text.ts";
import { isoTime } from "../../domain/time.ts";
import {
  beginTotp,
  canTurnOffTwoStep,
  confirmTotp,
  findTotpSetup,
  getTwoStepStatus,
  listPasskeys,
  replaceRecoveryCodes,
  turnOffTwoStep,
} from "../../services/people/mod.ts";
import type { Context } from "../../services/context.ts";
import { Badge } from "../../views/components/badge.tsx";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { Card } from "../../views/components/card.tsx";
import { Secret } from "../../views/components/code.tsx";
import { ConfirmPage, type ConfirmPageProps } from "../../views/components/confirm_page.tsx";
import { TextField } from "../../views/components/field.tsx";
import { Form } from "../../views/components/form.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { securityLink } from "../../views/components/links.ts";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { DayTime } from "../../views/components/relative_time.tsx";
import { type PortalFrame, PortalPage } from "../../views/layout.tsx";
import { qrCodeSvg } from "../../views/people/qr_code.ts";
import { RecoveryCodesNotice } from "../../views/people/recovery_codes.tsx";
import { sessionRoutes } from "../api/endpoint.ts";
import type { App, AppContext, AppEnv, AppParts } from "../env.ts";
import { flashOf } from "../portal/form.ts";
import { mountFormPage, mountPageOfForms, ownPages, type Pages } from "../portal/noun_pages.ts";
import { askToReauthenticate, type PortalParts, redirect, sendPage } from "../portal/page.ts";
import { recentWords, stringSchema, timeOut } from "../schemas/common.ts";
import { codeSchema } from "./schemas/two_step.ts";
import { passkeySchema } from "./passkeys.tsx";

const schema = z.object({
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
const setUpSchema = z.object({
  secret: stringSchema("The secret in Base32, to enter in an app.", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"),
  otpauthUrl: stringSchema(
    "The secret as a link that opens an app.",
    "otpauth://totp/Gatehouse:ada%40example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
  ),
  qrCode: stringSchema("The secret as a QR code, in SVG.", "<svg></svg>"),
}).openapi("TotpSetUp");
const codesSchema = z.object({
  recoveryCodes: z.array(z.string()).openapi({
    description:
      "Codes that each work once instead of a code from the app. They appear only in this response.",
    example: ["7KQ2-MXFB-0D9T-HE4W"],
  }),
}).openapi("RecoveryCodes");

export function twoStepRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Account" });
  const path = "/api/portal/account/two-step";
  const errors = ["proof_required", "second_factor_required", "two_step_state"] as const;

  route({
    route: `GET ${path}`,
    operationId: "getTwoStep",
    summary: "Get your two-step sign-in settings",
    responses: { 200: { description: "The settings.", schema } },
  }, async (_c, _input, actor) => {
    const passkeys = await listPasskeys(services, actor);
    return { ...await getTwoStepStatus(services, actor), passkeys };
  });

  route({
    route: `POST ${path}/totp`,
    operationId: "beginTotp",
    summary: "Start setting up an authenticator app",
    description: `${recentWords} Two-step sign-in stays off until you confirm a code from the app.`,
    responses: { 200: { description: "The secret for the app.", schema: setUpSchema } },
    errors,
  }, async (_c, _input, actor) => {
    const setUp = await beginTotp(services, actor);
    return { ...setUp, qrCode: qrCodeSvg(setUp.otpauthUrl) };
  });

  route({
    route: `POST ${path}/totp/confirm`,
    operationId: "confirmTotp",
    summary: "Turn on two-step sign-in with a code from the app",
    description: recentWords,
    body: z.strictObject({ code: codeSchema }).openapi("TotpCode"),
    responses: { 200: { description: "Turned on.", schema: codesSchema } },
    errors: [...errors, "invalid_code"],
  }, async (_c, { body }, actor) => ({ recoveryCodes: await confirmTotp(services, actor, body.code) }));

  route({
    route: `POST ${path}/recovery-codes`,
    operationId: "replaceRecoveryCodes",
    summary: "Create new recovery codes",
    description: `${recentWords} The new codes replace the old ones.`,
    responses: { 200: { description: "The new codes.", schema: codesSchema } },
    errors,
  }, async (_c, _input, actor) => ({ recoveryCodes: await replaceRecoveryCodes(services, actor) }));

  route({
    route: `DELETE ${path}/totp`,
    operationId: "turnOffTotp",
    summary: "Turn off two-step sign-in",
    description: `${recentWords} You must have authenticated since two-step sign-in was turned on. ` +
      "Deletes the recovery codes. Passkeys stay.",
    responses: { 204: { description: "Turned off." } },
    errors,
  }, (_c, _input, actor) => turnOffTwoStep(services, actor));
}

export const twoStepPath = "/portal/account/two-step";
export const twoStepLink = { href: twoStepPath, label: "Two-step sign-in" };
const paths = {
  begin: `${twoStepPath}/begin`,
  setUp: `${twoStepPath}/set-up`,
  codes: `${twoStepPath}/recovery-codes`,
  turnOff: `${twoStepPath}/turn-off`,
};
const flashes = {
  "link-sent": "Check your email: the link in it turns off two-step sign-in. Earlier links no longer work.",
  "off": "Two-step sign-in is off. Signing in no longer requires a code.",
};

/** True if the person should create new recovery codes. */
export function isFewCodes(left: number): boolean {
  return left <= 3;
}

/** Returns text such as `1 code left`. */
export function codesLeft(left: number): string {
  return `${countOf(left, "code")} left`;
}

export function twoStepPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = ownPages(app, parts, { place: "security", back: twoStepLink });
  mountPageOfForms(app, pages, {
    path: twoStepPath,
    show: async (c, session, formOf) =>
      twoStepPage(formOf(paths.begin), {
        ...await getTwoStepStatus(services, session),
        flash: flashOf(c, flashes),
      }),
    forms: {
      async [paths.begin](_c, session) {
        await beginTotp(services, session);
        return paths.setUp;
      },
    },
  });
  setUpPage(pages, parts);
  changePages(pages, parts);
}

/** Shows the page of two-step sign-in instead of a form that doesn't fit its state, with the reason if the form was sent. */
async function insteadOf(c: AppContext, form: PageForm, status: Status | Promise<Status>) {
  return form.error === null ? redirect(c, twoStepPath) : twoStepPage(form, { ...await status, flash: null });
}

/** Shows new codes. They can't be read again, so they are shown in any case. */
async function showCodes(
  c: AppContext,
  session: SessionActor,
  { frame, services, ...codes }: {
    frame: PortalFrame;
    services: Context;
    recoveryCodes: readonly string[];
    flash: string;
  },
): Promise<Response> {
  const status = await getTwoStepStatus(services, session).catch(() => ({
    totp: { confirmedAt: isoTime(services.clock()), lockedAt: null },
    recoveryCodesLeft: codes.recoveryCodes.length,
  }));
  // Reloading the page must not create more.
  c.header("HX-Push-Url", twoStepPath);
  return await sendPage(c, twoStepPage({ frame, error: null }, { ...status, ...codes }), 201);
}

function setUpPage(pages: Pages<SessionActor>, { services }: PortalParts): void {
  mountFormPage(pages, {
    path: paths.setUp,
    async show(c, form, session) {
      const found = await findTotpSetup(services, session);
      if (found === null) return await insteadOf(c, form, getTwoStepStatus(services, session));
      return setUpForm(form, found);
    },
    async submit(c, session, { code = "" }) {
      return await showCodes(c, session, {
        frame: pages.frameOf(session),
        services,
        recoveryCodes: await confirmTotp(services, session, code),
        flash: "Two-step sign-in is on. Your next sign-in will ask for a code.",
      });
    },
  });
}

function changePages(pages: Pages<SessionActor>, { services }: PortalParts): void {
  const mount = (
    path: string,
    words: Pick<ConfirmPageProps, "title" | "heading" | "text" | "submit" | "tone">,
    submit: Parameters<typeof mountFormPage<SessionActor>>[1]["submit"],
  ) =>
    mountFormPage(pages, {
      path,
      async show(c, form, session) {
        const status = await getTwoStepStatus(services, session);
        if (!status.totp.enabled) return await insteadOf(c, form, status);
        // A recent authentication isn't enough to turn it off.
        if (path === paths.turnOff && !await canTurnOffTwoStep(services, session)) {
          return askToReauthenticate(c, path, { again: true });
        }
        return <ConfirmPage {...form} {...about(form, status)} {...words} />;
      },
      submit,
    });
  mount(paths.codes, {
    title: "Create new recovery codes",
    heading: "Create new recovery codes?",
    text: "Your current codes stop working. The new ones are shown only once.",
    submit: "Create new codes",
    tone: "primary",
  }, async (c, session) =>
    await showCodes(c, session, {
      frame: pages.frameOf(session),
      services,
      recoveryCodes: await replaceRecoveryCodes(services, session),
      flash: "Your old recovery codes no longer work.",
    }));
  mount(paths.turnOff, {
    title: "Turn off two-step sign-in",
    heading: "Turn off two-step sign-in?",
    text: "Signing in no longer requires a code. Your recovery codes stop working; passkeys stay.",
    submit: "Turn off",
  }, async (_c, session) => {
    await turnOffTwoStep(services, session);
    return `${twoStepPath}?done=off`;
  });
}

function about({ frame }: PageForm, { recoveryCodesLeft }: Status) {
  return {
    facts: [
      { label: "Account", value: <bdi>{frame.session.user.email}</bdi> },
      { label: "Recovery codes left", value: String(recoveryCodesLeft) },
    ],
  };
}

/** The part of the state that its page shows. Times are ISO 8601. */
interface Status extends Pick<Awaited<ReturnType<typeof getTwoStepStatus>>, "recoveryCodesLeft"> {
  readonly totp: { readonly confirmedAt: string | null; readonly lockedAt: string | null };
}

/** @param state `recoveryCodes`: new ones, which are shown only once. */
function twoStepPage(
  { frame, error }: Pick<PageForm, "frame" | "error">,
  { totp, recoveryCodesLeft: left, recoveryCodes, flash }: Status & {
    recoveryCodes?: readonly string[];
    flash: string | null;
  },
) {
  return (
    <PortalPage title="Two-step sign-in" frame={frame} place="security">
      <PageHead
        back={securityLink}
        title="Two-step sign-in"
        text="After your password or provider, enter a code from an app on your phone. Your password alone is not enough to sign in."
      />
      <Notice tone="done" text={flash} />
      <Notice tone="error" text={error} />
      {recoveryCodes && <RecoveryCodesNotice codes={recoveryCodes} email={frame.session.user.email} />}
      {totp.confirmedAt === null ? <Off /> : (
        <>
          <On confirmedAt={totp.confirmedAt} lockedAt={totp.lockedAt} now={frame.now} />
          <Card
            title="Recovery codes"
            aside={<Badge tone={isFewCodes(left) ? "soon" : "on"}>{codesLeft(left)}</Badge>}
          >
            <p class="muted">
              {isFewCodes(left) ? "You have few codes left: create new ones soon. " : ""}
              Use them if you lose your phone. Each works once, and new codes replace the old ones.
            </p>
            <div class="act-row">
              <ButtonLink href={paths.codes}>Create new codes</ButtonLink>
            </div>
          </Card>
        </>
      )}
    </PortalPage>
  );
}

function Off() {
  return (
    <Card title="Authenticator app" aside={<Badge tone="off">Off</Badge>}>
      <p class="muted">
        You need an app such as Aegis, Google Authenticator, 1Password, or the one in your phone's settings.
      </p>
      <Form class="act-row" action={paths.begin}>
        <SubmitButton>Set up two-step sign-in</SubmitButton>
      </Form>
    </Card>
  );
}

function On({ confirmedAt, lockedAt, now }: { confirmedAt: string; lockedAt: string | null; now: number }) {
  return (
    <Card
      title="Authenticator app"
      aside={lockedAt === null ? <Badge tone="on">On</Badge> : <Badge tone="off">Locked</Badge>}
    >
      {lockedAt && (
        <Notice
          tone="error"
          text="Someone who knows your password entered too many wrong codes. The app's codes are accepted again once you change your password."
        />
      )}
      <p class="muted">
        On (since <DayTime at={confirmedAt} now={now} />). You can use a{" "}
        <a href="/portal/account/passkeys">passkey</a> instead of a code.
      </p>
      <div class="act-row">
        <ButtonLink tone="plain-destroy" href={paths.turnOff}>Turn off</ButtonLink>
      </div>
    </Card>
  );
}

function setUpForm(
  { frame, place, back, action, error, field }: PageForm,
  { secret, otpauthUrl }: { secret: string; otpauthUrl: string },
) {
  return (
    <PortalPage title="Set up two-step sign-in" frame={frame} place={place}>
      <PageHead
        back={back}
        title="Set up two-step sign-in"
        text="Two-step sign-in turns on when you confirm the first code."
      />
      <Notice tone="error" text={error} />
      <Card title="1. Scan this with your app">
        <div class="qr">{raw(qrCodeSvg(otpauthUrl))}</div>
        <p class="muted small">
          Is the app on this device? <a href={otpauthUrl} hx-boost="false">Open it</a>, or enter this key:
        </p>
        <Secret id="totp-secret" value={secret.replaceAll(/(.{4})(?!$)/g, "$1 ")} copy="Copy key" />
      </Card>
      <Card title="2. Enter the code that your app shows">
        <Form class="new-key" action={action}>
          <TextField
            label="Code"
            {...field("code")}
            hint="Six digits. They change every 30 seconds."
            autocomplete="one-time-code"
            inputmode="numeric"
            required
            maxlength={20}
          />
          <div class="act-row">
            <SubmitButton>Turn on</SubmitButton>
            <ButtonLink href={back.href}>Cancel</ButtonLink>
          </div>
        </Form>
      </Card>
    </PortalPage>
  );
}
