// The menu of a row's actions. It works without scripts, and is one tab stop while it is closed.
import { Form } from "./form.tsx";
import { Icon, type IconName } from "./icon.tsx";

export interface MenuAction {
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
  /** True puts it last, below a line. */
  readonly isDanger?: boolean;
  /** Acts immediately, without a page of its own. */
  readonly isForm?: boolean;
}

/** Shows nothing without actions. `about`: the name of the row's object, for screen readers. */
export function RowMenu({ about, actions }: { about: string; actions: readonly MenuAction[] }) {
  if (actions.length === 0) return null;
  return (
    <details class="menu row-menu end" name="menu">
      <summary aria-label={`Actions for ${about}`}>
        <Icon name="more" />
      </summary>
      <div class="menu-box">
        {actions.map((action) => (
          <>
            {action.isDanger && actions.length > 1 && <hr />}
            <MenuItem action={action} />
          </>
        ))}
      </div>
    </details>
  );
}

function MenuItem({ action: { href, label, icon, isDanger, isForm } }: { action: MenuAction }) {
  const content = (
    <>
      <Icon name={icon} />
      {label}
    </>
  );
  if (!isForm) return <a class={isDanger ? "menu-item destroy" : "menu-item"} href={href}>{content}</a>;
  return (
    <Form action={href}>
      <button type="submit" class="menu-item">{content}</button>
    </Form>
  );
}
