// What tells test keys and their usage from live ones.
import type { Environment } from "../../domain/environment.ts";
import { Badge } from "./badge.tsx";
import { Menu, MenuLinks, Switch } from "./menu.tsx";

/** Null for both, or for the default. */
type ChosenEnvironment = Environment | null | undefined;

/** Marks test keys. Renders nothing for live keys. */
export function TestBadge({ environment }: { environment: Environment }) {
  return environment === "test" ? <Badge tone="soon">Test</Badge> : null;
}

/** Switches between live and test usage. `hrefOf`: null for live. */
export function EnvironmentSwitch(
  { chosen, hrefOf }: { chosen: ChosenEnvironment; hrefOf: (environment: "test" | null) => string },
) {
  const choices = ([[null, "Live"], ["test", "Test data"]] as const).map(([one, label]) => ({
    href: hrefOf(one),
    label,
    isCurrent: one === (chosen === "test" ? "test" : null),
  }));
  return <Switch label="Environment" choices={choices} />;
}

/** Nothing while live usage is shown. */
export function TestNotice({ chosen, liveHref }: { chosen: ChosenEnvironment; liveHref: string }) {
  if (chosen !== "test") return null;
  return (
    <div class="note plain" role="status">
      <p>
        You're viewing test data. It's on no statement and counts against no limit.{" "}
        <a href={liveHref}>View live data</a>
      </p>
    </div>
  );
}

/** A menu that filters a list by environment. */
export function EnvironmentMenu(
  { chosen, hrefOf }: {
    chosen: Environment | null;
    hrefOf: (environment: Environment | null) => string;
  },
) {
  const choices = ([[null, "All"], ["live", "Live"], ["test", "Test"]] as const).map(([one, label]) => ({
    href: hrefOf(one),
    label,
    isCurrent: one === chosen,
  }));
  return (
    <Menu label="Environment" value={choices.find(({ isCurrent }) => isCurrent)?.label} isAtEnd>
      <MenuLinks choices={choices} />
    </Menu>
  );
}
