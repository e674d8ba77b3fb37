// The brand on light and on dark pages, side by side.
import type { BrandAssets } from "../assets.ts";
import { BrandMark } from "../components/brand.tsx";

export function BrandPreview({ brand }: { brand: BrandAssets }) {
  return (
    <div class="brand-samples">
      {(["light", "dark"] as const).map((scheme) => (
        <div class={`brand-sample ${scheme}`} role="group" aria-label={`Brand in ${scheme} mode`}>
          <span class="brand">
            <BrandMark brand={brand} />
          </span>
          <p>
            Pages have <span class="sample-link">links</span> and <span class="sample-soft">highlights</span>
            {" "}
            in your color.
          </p>
          <span class="button primary">Button</span>
        </div>
      ))}
    </div>
  );
}
