// The pages of an application that signs someone in here: what it gets, and why it can't.
import type { Child } from "hono/jsx";
import { isSignInScope } from "../../domain/oauth/scope_names.ts";
import { otherAccountPath } from "../../domain/people/return_to.ts";
import { ButtonLink } from "../components/button.tsx";
import { Facts } from "../components/facts.tsx";
import { type Choice, SelectField } from "../components/field.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export const consentPath = "/authorize/decision";

/** Describes the scopes of signing in. */
const scopeTexts: Readonly<Record<string, string>> = {
  openid: "Your account's ID",
  profile: "Your name, organization and role",
  email: "Your email address",
  groups: "Your groups",
  offline_access: "Access while you're signed out, for up to 30 days",
};

/** Says what a scope gives; those of resources are named as they are. */
export const scopeText = (scope: string): string => scopeTexts[scope] ?? scope;

export interface ConsentPageProps {
  readonly frame: GateFrame;
  readonly clientName: string;
  /** Receives the access: where the browser goes next, or the host that describes the application. */
  readonly host: string;
  /** Where the browser goes next, if the host describes the application. */
  readonly returnsTo: string | null;
  /** True if it is a program on this machine, which nobody can tell from another one. */
  readonly isNative: boolean;
  readonly person: { readonly name: string; readonly email: string };
  readonly scopes: readonly string[];
  readonly resource: { readonly name: string; readonly uri: string } | null;
  /** The organizations that the access can be for; none for people without one. */
  readonly organizations: readonly Choice[];
  readonly organizationId: string;
  /** Ties the form to the session, the person and the request. */
  readonly hidden: Readonly<Record<string, string>>;
}

export function consentPage(props: ConsentPageProps): Page {
  const { frame, clientName, returnsTo, isNative, person, scopes, resource, organizations } = props;
  const [only] = organizations;
  const hasChoice = organizations.length > 1;
  const text = (
    <>
      <Receiver {...props} /> gets the following from your account <bdi>{person.email}</bdi>.
    </>
  );
  const ofAccount = scopes.filter(isSignInScope);
  const facts: { label: string; value: Child }[] = [
    ...(returnsTo === null ? [] : [{ label: "Returns to", value: <bdi>{returnsTo}</bdi> }]),
    ...(ofAccount.length === 0 ? [] : [{ label: "Account", value: <Scopes scopes={ofAccount} /> }]),
    ...(resource === null ? [] : [{
      label: "Resource",
      value: (
        <>
          <bdi>{`${resource.name} (${new URL(resource.uri).host})`}</bdi>
          <Scopes scopes={scopes.filter((scope) => !isSignInScope(scope))} />
        </>
      ),
    }]),
    ...(only && !hasChoice ? [{ label: "Organization", value: <bdi>{only.label}</bdi> }] : []),
  ];
  return (
    <GateCard
      frame={frame}
      title={`Continue to ${clientName}?`}
      text={text}
      action={consentPath}
      hidden={hasChoice ? props.hidden : { ...props.hidden, organizationId: only?.value ?? "" }}
    >
      {isNative && (
        <Notice
          tone="error"
          text="Allow this only if you started the program yourself just now."
        />
      )}
      <Facts facts={facts} />
      {hasChoice && (
        <SelectField
          label="Organization"
          name="organizationId"
          value={props.organizationId}
          choices={organizations}
        />
      )}
      <button type="submit" class="button primary" name="decision" value="allow">Allow</button>
      <button type="submit" class="button plain" name="decision" value="deny">Deny</button>
      <p class="small muted">
        Signed in as <bdi>{person.name}</bdi>.
      </p>
      <button type="submit" class="button quiet" name="decision" value="switch">Use another account</button>
    </GateCard>
  );
}

/** Names the program on this device, which nobody vouches for, or the host that gets the access. */
function Receiver({ host, returnsTo, isNative }: Pick<ConsentPageProps, "host" | "returnsTo" | "isNative">) {
  return (
    <>
      {isNative && "A program on this device at "}
      <strong>
        <bdi>{isNative && returnsTo || host}</bdi>
      </strong>
      {isNative && returnsTo !== null && (
        <>
          , which calls itself <bdi>{host}</bdi>,
        </>
      )}
    </>
  );
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <ul>
      {scopes.map((scope) => <li>{isSignInScope(scope) ? scopeText(scope) : <code>{scope}</code>}</li>)}
    </ul>
  );
}

/** Goes on to the application. A redirect after a form would be blocked by the policy for forms. */
export function backToApplicationPage(
  { frame, href, host }: { frame: GateFrame; href: string; host: string },
): Page {
  const text = (
    <>
      Continuing to <bdi>{host}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Continue to the application" text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}

/** Ends here, for an application that nobody vouches for. */
export function deniedPage({ frame, clientName }: { frame: GateFrame; clientName: string }): Page {
  const text = (
    <>
      <bdi>{clientName}</bdi> gets no access. You can close this page.
    </>
  );
  return (
    <GateCard frame={frame} title="Request denied" text={text}>
      <ButtonLink href="/portal">Go to your account</ButtonLink>
    </GateCard>
  );
}

/** For people whom the application doesn't admit. The error goes to the application only from the button. */
export function noAccessPage({ frame, clientName, email, href, otherHref }: {
  frame: GateFrame;
  clientName: string;
  email: string;
  href: string;
  otherHref: string;
}): Page {
  const text = (
    <>
      <bdi>{clientName}</bdi> isn't open to{" "}
      <bdi>{email}</bdi>. Ask an administrator for access, or use another account.
    </>
  );
  return (
    <GateCard frame={frame} title="You don't have access" text={text}>
      <ButtonLink tone="primary" href={otherHref}>Use another account</ButtonLink>
      <ButtonLink href={href}>Back to the application</ButtonLink>
    </GateCard>
  );
}

export function confirmEmailFirstPage(
  { frame, clientName, email, href }: { frame: GateFrame; clientName: string; email: string; href: string },
): Page {
  const text = (
    <>
      Open the link that we sent to <bdi>{email}</bdi>, then continue to <bdi>{clientName}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title="Confirm your email address" text={text}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
      <ButtonLink href="/portal/account">Go to your account</ButtonLink>
      <GateHint text="Wrong account?" href={otherAccountPath(href)} label="Use another account" />
    </GateCard>
  );
}
