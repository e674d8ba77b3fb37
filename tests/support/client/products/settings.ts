// What the products in this folder have in common. Each protects the same paths with the middleware of its framework.

export interface ProductSettings {
  readonly gatehouseUrl: string;
  readonly operatorToken: string;
  /** Its members alone may open `/team`. */
  readonly organizationId: string;
  /** A model's API. */
  readonly modelUrl: string;
  /** An address where nothing listens. */
  readonly downUrl: string;
  /** An address that accepts connections and never responds. */
  readonly slowUrl: string;
}

export interface Product {
  readonly url: string;
  stop(): Promise<void>;
}
