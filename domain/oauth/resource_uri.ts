// The form in which URIs of resources are compared (RFC 8707).

const uriCharactersMax = 1_000;

/**
 * Returns a URI with scheme and host in lower case, and without a lone trailing slash.
 *
 * @returns Null for anything but an absolute `https` or `http` URI without a fragment and user.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * assert.equal(comparedUri("HTTPS://MCP.Example.com/"), "https://mcp.example.com");
 * assert.equal(comparedUri("https://api.example.com/v1/"), "https://api.example.com/v1/");
 * assert.equal(comparedUri("https://api.example.com/#a"), null);
 * ```
 */
export function comparedUri(text: string): string | null {
  const [, scheme = "", host = "", rest = ""] = /^(https?):\/\/([^/?#@\\\s]+)([^#\\\s]*)$/i.exec(text) ?? [];
  if (host === "" || text.length > uriCharactersMax || !URL.canParse(text)) return null;
  return `${scheme}://${host}`.toLowerCase() + (rest === "/" ? "" : rest);
}
