// A card with a list: tabs, search and order at its head, counts and pages at its foot.
import type { Child } from "hono/jsx";
import { groupDigits } from "../../domain/number_text.ts";
import { searchCharactersMax } from "../../domain/limits.ts";
import { HiddenFields } from "./form.tsx";
import { Icon } from "./icon.tsx";
import { type LinkChoice, Menu, MenuLinks } from "./menu.tsx";

/** The list reaches the card's edges. `tools`: next to the tabs. */
export function ListCard({ label, tabs, tools, footer, children }: {
  label: string;
  tabs?: Child;
  tools?: Child;
  footer?: Child;
  children: Child;
}) {
  return (
    <section class="card" aria-label={label}>
      {(tabs || tools) && (
        <div class="bar">
          {tabs ?? null}
          {tools ? <div class="tools">{tools}</div> : null}
        </div>
      )}
      {children}
      {footer ? <footer class="list-foot">{footer}</footer> : null}
    </section>
  );
}

export interface Tab {
  readonly href: string;
  readonly label: string;
  /** Null when it is unknown. `isAtLeast`: there may be more. */
  readonly count: number | null;
  readonly isAtLeast?: boolean;
  /** Marks a count other than 0. */
  readonly tone?: "bad";
  readonly isCurrent: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, label, count, isAtLeast, tone, isCurrent }) => (
        <a href={href} aria-current={isCurrent ? "page" : undefined}>
          {`${label} `}
          {count !== null && (
            <span class={tone && count > 0 ? `count ${tone}` : "count"}>
              {groupDigits(count)}
              {isAtLeast && "+"}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

/** `searches`: such as `name or prefix`. `hidden`: further parameters of the page's address. */
export function SearchBox({ action, search, searches, hidden }: {
  action: string;
  search: string;
  searches: string;
  hidden?: Readonly<Record<string, string | null>>;
}) {
  return (
    <form class="search" role="search" method="get" action={action}>
      <label for="search">
        <span class="unseen">{`Search by ${searches}`}</span>
      </label>
      <Icon name="search" />
      <input
        type="search"
        id="search"
        name="search"
        value={search}
        placeholder={`Search ${searches}`}
        autocomplete="off"
        maxlength={searchCharactersMax}
      />
      <HiddenFields values={hidden} />
    </form>
  );
}

export function SortMenu({ orders }: { orders: readonly LinkChoice[] }) {
  return (
    <Menu label="Sort" isAtEnd>
      <MenuLinks choices={orders} />
    </Menu>
  );
}

export function HintLine({ text, href, action }: { text: Child; href: string; action: string }) {
  return (
    <p class="hint-line">
      <span>{text}</span>
      <a href={href}>{action}</a>
    </p>
  );
}
