// The pages that rename a passkey, and that ask before one is removed.
import { nameCharactersMax } from "../../domain/limits.ts";
import type { Passkey } from "../../domain/sign_in/passkey.ts";
import { ConfirmPanel } from "../components/confirm_panel.tsx";
import { DayTime, RelativeTime } from "../components/relative_time.tsx";
import { RenamePanel } from "../components/rename_panel.tsx";
import { type Page, type PortalFrame, PortalPage } from "../layout.tsx";

/** Where the pages of passkeys are. */
export const passkeysPath = "/portal/account/passkeys";
/** Where these pages come from. */
export const passkeysBack = { href: passkeysPath, label: "Passkeys" } as const;

/** The address of a page about one passkey. */
export function passkeyHref(id: string, act: "rename" | "remove"): string {
  return `${passkeysPath}/${encodeURIComponent(id)}/${act}`;
}

/** What the page that renames shows. */
export interface RenamePasskeyPageProps {
  readonly frame: PortalFrame;
  readonly passkey: Passkey;
  /** The name as typed, at first the passkey's. */
  readonly value: string;
  readonly fieldErrors: Readonly<Record<string, string>>;
}

/** @returns The page that asks for a passkey's new name. */
export function renamePasskeyPage({ frame, passkey, value, fieldErrors }: RenamePasskeyPageProps): Page {
  return (
    <PortalPage title="Rename a passkey" frame={frame} place="security">
      <RenamePanel
        name={passkey.name}
        value={value}
        error={fieldErrors["name"]}
        charactersMax={nameCharactersMax}
        text="The passkey itself stays the same, and so does its name on your device."
        facts={facts(passkey, frame.now)}
        action={passkeyHref(passkey.id, "rename")}
        submit="Rename passkey"
        back={passkeysBack}
      />
    </PortalPage>
  );
}

/** @returns The page that asks whether to remove a passkey. */
export function removePasskeyPage({ frame, passkey }: { frame: PortalFrame; passkey: Passkey }): Page {
  return (
    <PortalPage title="Remove a passkey" frame={frame} place="security">
      <ConfirmPanel
        title={
          <>
            Remove “<bdi>{passkey.name}</bdi>”?
          </>
        }
        text="It no longer signs you in. Delete it on your device, too, where it would still be offered."
        facts={facts(passkey, frame.now)}
        action={passkeyHref(passkey.id, "remove")}
        submit="Remove passkey"
        tone="destroy"
        back={passkeysBack}
      />
    </PortalPage>
  );
}

function facts({ createdAt, lastUsedAt }: Passkey, now: number) {
  return [
    { label: "Added", value: <DayTime at={createdAt} now={now} /> },
    { label: "Last used", value: lastUsedAt === null ? "Never" : <RelativeTime at={lastUsedAt} now={now} /> },
  ];
}
