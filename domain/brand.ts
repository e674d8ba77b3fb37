// The company's name, logo and color on pages and in emails.
export interface Brand {
  readonly name: string;
  /** As `#rrggbb`; null for the colors of the style sheet. */
  readonly color: string | null;
}

/** A wider logo has the name in it. */
export const iconAspectMax = 2;

/** Returns width by height of a PNG file, or of an SVG that begins as `copySvg()` in domain/logo.ts writes it. */
export function logoAspect(content: Uint8Array): number {
  const start = new TextDecoder("latin1").decode(content.subarray(0, 400));
  const box = / viewBox="([^"]+)"/.exec(start)?.[1]?.split(" ").map(Number);
  const view = new DataView(content.buffer, content.byteOffset);
  const [width = 0, height = 0] = box?.slice(2) ?? [view.getUint32(16), view.getUint32(20)];
  return width / height;
}

export type Scheme = "light" | "dark";
export type Accents = Readonly<Record<Scheme, Accent>>;

/** Colors as `#rrggbb`. */
export interface Accent {
  /** The color of links and of button backgrounds. */
  readonly accent: string;
  readonly ink: string;
  /** The pale background of text and links. */
  readonly soft: string;
}

/** WCAG 2.2, success criterion 1.4.3, and a little for rounding. */
const contrastMin = 4.55;
/** The surfaces of static/styles/base.css that links appear on, the most common one first, and the color of text. */
export const surfaces: Readonly<Record<Scheme, { readonly all: readonly string[]; readonly muted: string }>> =
  {
    light: { all: ["#ffffff", "#f7f6f2", "#f0eee8", "#faf9f6"], muted: "#5f5b52" },
    dark: { all: ["#1a1b19", "#121311", "#0d0e0c", "#1f211e", "#232521"], muted: "#a5a298" },
  };
const extremes: Readonly<Record<Scheme, string>> = { light: "#000000", dark: "#ffffff" };
const softShares: Readonly<Record<Scheme, number>> = { light: 0.12, dark: 0.2 };
const steps = 100;

/**
 * Returns the colors of both schemes. The company's color is darkened or lightened only as far as text on it, and links in it, need
 * to be readable.
 *
 * @param color As `#rrggbb`.
 */
export function accentsOf(color: string): Accents {
  return { light: accentOf(color, "light"), dark: accentOf(color, "dark") };
}

function accentOf(color: string, scheme: Scheme): Accent {
  const { all, muted } = surfaces[scheme];
  const [surface = ""] = all;
  // Also readable: muted text on the soft color.
  const soft = nearest((share) => mix(surface, color, softShares[scheme] * (1 - share)), [muted]);
  const accent = nearest((share) => mix(color, extremes[scheme], share), [...all, soft]);
  const ink = nearest(
    (share) => mix(mix(surface, accent, 0.15), scheme === "light" ? "#ffffff" : "#000000", share),
    [
      accent,
    ],
  );
  return { accent, ink, soft };
}

/** Returns the first of a row of colors that has enough contrast to all others; the last one if none has. */
function nearest(at: (share: number) => string, others: readonly string[]): string {
  for (let step = 0; step < steps; step++) {
    const color = at(step / steps);
    if (others.every((other) => contrast(color, other) >= contrastMin)) return color;
  }
  return at(1);
}

/** Returns the contrast ratio of WCAG 2.2, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(from: string, to: string, share: number): string {
  const [start, end] = [channels(from), channels(to)];
  const mixed = start.map((value, n) => Math.round(value + ((end[n] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}
