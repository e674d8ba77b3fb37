// Names devices for the people who use them, such as “Chrome on Linux”.

const charactersMax = 60;

/**
 * Names devices by their `User-Agent` headers, which may contain anything. The name of an unknown device is the start of its
 * header, which must be escaped.
 */
export async function deviceNames(userAgents: readonly string[]): Promise<string[]> {
  const { default: { parse } } = await import("bowser");
  return userAgents.map((userAgent) => {
    if (userAgent.trim() === "") return "Unknown device";
    const { browser, os } = parse(userAgent);
    // Without an operating system, the browser's name is only a guess from the first word.
    if (browser.name && os.name) return `${browser.name} on ${os.name}`;
    const characters = [...userAgent];
    return characters.length <= charactersMax ? userAgent : `${characters.slice(0, charactersMax).join("")}…`;
  });
}
