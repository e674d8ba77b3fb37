// Tests of the program with a libSQL server.
import { type Sqld, sqldMissing, startSqld } from "../database/sqld.ts";

/** Defines a test with a server of its own. @param options `ignore` and `timeout` of {@linkcode Deno.test}. */
export function remoteTest(
  name: string,
  test: (server: Sqld) => Promise<void>,
  { ignore = false, ...options }: { ignore?: boolean; timeout?: number } = {},
): void {
  Deno.test({
    ...options,
    name,
    ignore: ignore || sqldMissing() !== null,
    async fn() {
      const server = await startSqld();
      try {
        await test(server);
      } finally {
        await server.stop();
      }
    },
  });
}
