// Stands in for domain/stream_limits.ts: a turn of the copier every 2,000 frames, ten times as often, so that each round has some.
export * from "../domain/stream_limits.ts";

export const streamCheckpointFrames = 2_000;
export const streamRetryFrames = 500;
