// Where Gatehouse stands behind its proxy, as every kind of block needs it.

/** What a block is made from. */
export interface ProxyPlace {
  /** Of `BASE_URL`. */
  readonly host: string;
  readonly secure: boolean;
  /** Where browsers connect to. */
  readonly publicPort: number;
  /** Where the proxy reaches Gatehouse, such as `127.0.0.1:8000`. */
  readonly upstream: string;
}
