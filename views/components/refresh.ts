// Pages that update while they are open.

/** Returns attributes that reload a part of the page where scripts run, but keep focused and opened elements. */
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
