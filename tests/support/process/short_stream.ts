// Stands in for domain/stream_limits.ts in a continuous backup: a log of 4 MiB is a gap, parts of snapshots are
// small, and failures are tried again soon.
export * from "../../../domain/stream_limits.ts";

export const streamLogFramesMax = 1_000;
export const streamRetryMs = [100, 500] as const;
export const streamPartBytes = 1024 * 1024;
