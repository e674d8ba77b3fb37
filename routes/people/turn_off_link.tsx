// The emailed link that turns off two-step sign-in, for people who lost their device and their recovery codes: its API, the page that
// requests it, and the page that it opens. The link alone turns nothing off: it requires a session and a click, because email
// scanners open links too.
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ErrorCode } from "../../domain/errors.ts";
import { usableProviders } from "../../domain/people/identity.ts";
import type { OfferedProvider } from "../../domain/people/identity_provider.ts";
import { turnOffLinkPath } from "../../domain/people/return_to.ts";
import {
  findTurnOffLink,
  getSignInMethods,
  getTwoStepStatus,
  requestTurnOffLink,
  turnOffTwoStepByLink,
} from "../../services/people/mod.ts";
import { ButtonLink, SubmitButton } from "../../views/components/button.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { PasswordField, UsernameField } from "../../views/components/field.tsx";
import type { PageForm } from "../../views/components/form_page.tsx";
import { GateCard, GateHint } from "../../views/components/gate_card.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { type GateFrame, PortalPage } from "../../views/layout.tsx";
import { ProviderForm } from "../../views/people/identities.tsx";
import { sessionRoutes } from "../api/endpoint.ts";
import type { App, AppEnv, AppParts } from "../env.ts";
import { mountLinkPage } from "../portal/link_page.ts";
import { mountFormPage, ownPages } from "../portal/noun_pages.ts";
import { gateFrame, type PortalParts, redirect, signedInRoutes } from "../portal/page.ts";
import { currentPasswordSchema, linkTokenSchema } from "./schemas/people.ts";
import { sessionActor } from "../session.ts";
import { twoStepLink, twoStepPath } from "./two_step.tsx";

export function turnOffLinkRoutes(app: OpenAPIHono<AppEnv>, parts: AppParts): void {
  const { services } = parts;
  const route = sessionRoutes(app, parts, { tag: "Account" });

  route({
    route: "POST /api/portal/account/two-step/turn-off-link",
    operationId: "requestTurnOffLink",
    summary: "Request a link to turn off two-step sign-in",
    description:
      "For people who lost their device and their recovery codes. The link is emailed to the account's address. It works once, " +
      "for 1 hour, with a session of the account.",
    body: currentPasswordSchema,
    responses: { 202: { description: "The email will be sent." } },
    errors: [
      "invalid_credentials",
      "second_factor_required",
      "two_step_state",
      "rate_limited",
      "mail_unavailable",
    ],
  }, (_c, { body }, actor) => requestTurnOffLink(services, actor, body.password));

  route({
    route: "POST /api/portal/account/two-step/turn-off",
    operationId: "turnOffTotpByLink",
    summary: "Turn off two-step sign-in with an emailed link",
    description: "Deletes the recovery codes. Passkeys stay.",
    body: linkTokenSchema,
    responses: { 204: { description: "Turned off." } },
    errors: ["invalid_token", "wrong_account", "second_factor_required"],
  }, (_c, { body }, actor) => turnOffTwoStepByLink(services, actor, body.token));
}

export function turnOffLinkPages(app: App, parts: PortalParts): void {
  const { services } = parts;
  const pages = ownPages(app, parts, { place: "security", back: twoStepLink });
  mountFormPage({ ...pages, forms: signedInRoutes(app, parts) }, {
    path: turnOffLinkPath,
    async show(c, form, session) {
      const { totp } = await getTwoStepStatus(services, session);
      if (!totp.enabled && form.input === undefined) return redirect(c, twoStepPath);
      const { hasPassword, identities } = await getSignInMethods(services, session);
      return hasPassword ? requestPage(form) : providersPage(form, usableProviders(identities));
    },
    async submit(_c, session, { password = "" }) {
      await requestTurnOffLink(services, session, password);
      return `${twoStepPath}?done=link-sent`;
    },
    fieldOf: { invalid_credentials: "password" },
  });

  const frame = gateFrame(parts);
  mountLinkPage(app, parts, {
    path: "/turn-off-two-step",
    async show(token, session, error) {
      if (error !== undefined && !deadly.has(error)) return null;
      const link = error === undefined ? await findTurnOffLink(services, token) : null;
      if (link === null) return { isDead: true, page: deadPage(frame) };
      const isOwn = session?.user.id === link.userId;
      return { page: isOwn ? readyPage(frame, { token, email: session.user.email }) : otherPage(frame) };
    },
    async use(c, token, session) {
      const link = await findTurnOffLink(services, token);
      if (session === null || session.user.id !== link?.userId) return null;
      await turnOffTwoStepByLink(services, sessionActor(c, session), token);
      return redirect(c, `${twoStepPath}?done=off`);
    },
  });
}

const deadly: ReadonlySet<ErrorCode> = new Set(["invalid_token", "wrong_account", "unauthenticated"]);
const title = "Turn off two-step sign-in by email";
const heading = "Lost your device and your recovery codes?";

function requestPage({ fields, ...form }: PageForm) {
  const { email } = form.frame.session.user;
  return (
    <ConfirmPage
      {...form}
      title={title}
      heading={heading}
      text="Enter your password, and we'll email you a link that turns off two-step sign-in. It works for an hour, in a browser where you are signed in."
      facts={[{ label: "The link goes to", value: <bdi>{email}</bdi> }]}
      submit="Send link"
      tone="primary"
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="password" error={fields["password"]} autofocus />
    </ConfirmPage>
  );
}

/** @param providers Those that an account without a password has connected. */
function providersPage({ frame, place, back }: PageForm, providers: readonly OfferedProvider[]) {
  return (
    <PortalPage title={title} frame={frame} place={place}>
      <div class="ask">
        <PageHead
          back={back}
          title={heading}
          text={providers.length === 0
            ? "Your account has no password or provider to confirm that it's you. Contact the people who run this service."
            : "Sign in with your provider again, and we'll email you a link that turns off two-step sign-in. It works for an hour, in a browser where you are signed in."}
        />
        {providers.map((provider) => (
          <ProviderForm
            action="/portal/confirm-password/provider"
            provider={provider}
            returnTo={turnOffLinkPath}
            verb="Confirm with"
          />
        ))}
      </div>
    </PortalPage>
  );
}

function readyPage(frame: GateFrame, { token, email }: { token: string; email: string }) {
  const text = (
    <>
      Signing in to <strong>{email}</strong>{" "}
      will no longer require a code. Your recovery codes stop working; passkeys stay.
    </>
  );
  return (
    <GateCard
      frame={frame}
      title="Turn off two-step sign-in?"
      text={text}
      action="/turn-off-two-step"
      hidden={{ token }}
    >
      <SubmitButton tone="destroy">Turn off</SubmitButton>
      <GateHint text="Not now?" href={twoStepPath} label="Back to two-step sign-in" />
    </GateCard>
  );
}

function otherPage(frame: GateFrame) {
  const text = "The link works only in a browser that is signed in to the account it was sent to.";
  return (
    <GateCard frame={frame} title="Open this link where you are signed in" text={text}>
      <ButtonLink href="/sign-in">Go to sign-in</ButtonLink>
    </GateCard>
  );
}

function deadPage(frame: GateFrame) {
  const text = "It was used, a newer one replaced it, or it is more than an hour old.";
  return (
    <GateCard frame={frame} title="This link no longer works" text={text}>
      <ButtonLink href={turnOffLinkPath}>Get a new link</ButtonLink>
    </GateCard>
  );
}
