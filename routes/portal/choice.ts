// Distinguishes a person's own choice from the wish of a page or another site.
import type { AppContext } from "../env.ts";

/** True if a person opened this address from a page here. The page's own updates and links of other sites choose nothing. */
export function isChoice(c: AppContext): boolean {
  const isScripted = c.req.header("HX-Request") === "true";
  const site = c.req.header("Sec-Fetch-Site") ?? (isScripted ? "same-origin" : "unknown");
  return !isUpdate(c) && site === "same-origin";
}

/** True if the page updates itself, which replaces the numbers only. */
export function isUpdate(c: AppContext): boolean {
  return c.req.header("HX-Request") === "true" && c.req.header("HX-Boosted") !== "true";
}
