// What a browser is called, for the person who uses it: `Chrome on Linux`.

const charactersMax = 60;

/**
 * @param userAgents `User-Agent` headers; anything may be in them.
 * @returns Each in words; of one that is unknown its beginning, which is to be escaped like any stranger's text.
 */
export async function deviceWords(userAgents: readonly string[]): Promise<string[]> {
  // Loaded when somebody looks at such a list, and not before.
  const { default: { parse } } = await import("bowser");
  return userAgents.map((userAgent) => {
    if (userAgent.trim() === "") return "Unknown device";
    const { browser, os } = parse(userAgent);
    // Without a system the browser's name is a guess from the first word.
    if (browser.name && os.name) return `${browser.name} on ${os.name}`;
    const characters = [...userAgent];
    return characters.length <= charactersMax ? userAgent : `${characters.slice(0, charactersMax).join("")}…`;
  });
}
