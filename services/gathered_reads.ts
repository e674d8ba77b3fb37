// Reads from the database that several requests share.

interface Batch<Item, Found> {
  readonly items: Item[];
  readonly found: Promise<Found>;
}

/** Reads for all requests of the same turn together, because starting a read takes longer than finding a row. */
export class GatheredReads<Item, Found> {
  readonly #read: (items: readonly Item[]) => Promise<Found>;
  readonly #itemsMax: number;
  /** The batch that has not been read yet. */
  #batch: Batch<Item, Found> | undefined;

  /** @param itemsMax A batch with this many items takes no further request. */
  constructor(read: (items: readonly Item[]) => Promise<Found>, itemsMax: number) {
    this.#read = read;
    this.#itemsMax = itemsMax;
  }

  /** Returns the result for the batch of these items, which may include items of other requests. */
  find(items: readonly Item[]): Promise<Found> {
    if (this.#batch === undefined || this.#batch.items.length >= this.#itemsMax) this.#batch = this.#start();
    this.#batch.items.push(...items);
    return this.#batch.found;
  }

  #start(): Batch<Item, Found> {
    const items: Item[] = [];
    const read = async () => {
      // Lets the other requests of this turn join.
      await null;
      if (this.#batch?.items === items) this.#batch = undefined;
      return await this.#read(items);
    };
    return { items, found: read() };
  }
}
