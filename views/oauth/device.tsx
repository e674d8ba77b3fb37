// The pages on which someone connects a device: entering its code, comparing it, and what happened.
import { shownUserCode } from "../../domain/oauth/user_code.ts";
import { otherAccountPath } from "../../domain/people/return_to.ts";
import { ButtonLink, SubmitButton } from "../components/button.tsx";
import { Facts } from "../components/facts.tsx";
import { type Choice, SelectField, TextField } from "../components/field.tsx";
import { type ShownForm, typed } from "../components/form.tsx";
import { GateCard, GateHint } from "../components/gate_card.tsx";
import { Notice } from "../components/notice.tsx";
import type { GateFrame, Page } from "../layout.tsx";

export const devicePath = "/device";
export const deviceDecisionPath = "/device/decision";
/** Of the field; people may type spaces and hyphens. */
const codeCharactersMax = 20;

export function deviceCodePage({ frame, email, code, form }: {
  frame: GateFrame;
  email: string;
  /** From a link; the page has it compared all the same. */
  code: string;
  form: ShownForm;
}): Page {
  return (
    <GateCard
      frame={frame}
      title="Connect a device"
      text="Enter the code that your device or command-line tool shows."
      action={devicePath}
      error={form.message}
    >
      <TextField
        label="Code"
        name="user_code"
        {...typed(form, "user_code", code)}
        hint="Eight letters, such as WDJB-MJHT."
        autocomplete="off"
        required
        maxlength={codeCharactersMax}
        autofocus
      />
      <SubmitButton>Continue</SubmitButton>
      <SignedInAs email={email} code={code} />
    </GateCard>
  );
}

/** A device that asks to be connected. */
export interface ShownDevice {
  readonly userCode: string;
  readonly clientName: string;
  /** Where it asked from: its address, and what its program says it is. */
  readonly address: string;
  readonly deviceName: string;
  /** In words. */
  readonly scopes: readonly string[];
  /** The name of the resource that it may use; null for this service alone. */
  readonly resourceName: string | null;
  /** The address differs from the one of the browser. */
  readonly isElsewhere: boolean;
  /** The organizations that the access can be for; none for people without one. */
  readonly organizations: readonly Choice[];
  readonly organizationId: string;
}

export function deviceDecisionPage({ frame, email, device }: {
  frame: GateFrame;
  email: string;
  device: ShownDevice;
}): Page {
  const { userCode, clientName, address, deviceName, scopes, resourceName, organizations } = device;
  const [only] = organizations;
  const facts = [
    { label: "Application", value: <bdi>{clientName}</bdi> },
    {
      label: "Requested from",
      value: (
        <>
          <bdi>{deviceName}</bdi> at {address === "" ? "an unknown address" : address}
        </>
      ),
    },
    ...(resourceName === null ? [] : [{ label: "Resource", value: <bdi>{resourceName}</bdi> }]),
    {
      label: "It gets",
      value: scopes.length === 0
        ? "Your account's ID only"
        : <ul>{scopes.map((scope) => <li>{scope}</li>)}</ul>,
    },
    ...(organizations.length === 1 && only
      ? [{ label: "Organization", value: <bdi>{only.label}</bdi> }]
      : []),
  ];
  return (
    <GateCard
      frame={frame}
      title="Does your device show this code?"
      text="Connect it only if you started this yourself, just now, on a device in front of you. If someone sent you the code or a link, deny it."
      action={deviceDecisionPath}
      hidden={{
        user_code: userCode,
        ...(organizations.length > 1 ? {} : { organization: only?.value ?? "" }),
      }}
    >
      <p class="device-code">{shownUserCode(userCode)}</p>
      {device.isElsewhere && (
        <Notice
          tone="error"
          text="The device is on a different network than this browser. Deny the request unless you expect this."
        />
      )}
      <Facts facts={facts} />
      {organizations.length > 1 && (
        <SelectField
          label="Organization"
          name="organization"
          value={device.organizationId}
          choices={organizations}
        />
      )}
      <button type="submit" class="button primary" name="decision" value="allow">Connect</button>
      <button type="submit" class="button plain" name="decision" value="deny">Deny</button>
      <SignedInAs email={email} code={shownUserCode(userCode)} />
    </GateCard>
  );
}

function SignedInAs({ email, code }: { email: string; code: string }) {
  const target = code === "" ? devicePath : `${devicePath}?user_code=${encodeURIComponent(code)}`;
  return (
    <p class="small muted">
      Signed in as <bdi>{email}</bdi>. <a href={otherAccountPath(target)}>Use another account</a>
    </p>
  );
}

export function deviceDonePage(
  { frame, isAllowed, clientName }: { frame: GateFrame; isAllowed: boolean; clientName: string },
): Page {
  const text = isAllowed
    ? (
      <>
        <bdi>{clientName}</bdi> is connected. You can close this page and go back to your device.
      </>
    )
    : "The device gets no access. You can close this page.";
  return (
    <GateCard frame={frame} title={isAllowed ? "Device connected" : "Request denied"} text={text}>
      <ButtonLink href="/portal">Go to your account</ButtonLink>
    </GateCard>
  );
}

/** For people who have to do something else first, such as confirming their address. */
export function deviceUnavailablePage(
  { frame, text, href, label }: { frame: GateFrame; text: string; href: string; label: string },
): Page {
  return (
    <GateCard frame={frame} title="This device can't be connected" text={text}>
      <ButtonLink tone="primary" href={href}>{label}</ButtonLink>
      <GateHint text="Another code?" href={devicePath} label="Enter it" />
    </GateCard>
  );
}
