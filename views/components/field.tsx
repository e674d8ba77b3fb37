// Form fields: a label, the input, a hint, and an error.
import type { Child } from "hono/jsx";
import {
  emailCharactersMax,
  nameCharactersMax,
  passwordCharactersMax,
  passwordCharactersMin,
} from "../../domain/limits.ts";
import { Icon } from "./icon.tsx";

interface FieldProps {
  readonly label: string;
  /** Also the id, unless the page has several fields of this name. */
  readonly name: string;
  readonly id?: string;
  readonly value: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
}

interface TextFieldProps extends FieldProps {
  readonly type?: "text" | "password" | "search";
  readonly autocomplete: string;
  readonly inputmode?: "numeric" | "decimal" | "text" | "email";
  readonly required?: boolean;
  readonly minlength?: number;
  readonly maxlength: number;
  readonly placeholder?: string;
  /** The id of a `datalist` with values to choose from. */
  readonly list?: string;
  /** Takes the focus when the page opens, unless `isRejected`: then the first field with an error does. */
  readonly autofocus?: boolean;
  readonly isRejected?: boolean;
  readonly readonly?: boolean;
  /** The address of a script that enhances it. */
  readonly script?: string;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
  /** The label is a name that people gave. */
  readonly isName?: boolean;
  /** Marks a radio button whose choice does harm. */
  readonly isDanger?: boolean;
}

export interface ChoiceGroup {
  readonly label: string;
  readonly choices: readonly Choice[];
}

/** A text or password input. A password's `value` is never sent back, and scripts can show it. */
export function TextField(props: TextFieldProps) {
  return (
    <Field {...props}>
      {props.type === "password"
        ? (
          <span class="password">
            <Input {...props} />
            <button type="button" class="button quiet with-scripts" data-show={idOf(props)}>
              <span>Show</span>
              <span class="unseen">{` ${props.label.toLowerCase()}`}</span>
            </button>
          </span>
        )
        : <Input {...props} />}
    </Field>
  );
}

function Input(props: TextFieldProps) {
  const type = props.type ?? "text";
  return (
    <input
      type={type}
      id={idOf(props)}
      name={props.name}
      value={type === "password" ? undefined : props.value}
      autocomplete={props.autocomplete}
      inputmode={props.inputmode}
      required={props.required ?? false}
      minlength={props.minlength}
      maxlength={props.maxlength}
      placeholder={props.placeholder}
      list={props.list}
      autofocus={props.error !== undefined || (props.autofocus === true && props.isRejected !== true)}
      readonly={props.readonly ?? false}
      spellcheck={false}
      data-script={props.script}
      autocapitalize={type === "text" && props.inputmode !== "email" ? undefined : "none"}
      {...ariaAttributes(props)}
    />
  );
}

/** An input for words with commas between them. `script`: static/tags.js, which makes a tag of each. */
export function TagsField(props: Omit<TextFieldProps, "type"> & { readonly script: string }) {
  return <TextField {...props} />;
}

/** An input for a text that may have several lines. Browsers drop the line end at its start. */
export function TextArea(
  { rows, ...props }:
    & FieldProps
    & Pick<TextFieldProps, "required" | "maxlength" | "autofocus">
    & { rows: number },
) {
  return (
    <Field {...props}>
      <textarea
        id={idOf(props)}
        name={props.name}
        rows={rows}
        required={props.required ?? false}
        maxlength={props.maxlength}
        autofocus={props.error !== undefined || (props.autofocus ?? false)}
        {...ariaAttributes(props)}
      >
        {"\n" + props.value}
      </textarea>
    </Field>
  );
}

/** An input for an email address. Not `type="email"`, which browsers limit to ASCII before the @. */
export function EmailField(props: Omit<TextFieldProps, "name" | "maxlength">) {
  return <TextField required maxlength={emailCharactersMax} {...props} name="email" inputmode="email" />;
}

export function NameField(
  { charactersMax = nameCharactersMax, ...props }:
    & Omit<TextFieldProps, "name" | "maxlength">
    & { charactersMax?: number | undefined },
) {
  return <TextField required maxlength={charactersMax} {...props} name="name" />;
}

export function PasswordField(
  { isNew = false, ...props }:
    & Pick<TextFieldProps, "label" | "name" | "error" | "autofocus" | "isRejected">
    & { isNew?: boolean },
) {
  return (
    <TextField
      {...props}
      type="password"
      value=""
      hint={isNew
        ? `At least ${passwordCharactersMin} characters. A few words in a row work well.`
        : undefined}
      autocomplete={isNew ? "new-password" : "current-password"}
      required
      {...(isNew ? { minlength: passwordCharactersMin } : {})}
      maxlength={2 * passwordCharactersMax}
    />
  );
}

/** A hidden field that tells password managers whose password the form contains. */
export function UsernameField({ email }: { email: string }) {
  return (
    <div hidden>
      <label for="username">Email</label>
      <input type="text" id="username" name="username" value={email} autocomplete="username" readonly />
    </div>
  );
}

/** A date input; without a date picker, people type `2026-11-01`. `min` and `max`: the first and the last allowed day. */
export function DateField(props: FieldProps & { min: string; max: string; isOptional?: boolean }) {
  return (
    <Field {...props}>
      <input
        type="date"
        id={idOf(props)}
        name={props.name}
        value={props.value}
        min={props.min}
        max={props.max}
        required={!(props.isOptional ?? false)}
        autofocus={props.error !== undefined}
        {...ariaAttributes(props)}
      />
    </Field>
  );
}

export function SelectField(props: FieldProps & { readonly choices: readonly (Choice | ChoiceGroup)[] }) {
  return (
    <Field {...props}>
      <select
        id={idOf(props)}
        name={props.name}
        autofocus={props.error !== undefined}
        {...ariaAttributes(props)}
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

/** Radio buttons, for options that need an explanation. */
export function RadioGroup(props: FieldProps & { readonly choices: readonly Choice[] }) {
  return (
    <fieldset class="radios" aria-describedby={describedBy(props)}>
      <legend>{props.label}</legend>
      {props.choices.map((choice) => (
        <label class={choice.isDanger ? "radio danger" : "radio"}>
          <input
            type="radio"
            id={`${idOf(props)}-${choice.value}`}
            name={props.name}
            value={choice.value}
            checked={choice.value === props.value}
            autofocus={props.error !== undefined}
            required
          />
          <ChoiceText choice={choice} />
        </label>
      ))}
      <FieldNotes {...props} />
    </fieldset>
  );
}

/** Checkboxes, each with a name of its own and the value `on`. `name`: of the group. `value`: names of the checked ones. */
export function CheckboxGroup(
  props: Omit<FieldProps, "value"> & {
    readonly value: ReadonlySet<string>;
    readonly choices: readonly Choice[];
  },
) {
  return (
    <fieldset class="radios" aria-describedby={describedBy(props)}>
      <legend>{props.label}</legend>
      {props.choices.map((choice) => (
        <label class="radio">
          <input
            type="checkbox"
            name={choice.value}
            value="on"
            checked={props.value.has(choice.value)}
            autofocus={props.error !== undefined}
          />
          <ChoiceText choice={choice} />
        </label>
      ))}
      <FieldNotes {...props} />
    </fieldset>
  );
}

function ChoiceText({ choice: { label, hint, isName } }: { choice: Choice }) {
  return (
    <span>
      {isName ? <bdi>{label}</bdi> : label}
      {hint === undefined ? null : <span class="hint">{hint}</span>}
    </span>
  );
}

function Field(props: FieldProps & { children: Child }) {
  return (
    <div class="field">
      <label for={idOf(props)}>{props.label}</label>
      {props.children}
      <FieldNotes {...props} />
    </div>
  );
}

function FieldNotes({ hint, error, ...field }: Omit<FieldProps, "value">) {
  const id = idOf(field);
  return (
    <>
      {error === undefined ? null : (
        <p class="field-error" id={`${id}-error`}>
          <Icon name="alert" />
          <span>{error}</span>
        </p>
      )}
      {hint === undefined ? null : <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </>
  );
}

function ariaAttributes(props: FieldProps) {
  const invalid = props.error === undefined ? undefined : "true";
  return { "aria-invalid": invalid, "aria-describedby": describedBy(props) } as const;
}

function describedBy({ hint, error, ...field }: Omit<FieldProps, "value">): string | undefined {
  const id = idOf(field);
  const ids = [error === undefined ? "" : `${id}-error`, hint === undefined ? "" : `${id}-hint`];
  return ids.filter((id) => id !== "").join(" ") || undefined;
}

function idOf({ id, name }: Pick<FieldProps, "id" | "name">): string {
  return id ?? name;
}
