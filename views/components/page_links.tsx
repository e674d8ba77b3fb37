// Links to the other pages of a list.
import { ButtonLink } from "./button.tsx";

export function PageLinks(
  { label = "Pages", links }: { label?: string; links: readonly { href: string | null; label: string }[] },
) {
  if (links.every(({ href }) => href === null)) return null;
  return (
    <nav class="pages" aria-label={label}>
      {links.map(({ href, label }) => href === null ? null : <ButtonLink href={href}>{label}</ButtonLink>)}
    </nav>
  );
}
