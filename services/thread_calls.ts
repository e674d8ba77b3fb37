// Calls between two threads. Errors keep their classes, and ports are transferred.
import type { MessagePort } from "node:worker_threads";
import { type BirpcReturn, createBirpc } from "birpc";
import { receivedError, type SentError, sentError } from "./sent_errors.ts";

/** A message of birpc: a call with arguments, or its result or error. */
interface CallMessage {
  readonly a?: readonly unknown[];
  readonly e?: unknown;
}

/** The end of a connection between two threads. */
interface CallPort {
  readonly postMessage: MessagePort["postMessage"];
  on(event: "message", receive: (message: unknown) => void): unknown;
}

/** Connects with a web worker or, within one, with its owner. */
export function workerPort(worker: Worker): CallPort {
  return {
    postMessage: (message) => worker.postMessage(message),
    on: (_event, receive) => worker.onmessage = ({ data }) => receive(data),
  };
}

/** Connects this `thread`, as errors name it, with the one at the other end of a port. Calls have no time limit. */
export function connectCalls<Theirs extends object, Own extends object>(
  port: CallPort,
  functions: Own,
  { thread }: { thread: string },
): BirpcReturn<Theirs, Own> {
  return createBirpc<Theirs, Own>(functions, {
    post: (message: CallMessage) => port.postMessage(message, message.a?.filter(isPort) ?? []),
    on: (receive) => port.on("message", receive),
    serialize: (message: CallMessage) =>
      message.e === undefined ? message : { ...message, e: sentError(message.e, thread) },
    deserialize: (message: CallMessage) =>
      message.e === undefined ? message : { ...message, e: receivedError(message.e as SentError) },
    timeout: -1,
  });
}

function isPort(value: unknown): value is MessagePort {
  return value instanceof globalThis.MessagePort;
}
