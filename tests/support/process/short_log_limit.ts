// Stands in for domain/stream_limits.ts in a continuous backup: turns every few pages, and a log of 4 MiB is long.
export * from "./short_turns.ts";

export const streamLogFramesMax = 1_000;
