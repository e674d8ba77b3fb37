// The addresses of Gatehouse and its proxy, which every configuration needs.

/** The addresses of Gatehouse and its proxy. */
export interface ProxyPlacement {
  /** The host of `BASE_URL`. */
  readonly host: string;
  readonly secure: boolean;
  /** The port that browsers connect to. */
  readonly publicPort: number;
  /** Gatehouse's own address, such as `127.0.0.1:8000`. */
  readonly upstream: string;
}
