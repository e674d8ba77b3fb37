// The page that renames something.
import { ConfirmPanel, type ConfirmPanelProps } from "./confirm_panel.tsx";
import { TextField } from "./field.tsx";

/** The parts of the page. */
export interface RenamePanelProps
  extends Pick<ConfirmPanelProps, "text" | "facts" | "action" | "submit" | "back"> {
  /** The current name. */
  readonly name: string;
  /** The new name, as typed. */
  readonly value: string;
  /** The error of the new name. */
  readonly error: string | undefined;
  readonly charactersMax: number;
}

/** The heading and the form. */
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
