// Closing a database collects garbage to release its files, which takes longer than many tests.

/** Collects garbage for a few closed databases together, in a thread of tests. */
export function collectRarely(): void {
  const globals = globalThis as { gc?: () => void };
  const { gc } = globals;
  let closed = 0;
  globals.gc = () => {
    if (++closed % 20 === 0) gc?.();
  };
}
