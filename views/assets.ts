// The addresses of the files that pages load, and the brand.

export interface Assets {
  readonly brand: BrandAssets;
  readonly css: string;
  readonly script: string;
  readonly htmx: string;
  /** Loaded by `script` when a form needs it. */
  readonly passkeys: string;
  /** Loaded by `script` on pages with a field for tags. */
  readonly tags: string;
  /** Loaded by `script` when someone searches. */
  readonly palette: string;
  readonly favicon: string;
  /** The fonts, at the address in the style sheet (`/static/geist.woff2`); another address would load them twice. */
  readonly geist: string;
  readonly geistMono: string;
}

export interface BrandAssets {
  readonly name: string;
  /** A wide logo stands alone; others have the name next to them. */
  readonly logo: { readonly path: string; readonly type: string; readonly isWide: boolean } | null;
}
