// Form fields: a label, the input, a hint, and the message beside it when what was typed is refused.
import type { Child } from "hono/jsx";
import { passwordCharactersMax, passwordCharactersMin } from "../../domain/limits.ts";
import { Icon } from "./icon.tsx";

/** What every field has. */
export interface FieldProps {
  readonly label: string;
  /** Also the id, so a page has each name once. */
  readonly name: string;
  readonly value: string;
  readonly hint?: string | undefined;
  /** One sentence for a person, or undefined when all is well. */
  readonly error?: string | undefined;
}

/** A field that is typed into. */
export interface TextFieldProps extends FieldProps {
  readonly type?: "text" | "email" | "password";
  readonly autocomplete: string;
  /** Which keys a phone shows. */
  readonly inputmode?: "numeric" | "text";
  readonly required?: boolean;
  readonly minlength?: number;
  readonly maxlength: number;
  readonly placeholder?: string;
  /** Takes the focus when the page opens; a refused field takes it anyway. */
  readonly autofocus?: boolean;
  /** Shown, and not to be changed. */
  readonly readonly?: boolean;
}

/** A field for a day. */
export interface DateFieldProps extends FieldProps {
  /** The first day that is taken, and the last, such as `2026-11-01`. */
  readonly min: string;
  readonly max: string;
  /** It may be left empty. */
  readonly isOptional?: boolean;
}

/** One of the choices of a {@linkcode SelectField} or {@linkcode RadioGroup}. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

/** Choices of a {@linkcode SelectField} under a heading. */
export interface ChoiceGroup {
  readonly label: string;
  readonly choices: readonly Choice[];
}

/** A line of text, an e-mail address or a password. A password is never sent back: its `value` is left out. */
export function TextField(props: TextFieldProps) {
  const type = props.type ?? "text";
  return (
    <Field {...props}>
      <input
        type={type}
        id={props.name}
        name={props.name}
        value={type === "password" ? undefined : props.value}
        autocomplete={props.autocomplete}
        inputmode={props.inputmode}
        required={props.required ?? false}
        minlength={props.minlength}
        maxlength={props.maxlength}
        placeholder={props.placeholder}
        autofocus={props.error !== undefined || (props.autofocus ?? false)}
        readonly={props.readonly ?? false}
        spellcheck={false}
        autocapitalize={type === "text" ? undefined : "none"}
        aria-invalid={props.error === undefined ? undefined : "true"}
        aria-describedby={describedBy(props)}
      />
    </Field>
  );
}

/** A password, never sent back. `isNew`: one that is being chosen, with the rules beneath it. */
export function PasswordField(
  props: {
    label: string;
    name: string;
    isNew?: boolean;
    error?: string | undefined;
    autofocus?: boolean;
  },
) {
  const { label, name, isNew = false, error, autofocus = false } = props;
  return (
    <TextField
      label={label}
      name={name}
      type="password"
      value=""
      hint={isNew
        ? `At least ${passwordCharactersMin} characters. A few words in a row are good.`
        : undefined}
      error={error}
      autocomplete={isNew ? "new-password" : "current-password"}
      required
      {...(isNew ? { minlength: passwordCharactersMin } : {})}
      maxlength={2 * passwordCharactersMax}
      autofocus={autofocus}
    />
  );
}

/** Whose password a form is about: nothing to see, but password managers save it under this name. */
export function UsernameField({ email }: { email: string }) {
  return (
    <div hidden>
      <label for="username">E-mail</label>
      <input type="text" id="username" name="username" value={email} autocomplete="username" readonly />
    </div>
  );
}

/** A day; where the browser has no calendar for it, it is typed as `2026-11-01`. */
export function DateField(props: DateFieldProps) {
  return (
    <Field {...props}>
      <input
        type="date"
        id={props.name}
        name={props.name}
        value={props.value}
        min={props.min}
        max={props.max}
        required={!(props.isOptional ?? false)}
        autofocus={props.error !== undefined}
        aria-invalid={props.error === undefined ? undefined : "true"}
        aria-describedby={describedBy(props)}
      />
    </Field>
  );
}

/** One of several values, in a menu. */
export function SelectField(props: FieldProps & { readonly choices: readonly (Choice | ChoiceGroup)[] }) {
  return (
    <Field {...props}>
      <select
        id={props.name}
        name={props.name}
        aria-invalid={props.error === undefined ? undefined : "true"}
        aria-describedby={describedBy(props)}
      >
        {props.choices.map((one) =>
          "choices" in one
            ? (
              <optgroup label={one.label}>
                {one.choices.map((choice) => option(choice, props.value))}
              </optgroup>
            )
            : option(one, props.value)
        )}
      </select>
    </Field>
  );
}

function option({ value, label }: Choice, chosen: string) {
  return <option value={value} selected={value === chosen}>{label}</option>;
}

/** One of a few values, all in sight: for choices that need a word of explanation. */
export function RadioGroup(props: FieldProps & { readonly choices: readonly Choice[] }) {
  return (
    <fieldset class="radios" aria-describedby={describedBy(props)}>
      <legend>{props.label}</legend>
      {props.choices.map((choice) => (
        <label class="radio">
          <input
            type="radio"
            id={`${props.name}-${choice.value}`}
            name={props.name}
            value={choice.value}
            checked={choice.value === props.value}
            required
          />
          <span>
            {choice.label}
            {choice.hint === undefined ? null : <span class="hint">{choice.hint}</span>}
          </span>
        </label>
      ))}
      <FieldNotes {...props} />
    </fieldset>
  );
}

function Field(props: FieldProps & { children: Child }) {
  return (
    <div class="field">
      <label for={props.name}>{props.label}</label>
      {props.children}
      <FieldNotes {...props} />
    </div>
  );
}

function FieldNotes({ name, hint, error }: FieldProps) {
  return (
    <>
      {error === undefined ? null : (
        <p class="refusal" id={`${name}-error`}>
          <Icon name="alert" />
          <span>{error}</span>
        </p>
      )}
      {hint === undefined ? null : <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </>
  );
}

function describedBy({ name, hint, error }: FieldProps): string | undefined {
  const ids = [error === undefined ? "" : `${name}-error`, hint === undefined ? "" : `${name}-hint`];
  return ids.filter((id) => id !== "").join(" ") || undefined;
}
