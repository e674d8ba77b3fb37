// Menus and switches. All of them work without scripts.
import type { Child } from "hono/jsx";
import { Icon, type IconName } from "./icon.tsx";

export interface LinkChoice {
  readonly href: string;
  readonly label: string;
  readonly isCurrent: boolean;
  readonly before?: Child;
}

/** A button that says its value and opens a box: links (`MenuLinks`), `<p class="label">`, `<hr>`, or a form. Only one menu of a page is open. */
export function Menu(props: {
  /** Such as "Product". Also the key of the button, to which the focus returns. */
  label: string;
  /** The choice; none for a menu of actions. */
  value?: string | undefined;
  /** Only screen readers get the label, because the value says it. */
  isValueAlone?: boolean;
  icon?: IconName;
  isAtEnd?: boolean;
  isOpen?: boolean;
  class?: string;
  children: Child;
}) {
  const { label, value, isValueAlone = false, icon, isAtEnd = false, isOpen = false, children } = props;
  return (
    <details
      open={isOpen}
      class={["menu", isAtEnd && "end", props.class].filter(Boolean).join(" ")}
      name="menu"
    >
      <summary class="button" data-key={label}>
        {icon && <Icon name={icon} />}
        <span class={isValueAlone ? "unseen" : value === undefined ? undefined : "muted"}>{label}</span>
        {value !== undefined && <bdi class="cut">{value}</bdi>}
        <Icon name="chevron" />
      </summary>
      <div class="menu-box">{children}</div>
    </details>
  );
}

export function MenuLinks({ choices }: { choices: readonly LinkChoice[] }) {
  return (
    <>
      {choices.map(({ href, label, isCurrent, before }) => (
        <a class="menu-item" href={href} aria-current={isCurrent ? "true" : undefined}>
          {before ?? null}
          <bdi class="cut">{label}</bdi>
          {isCurrent && <Icon name="check" />}
        </a>
      ))}
    </>
  );
}

/** Links next to each other. `isLow`: in the head of a card. */
export function Switch(
  { label, choices, isLow = false }: { label: string; choices: readonly LinkChoice[]; isLow?: boolean },
) {
  return (
    <nav class={isLow ? "switch low" : "switch"} aria-label={label}>
      {choices.map(({ href, label, isCurrent, before }) => (
        <a href={href} aria-current={isCurrent ? "true" : undefined}>
          {before ?? null}
          {label}
        </a>
      ))}
    </nav>
  );
}
