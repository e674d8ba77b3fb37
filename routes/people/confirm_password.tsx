// The page that asks for the password, a passkey or a provider again, before changes of who can sign in to an account, and in the
// console. Then it continues to the page that required it.
import type { SessionActor } from "../../domain/access/actor.ts";
import { usableProviders } from "../../domain/people/identity.ts";
import {
  isAuthorizePath,
  isConsolePath,
  portalReturnTo,
  turnOffLinkPath,
} from "../../domain/people/return_to.ts";
import { hasOperatorSignIn, hasRecentAuthentication } from "../../services/access/mod.ts";
import {
  beginConfirmation,
  getSignInMethods,
  getTwoStepStatus,
  listPasskeys,
  reauthenticate,
  reauthenticateWithPasskey,
} from "../../services/people/mod.ts";
import { Card } from "../../views/components/card.tsx";
import { ConfirmPage } from "../../views/components/confirm_page.tsx";
import { Facts } from "../../views/components/facts.tsx";
import { PasswordField, TextField, UsernameField } from "../../views/components/field.tsx";
import { Notice } from "../../views/components/notice.tsx";
import { PageHead } from "../../views/components/page_head.tsx";
import { PortalPage } from "../../views/layout.tsx";
import { ProviderForm } from "../../views/people/identities.tsx";
import { PasskeyForm, PasskeysMissing } from "../../views/people/passkey_form.tsx";
import { readFormBody } from "../body.ts";
import type { App, AppContext } from "../env.ts";
import { type FormState, mountForm, mountTarget } from "../portal/form.ts";
import { portalFrame, type PortalParts, redirect, sendPage, signedInRoutes } from "../portal/page.ts";
import { goToProvider } from "./go_to_provider.tsx";
import { codeCharactersMax, parsePasskeyResponse } from "./second_step.tsx";
import { continueTo } from "./sign_in.tsx";

const path = "/portal/confirm-password";
const home = "/portal/account";
const title = "Confirm it's you";

export function portalConfirmPasswordRoutes(app: App, parts: PortalParts): void {
  const { config, services } = parts;
  const returnTo = (text: string | undefined) => {
    const target = portalReturnTo(text, config.baseUrl);
    return target === null || target.startsWith(path) ? home : target;
  };

  const targetOf = (c: AppContext, { input = c.req.query() }: FormState) => returnTo(input["return_to"]);
  const routes = signedInRoutes(app, parts);

  async function show(c: AppContext, session: SessionActor, form: FormState): Promise<Response> {
    const page = confirmPasswordPage(await readProofs(parts, session, targetOf(c, form)), form);
    return await sendPage(c, page, form.status);
  }

  mountForm(routes, {
    path,
    show(c, session, form) {
      const target = targetOf(c, form);
      const now = services.clock();
      const isConfirmed = hasRecentAuthentication(session, now) &&
        (!isConsolePath(target) || hasOperatorSignIn(session, now));
      if (form.input === undefined && isConfirmed && c.req.query("again") !== "1") return redirect(c, target);
      return show(c, session, form);
    },
    async submit(c, session, { password = "", code, return_to }) {
      await reauthenticate(services, session, { password, code: code?.slice(0, 100) });
      return continueTo(c, returnTo(return_to));
    },
    fieldOf: { invalid_credentials: "password" },
  });

  mountTarget(routes, {
    path: `${path}/passkey`,
    show,
    async submit(c, session, { response, return_to }) {
      await reauthenticateWithPasskey(services, session, parsePasskeyResponse(response));
      return continueTo(c, returnTo(return_to));
    },
  });

  routes.post(`${path}/provider`, async (c, session) => {
    const { provider = "", return_to } = await readFormBody(c);
    const visit = { provider, returnTo: returnTo(return_to) };
    return await goToProvider(
      c,
      parts,
      (browserTokens) => beginConfirmation(services, session, { ...visit, browserTokens }),
    );
  });

  // Reloading the page of a rejected passkey shows the form again.
  for (const way of ["passkey", "provider"]) routes.get(`${path}/${way}`, (c) => redirect(c, path));
}

/** Returns the sidebar's page that a path belongs to, which never asks for the password. */
function sectionOf(path: string, mayOpenConsole: boolean): string {
  if (isConsolePath(path) && !mayOpenConsole) return home;
  return /^\/(portal|operator)\/[^/?#]+/.exec(path)?.[0] ?? home;
}

/** The ways in which the person can confirm, before they continue at `returnTo` or go `back`. */
type Proofs = Awaited<ReturnType<typeof readProofs>>;

async function readProofs(parts: PortalParts, session: SessionActor, returnTo: string) {
  const { services } = parts;
  const [{ totp }, allPasskeys, { hasPassword, identities }] = await Promise.all([
    getTwoStepStatus(services, session),
    listPasskeys(services, session),
    getSignInMethods(services, session),
  ]);
  const hasPasskeys = allPasskeys.some(({ otherHost }) => otherHost === null);
  const isForConsole = isConsolePath(returnTo);
  const hasSecondFactor = hasOperatorSignIn(session, services.clock());
  const needsPasskey = isForConsole && !hasSecondFactor && !totp.enabled && hasPasskeys;
  return {
    frame: portalFrame(parts, session),
    returnTo,
    back: sectionOf(returnTo, hasSecondFactor),
    isForConsole,
    isForApplication: isAuthorizePath(returnTo),
    /** The person has a password, and the next page accepts it. */
    asksForPassword: !needsPasskey && hasPassword,
    asksForCode: totp.enabled,
    hasPassword,
    hasPasskeys,
    providers: needsPasskey ? [] : usableProviders(identities),
  };
}

function confirmPasswordPage(proofs: Proofs, form: FormState) {
  const { frame, returnTo, back, asksForPassword, asksForCode, hasPasskeys, providers } = proofs;
  if (!asksForPassword) return withoutPasswordPage(proofs, form);
  const { email } = frame.session.user;
  const asked = asksForCode ? "your password and a code" : "your password";
  const others = [...(hasPasskeys ? ["a passkey"] : []), ...providers.map(({ name }) => name)];
  const either = others.length === 0 ? asked : `${asked}, or use ${listed(others)},`;
  return (
    <ConfirmPage
      frame={frame}
      place={null}
      title={title}
      text={`${reason(proofs)} Enter ${either} to continue.`}
      facts={[{ label: "Signed in as", value: email }]}
      action={path}
      submit="Continue"
      tone="primary"
      back={{ href: back, label: "Back" }}
      hidden={{ return_to: returnTo }}
      error={form.message}
      after={
        <>
          {hasPasskeys && <OwnPasskey {...proofs} />}
          <OwnProviders {...proofs} />
        </>
      }
    >
      <UsernameField email={email} />
      <PasswordField label="Password" name="password" error={form.fields["password"]} autofocus />
      {asksForCode && (
        <>
          <TextField
            label="Code"
            name="code"
            value=""
            hint="Six digits from your authenticator app, or a recovery code."
            error={form.fields["code"]}
            autocomplete="one-time-code"
            maxlength={codeCharactersMax}
          />
          <p class="small muted">
            Lost both? <a href={turnOffLinkPath}>Get a link by email</a> that turns off two-step sign-in.
          </p>
        </>
      )}
    </ConfirmPage>
  );
}

function reason({ isForConsole, isForApplication }: Proofs): string {
  if (isForApplication) return "The application requires you to sign in again.";
  return isForConsole
    ? "The operator console asks again from time to time, and before changes."
    : "The next step changes who can sign in to your account.";
}

const listed = (names: readonly string[]) => new Intl.ListFormat("en", { type: "disjunction" }).format(names);

/** For accounts without a password, and those whose password is not enough for the next page. */
function withoutPasswordPage(proofs: Proofs, form: FormState) {
  const { frame, back, hasPassword, hasPasskeys, providers } = proofs;
  return (
    <PortalPage title={title} frame={frame} place={null}>
      <div class="ask">
        <PageHead
          back={{ href: back, label: "Back" }}
          title={title}
          text={hasPassword
            ? "The operator console requires more than your password. Use a passkey to continue."
            : `${reason(proofs)} ${proofs.isForApplication ? "" : "Sign in again to continue."}`}
        />
        <Notice tone="error" text={form.message ?? form.fields["password"] ?? null} />
        <Card title={hasPassword ? "Passkey" : "Sign in again"} flush>
          <Facts facts={[{ label: "Signed in as", value: frame.session.user.email }]} />
          <div class="body ruled">
            <OwnProviders {...proofs} />
            {hasPasskeys && <OwnPasskey {...proofs} />}
            {hasPasskeys && <PasskeysMissing />}
            {!hasPasskeys && providers.length === 0 && (
              <p class="small muted">
                You have no password, passkey or provider to sign in with.{" "}
                <a href="/forgot-password">Set a password by email</a>.
              </p>
            )}
          </div>
        </Card>
      </div>
    </PortalPage>
  );
}

function OwnProviders({ providers, returnTo }: Proofs) {
  return (
    <>
      {providers.map((provider) => (
        <ProviderForm
          action={`${path}/provider`}
          provider={provider}
          returnTo={returnTo}
          verb="Confirm with"
        />
      ))}
    </>
  );
}

function OwnPasskey({ frame, returnTo, asksForPassword }: Proofs) {
  return (
    <PasskeyForm
      assets={frame.assets}
      ceremony="get"
      options="/api/portal/account/proof/passkey/options"
      action={`${path}/passkey`}
      returnTo={returnTo}
      tone={asksForPassword ? "plain" : "primary"}
      submit="Use a passkey"
    />
  );
}
