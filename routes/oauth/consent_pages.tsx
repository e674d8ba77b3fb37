// The pages of an application that signs someone in here: what it gets, and why it can't.
import type { Child } from "hono/jsx";
import type { Membership, Session } from "../../domain/access/session.ts";
import { hostOfRedirect, isNativeRedirect } from "../../domain/oauth/client.ts";
import { documentHost, isDocumentId } from "../../domain/oauth/client_document.ts";
import { isSignInScope } from "../../domain/oauth/scope_names.ts";
import { otherAccountPath } from "../../domain/people/return_to.ts";
import type { CheckedRequest } from "../../services/oauth/mod.ts";
import { ButtonLink } from "../../views/components/button.tsx";
import { type Fact, Facts } from "../../views/components/facts.tsx";
import { SelectField } from "../../views/components/field.tsx";
import { GateCard, GateHint } from "../../views/components/gate_card.tsx";
import { Notice } from "../../views/components/notice.tsx";
import type { GateFrame, Page } from "../../views/layout.tsx";

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

/** Asks which organization the access is for, unless there is only one, or none for people without one. */
export function organizationParts(
  name: string,
  { memberships, organization }: { memberships: readonly Membership[]; organization: Membership | null },
) {
  const [only] = memberships;
  const hasChoice = memberships.length > 1;
  return {
    hidden: hasChoice ? {} : { [name]: only?.organizationId ?? "" },
    facts: only && !hasChoice ? [{ label: "Organization", value: <bdi>{only.name}</bdi> }] : [],
    field: hasChoice && (
      <SelectField
        label="Organization"
        name={name}
        value={organization?.organizationId ?? ""}
        choices={memberships.map((one) => ({ value: one.organizationId, label: one.name }))}
      />
    ),
  };
}

/** `memberships`: in which the access can be; none for people without one. `hidden`: ties the form to the session and the request. */
export function consentPage({ frame, checked, session, memberships, hidden }: {
  frame: GateFrame;
  checked: CheckedRequest;
  session: Session;
  memberships: readonly Membership[];
  hidden: Readonly<Record<string, string>>;
}): Page {
  const { client, redirectUri, scopes, resource } = checked;
  const { user } = session;
  const isNative = isNativeRedirect(redirectUri);
  const organization = organizationParts("organizationId", { ...session, memberships });
  const text = (
    <>
      <Receiver {...checked} /> gets the following from your account <bdi>{user.email}</bdi>.
    </>
  );
  const ofAccount = scopes.filter(isSignInScope);
  const facts: Fact[] = [
    ...(isDocumentId(client.id)
      ? [{ label: "Returns to", value: <bdi>{hostOfRedirect(redirectUri)}</bdi> }]
      : []),
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
    ...organization.facts,
  ];
  return (
    <GateCard
      frame={frame}
      title={`Continue to ${client.name}?`}
      text={text}
      action={consentPath}
      hidden={{ ...hidden, ...organization.hidden }}
    >
      {isNative && (
        <Notice
          tone="error"
          text="Allow this only if you started the program yourself just now."
        />
      )}
      <Facts facts={facts} />
      {organization.field}
      <button type="submit" class="button primary" name="decision" value="allow">Allow</button>
      <button type="submit" class="button plain" name="decision" value="deny">Deny</button>
      <p class="small muted">
        Signed in as <bdi>{user.name}</bdi>.
      </p>
      <button type="submit" class="button quiet" name="decision" value="switch">Use another account</button>
    </GateCard>
  );
}

/**
 * Names the program on this device, which nobody vouches for and nobody can tell from another one, or the host that gets the access:
 * where the browser goes next, or that of the document.
 */
function Receiver({ client, redirectUri }: CheckedRequest) {
  const isNative = isNativeRedirect(redirectUri);
  const [host, described] = [hostOfRedirect(redirectUri), documentHost(client.id)];
  return (
    <>
      {isNative && "A program on this device at "}
      <strong>
        <bdi>{isNative ? host : described ?? host}</bdi>
      </strong>
      {isNative && described !== null && (
        <>
          , which calls itself <bdi>{described}</bdi>,
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

/** Goes on to an application's page. A redirect after a form would be blocked by the policy for forms. */
export function goOnPage(
  { frame, title, act, href }: {
    frame: GateFrame;
    title: string;
    act: "Continuing to" | "Going back to";
    href: string;
  },
): Page {
  const text = (
    <>
      {act} <bdi>{hostOfRedirect(href)}</bdi>.
    </>
  );
  return (
    <GateCard frame={frame} title={title} text={text} goOnTo={href}>
      <ButtonLink tone="primary" href={href}>Continue</ButtonLink>
    </GateCard>
  );
}

/** Ends here: for a device, and for an application that nobody vouches for. */
export function EndPage(
  { frame, title, children }: { frame: GateFrame; title: string; children: Child },
): Page {
  return (
    <GateCard frame={frame} title={title} text={children}>
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
