// The optional catalogue of products: names and units for what is recorded.

export interface ProductMetric {
  readonly slug: string;
  readonly name: string;
  /** The unit of its quantities, such as `GB`; null if not set. */
  readonly unit: string | null;
  /** The price of one unit of the quantity, a decimal of up to 12 places in `CURRENCY`; null if not set. */
  readonly unitPrice: string | null;
}

export interface Product {
  readonly slug: string;
  readonly name: string;
  /** In the order in which they are shown. */
  readonly metrics: readonly ProductMetric[];
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}
