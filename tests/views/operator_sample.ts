// The pages of the operator console with sample data, for the tests of the views.
import type { Page, PortalFrame } from "../../views/layout.tsx";
import { overviewPage, type OverviewProps } from "../../views/operator/overview.tsx";
import { secondFactorPage } from "../../views/operator/second_factor.tsx";

/** @returns Every page by name, with `text` wherever user text can appear. */
export function operatorPages(text: string, portal: PortalFrame): Readonly<Record<string, Page>> {
  const frame = { ...portal, isConsole: true };
  return {
    "console, overview": overviewPage({ frame, ...overviewProps(text) }),
    "console, second factor": secondFactorPage({ frame: portal }),
  };
}

function overviewProps(text: string): Omit<OverviewProps, "frame"> {
  return {
    updated: "14:05:11",
    metrics: [{ metric: text, name: text }, { metric: "bytes", name: "bytes" }],
    metric: text,
    measure: { name: text, unit: "bytes" },
    isPartial: true,
    figures: [{ label: text, number: 12, note: text }],
    chart: {
      measure: { name: text, unit: "bytes" },
      by: "day",
      period: text,
      windows: [{ label: text, name: text, startsDay: false, values: [1, 2], sums: ["1", "2"], total: "3" }],
      series: [{ name: text, color: 1 }, { name: text, color: "other" }],
      others: null,
      current: { position: 0, elapsed: "5 h 12 min" },
    },
    customers: [{ name: text, href: `/${text}`, note: text, sum: "3", share: 100, change: 12.4 }],
    activeCount: 1,
    attention: [{ icon: "mail", tone: "bad", title: text, text, href: "/operator/system", label: "View" }],
    health: [{ name: text, icon: "mail", text, tone: "bad", state: text, trouble: text }],
  };
}
