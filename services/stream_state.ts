// The state of a continuous backup, for health checks and metrics.
export { type StreamReport, StreamState, streamStates } from "../db/engine/stream/state.ts";
