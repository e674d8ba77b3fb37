// Sends forward auth requests as a reverse proxy does, and reads the identity headers of the response.
import { DatabaseError } from "../../../db/engine/database.ts";
import { embeddedTestDatabase, type TestDatabase } from "../database/database.ts";
import type { SendOptions, TestApp } from "../app/app.ts";

export const forwardPath = "/api/auth/forward";
/** The headers that an application behind a proxy may trust. */
export const identityNames = [
  "Remote-User",
  "Remote-Email",
  "Remote-Name",
  "Remote-Organization",
  "Remote-Role",
  "Remote-Api-Key",
  "Remote-Key-Environment",
  "Remote-Permissions",
  "Remote-Features",
] as const;

/** Sends a forward auth request. @param query Such as `?role=ADMIN`. */
export function ask(test: TestApp, query = "", options: SendOptions = {}): Promise<Response> {
  return test.send(forwardPath + query, options);
}

/** @returns The status and each identity header, null if missing. */
export function statusAndIdentity(response: Response): { status: number; identity: (string | null)[] } {
  return { status: response.status, identity: identityNames.map((name) => response.headers.get(name)) };
}

/** @returns The headers that a proxy sends when a browser loads a page. */
export function pageLoad(address: string, more: Record<string, string> = {}): Record<string, string> {
  const { protocol, host, pathname, search } = new URL(address);
  return {
    "x-forwarded-method": "GET",
    "x-forwarded-proto": protocol.slice(0, -1),
    "x-forwarded-host": host,
    "x-forwarded-uri": pathname + search,
    accept: "text/html,application/xhtml+xml,*/*;q=0.8",
    ...more,
  };
}

/** A database that counts its operations and can be made unavailable. */
export interface WatchedDatabase {
  readonly open: () => Promise<TestDatabase>;
  /** @returns The number of reads and writes so far. */
  operations(): number;
  /** Chooses which operations fail from now on. */
  refuse(what: "all" | "writes" | "nothing"): void;
}

/** @returns A new database for `startTestApp`. */
export function watchedDatabase(): WatchedDatabase {
  let operations = 0;
  let refused = "nothing";
  const count = (kind: "read" | "write") => {
    operations++;
    if (refused === "all" || (refused === "writes" && kind === "write")) {
      throw new DatabaseError("unavailable", "out of reach");
    }
  };
  return {
    async open() {
      const opened = await embeddedTestDatabase();
      const { database } = opened;
      return {
        ...opened,
        database: {
          source: database.source,
          async read(statement) {
            count("read");
            return await database.read(statement);
          },
          async readFirst(statement) {
            count("read");
            return await database.readFirst(statement);
          },
          async write(batch) {
            count("write");
            return await database.write(batch);
          },
          close: () => database.close(),
        },
      };
    },
    operations: () => operations,
    refuse: (what) => {
      refused = what;
    },
  };
}
