// Holds the write lock of a data file, as another program may.
import { Connection } from "../../../db/engine/connection.ts";

/** A held lock. */
export interface HeldLock {
  /** Releases it. May be called again. */
  release(): void;
}

/** Takes the lock of a data file that a server in another process may be using. */
export function holdLock(path: string): HeldLock {
  const connection = new Connection(path, { readOnly: false, isGuest: true });
  connection.exec("BEGIN IMMEDIATE");
  let isHeld = true;
  return {
    release() {
      if (isHeld) connection.close();
      isHeld = false;
    },
  };
}
