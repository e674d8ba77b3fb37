// A card with actions that have pages of their own, and their descriptions.
import { ButtonLink, type ButtonTone } from "./button.tsx";
import { Card } from "./card.tsx";

export interface PageAction {
  readonly title: string;
  readonly text: string;
  /** Null if it can't be done now. */
  readonly href: string | null;
  readonly label: string;
  readonly tone?: ButtonTone;
}

export function ActionsCard({ title, actions }: { title: string; actions: readonly PageAction[] }) {
  return (
    <Card title={title} flush>
      <ul class="acts">
        {actions.map(({ title, text, href, label, tone = "plain" }) => (
          <li>
            <div>
              <h3>{title}</h3>
              <p class="muted small">{text}</p>
            </div>
            {href !== null && <ButtonLink tone={tone} href={href}>{label}</ButtonLink>}
          </li>
        ))}
      </ul>
    </Card>
  );
}
