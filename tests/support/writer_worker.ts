// The writer that tests reuse: see `writers.ts`.
import "../../db/engine/writer_worker.ts";

const globals = globalThis as { gc?: () => void };
const { gc } = globals;
let closed = 0;
// Closing collects garbage to release the files, which takes longer than many tests. Do so for a few together.
globals.gc = () => {
  if (++closed % 20 === 0) gc?.();
};
