// The hold of a request that requireKey let through: ended once, with what the handler found.
import { type Gatehouse, settlementsOf } from "./gatehouse.ts";
import { heldRecords, type HeldUsage, type Hold } from "./holds.ts";
import type { MaybePromise } from "./middleware.ts";
import { BodyReader, type SentBody } from "./sent_body.ts";

/** The usage that was found, or nothing as long as none is known. An empty list: nothing was used. */
export type FoundUsage = HeldUsage | readonly HeldUsage[] | null | undefined;

export interface HeldRequest<R, E> {
  readonly gatehouse: Gatehouse;
  readonly hold: Hold;
  readonly request: R;
  readonly settle: (response: E, request: R, sent: SentBody) => MaybePromise<FoundUsage>;
}

/**
 * Ends a hold when the response ends. Can be called repeatedly: the hold ends once.
 *
 * @param isOver False if the handler may still find something: then the
 *   hold stays if nothing is found.
 * @returns False if it stays, so that it should be called again.
 */
export type EndHold<E> = ((response: E, isOver?: boolean) => Promise<boolean>) & {
  /** Reads what is written of the response's body, for `settle`. */
  readonly sent: BodyReader;
};

export function endOfHold<R, E>({ gatehouse, hold: { id }, request, settle }: HeldRequest<R, E>): EndHold<E> {
  const settlements = settlementsOf(gatehouse);
  const sent = new BodyReader();
  let isDone = false;
  async function end(response: E, isOver = true): Promise<boolean> {
    if (isDone) return true;
    if (isOver) isDone = true;
    await settlements.run(id, async () => {
      // If this throws, or returns something else than usage, no one knows what was used: the hold expires.
      const found = await settle(response, request, sent);
      if (!isOver) {
        if (isDone || found === null || found === undefined) return;
        isDone = true;
      }
      if (found === null || found === undefined) {
        return await settlements.deliver(() => gatehouse.release(id));
      }
      heldRecords(found, "settle");
      // Each attempt must have the same content.
      const usage = structuredClone(found);
      await settlements.deliver(() => gatehouse.settle(id, usage)).catch((error) => {
        throw new Error(`${error.message} Used: ${JSON.stringify(usage)}`, { cause: error });
      });
    });
    return isDone;
  }
  return Object.assign(end, { sent });
}

/** Returns a response that calls back once its body was sent, or the client has disconnected. @param sent Reads the body meanwhile. */
export function whenSent(
  response: Response,
  method: string,
  onEnd: () => void,
  sent?: BodyReader,
): Response {
  // Servers send no body for these, and don't read it.
  if (response.body === null || response.status < 200 || method === "HEAD") {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          sent?.write(value);
          return controller.enqueue(value);
        }
        onEnd();
        controller.close();
      } catch (error) {
        onEnd();
        controller.error(error);
      }
    },
    async cancel(reason) {
      try {
        await reader.cancel(reason);
      } finally {
        onEnd();
      }
    },
  }, { highWaterMark: 0 });
  return new Response(body, response);
}
