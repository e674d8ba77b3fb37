// A page of its own that asks for the new name of something: one's keys and passkeys are renamed alike.
import { ConfirmPanel, type ConfirmPanelProps } from "./confirm_panel.tsx";
import { TextField } from "./field.tsx";

/** What is asked. */
export interface RenamePanelProps
  extends Pick<ConfirmPanelProps, "text" | "facts" | "action" | "submit" | "back"> {
  /** What it is called now. */
  readonly name: string;
  /** The new name as typed. */
  readonly value: string;
  /** What is wrong with it. */
  readonly error: string | undefined;
  readonly charactersMax: number;
}

/** The heading and the card of a page that renames. */
export function RenamePanel({ name, value, error, charactersMax, ...panel }: RenamePanelProps) {
  return (
    <ConfirmPanel
      {...panel}
      tone="primary"
      title={
        <>
          Rename “<bdi>{name}</bdi>”
        </>
      }
    >
      <TextField
        label="New name"
        name="name"
        value={value}
        error={error}
        autocomplete="off"
        required
        maxlength={charactersMax}
        autofocus
      />
    </ConfirmPanel>
  );
}
