// The company's logo: the safe part of an SVG, and its width. Only what draws is copied from the file, so the result can't run
// a script or load anything.
import sax from "sax";

export const logoBytesMax = 100 * 1024;
/** Width and height of a PNG. */
const logoPixelsMax = 4_096;

const elements = new Set(
  ("svg g defs symbol use path rect circle ellipse line polyline polygon text tspan title desc linearGradient " +
    "radialGradient stop clipPath mask pattern style").split(" "),
);
const attributes = new Set(
  ("xmlns viewBox width height x y x1 y1 x2 y2 cx cy r rx ry fx fy d points transform id class href xlink:href version " +
    "fill fill-opacity fill-rule clip-rule clip-path mask stroke stroke-width stroke-linecap stroke-linejoin stroke-opacity " +
    "stroke-miterlimit stroke-dasharray stroke-dashoffset opacity offset stop-color stop-opacity gradientUnits " +
    "gradientTransform spreadMethod patternUnits patternContentUnits patternTransform clipPathUnits maskUnits " +
    "maskContentUnits preserveAspectRatio font-family font-size font-weight font-style letter-spacing text-anchor " +
    "dominant-baseline dx dy style color display visibility vector-effect").split(" "),
);
const pngSignature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

export interface Logo {
  readonly type: "image/svg+xml" | "image/png";
  readonly content: Uint8Array<ArrayBuffer>;
}

/** Returns the logo of a file, or why it can't be used. */
export function parseLogo(bytes: Uint8Array): Logo | string {
  if (bytes.length > logoBytesMax) return `larger than ${logoBytesMax / 1024} KiB`;
  return pngSignature.every((byte, n) => bytes[n] === byte) ? parsePng(bytes) : parseSvg(bytes);
}

function parsePng(bytes: Uint8Array): Logo | string {
  if (bytes.length < 33) return "not a whole PNG file";
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const isValid = [width, height].every((pixels) => pixels > 0 && pixels <= logoPixelsMax);
  return isValid
    ? { type: "image/png", content: new Uint8Array(bytes) }
    : `wider or higher than ${logoPixelsMax} pixels`;
}

function parseSvg(bytes: Uint8Array): Logo | string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const { svg, box } = copySvg(text);
    const [, , width = 0, height = 0] = box;
    if (!(width > 0 && height > 0)) return "the SVG has no viewBox, and no width and height";
    return { type: "image/svg+xml", content: new TextEncoder().encode(svg) };
  } catch {
    return "neither a PNG nor a well-formed SVG file";
  }
}

/** Copies allowed elements and attributes, and leaves out the content of others. @throws {Error} For XML that is not well-formed. */
function copySvg(text: string): { svg: string; box: readonly number[] } {
  const parser = sax.parser(true);
  let svg = "";
  let box: readonly number[] = [];
  /** Elements that are open, and how many of them are left out. */
  const [open, skipped] = [[] as string[], { depth: 0 }];
  parser.onerror = (error: Error) => {
    throw error;
  };
  parser.onopentag = ({ name, attributes: given }: { name: string; attributes: Record<string, string> }) => {
    if (skipped.depth > 0 || !elements.has(name) || (open.length === 0) !== (name === "svg")) {
      if (open.length === 0) throw new Error("the root is no svg element");
      skipped.depth++;
      return;
    }
    const kept = Object.entries(given).filter(isHarmless);
    if (open.length === 0) box = boxOf(Object.fromEntries(kept));
    open.push(name);
    const own = open.length > 1 ? kept : [
      ["xmlns", "http://www.w3.org/2000/svg"],
      ["xmlns:xlink", "http://www.w3.org/1999/xlink"],
      ["viewBox", box.join(" ")],
      ...kept.filter(([attribute]) => !["xmlns", "viewBox", "width", "height"].includes(attribute)),
    ];
    svg += `<${name}${own.map(([attribute, value]) => ` ${attribute}="${escape(value ?? "")}"`).join("")}>`;
  };
  parser.onclosetag = () => {
    if (skipped.depth > 0) skipped.depth--;
    else svg += `</${open.pop()}>`;
  };
  const copyText = (content: string) => {
    const isStyle = open.at(-1) === "style";
    if (skipped.depth === 0 && open.length > 0 && (!isStyle || isHarmlessStyle(content))) {
      svg += escape(content);
    }
  };
  parser.ontext = copyText;
  parser.oncdata = copyText;
  parser.write(text).close();
  return { svg, box };
}

function isHarmless([name, value]: [string, string]): boolean {
  if (!attributes.has(name) || !isHarmlessStyle(value)) return false;
  return !/href$/.test(name) || /^#[\w.-]+$/.test(value);
}

/** True unless it refers to something outside the file, or hides that with escapes. */
function isHarmlessStyle(text: string): boolean {
  return !/[\\<@]|expression|javascript:/i.test(text) && !/url\(\s*(?!["']?#)/i.test(text) &&
    !/image(-set)?\(/i.test(text);
}

function boxOf({ viewBox, width = "", height = "" }: Readonly<Record<string, string>>): readonly number[] {
  const given = viewBox?.trim().split(/[\s,]+/).map(Number);
  if (given?.length === 4 && given.every(Number.isFinite)) return given;
  return [0, 0, parseFloat(width) || 0, parseFloat(height) || 0];
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
