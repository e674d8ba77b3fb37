// The company's logo and name, at the head of every page.
import type { Child } from "hono/jsx";
import type { BrandAssets } from "../assets.ts";
import { strokes } from "./icon.tsx";

export function Brand({ href, brand, children }: { href: string; brand: BrandAssets; children?: Child }) {
  return (
    <a class="brand" href={href}>
      <BrandMark brand={brand} />
      {children ?? null}
    </a>
  );
}

export function BrandMark({ brand: { name, logo } }: { brand: BrandAssets }) {
  if (logo?.isWide) return <img class="wide" src={logo.path} alt={name} height="26" />;
  return (
    <>
      {logo === null ? <Gate /> : <img src={logo.path} alt="" height="26" />}
      <bdi class="cut">{name}</bdi>
    </>
  );
}

function Gate() {
  return (
    <svg width="22" height="22" viewBox="0 0 24 24" stroke-width="2" {...strokes}>
      <path d="M3 21V4.500h4V7h3V4.500h4V7h3V4.500h4V21h-5.500v-4.500a3.500 3.500 0 0 0-7 0V21z" />
    </svg>
  );
}
