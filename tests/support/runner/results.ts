// Reads what `deno test` reports about single tests.

export interface Results {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** The number of files that could be loaded. */
  readonly files: number;
  readonly tests: readonly { readonly name: string; readonly seconds: number }[];
}

/** Reads a report in JUnit's format. @returns Nothing if there is none, because a file could not be loaded. */
export async function readResults(path: string): Promise<Results> {
  const text = await Deno.readTextFile(path).catch(() => "");
  const cases = [...text.matchAll(/<testcase name="([^"]*)"[^>]* time="([\d.]+)"[^>]*>([^]*?)<\/testcase>/g)];
  const names = new Set(cases.map(([, name]) => name));
  // Steps follow the tests, as `test > step`.
  const isStep = (name: string) => names.has(name.slice(0, Math.max(0, name.indexOf(" &gt; "))));
  const tests = cases.filter(([, name = ""]) => !isStep(name)).map(([, name = "", seconds, inside = ""]) => ({
    name: name.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll(
      "&amp;",
      "&",
    ),
    seconds: Number(seconds),
    isSkipped: inside.includes("<skipped"),
    isFailed: inside.includes("<failure"),
  }));
  return {
    passed: tests.filter(({ isSkipped, isFailed }) => !isSkipped && !isFailed).length,
    failed: tests.filter(({ isFailed }) => isFailed).map(({ name }) => name),
    skipped: tests.filter(({ isSkipped }) => isSkipped).map(({ name }) => name),
    files: [...text.matchAll(/<testsuite /g)].length,
    tests,
  };
}
