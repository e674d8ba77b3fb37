// Pages that update while they are open.

/** @returns Attributes with which, where scripts run, a part of the page is loaded again, but not what the user has focused or opened. */
export function refresh(target: "#main" | "#live", everySeconds: number) {
  return {
    "hx-trigger": `every ${everySeconds}s`,
    "hx-target": target,
    "hx-select": target,
    "hx-swap": "outerMorph ignoreTitle:true",
    // Without a progress indicator.
    "hx-indicator": target,
  };
}
