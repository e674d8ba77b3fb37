// The examples of docs/webhooks.md that verify requests, for the pages of webhooks.
import guide from "../../../docs/webhooks.md" with { type: "text" };
import type { CodeSample } from "../../../views/components/code_example.tsx";

/** Returns the same example in four languages. */
export function verifySamples(): readonly CodeSample[] {
  const [, section = ""] = guide.split(/^## Verify\n/m);
  return [...section.split(/^## /m, 1).join("").matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(
    ([, language = "", code = ""]) => ({ language, code }),
  );
}
