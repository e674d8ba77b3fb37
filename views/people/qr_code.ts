// A QR code as an SVG that needs no scripts or styles. Always black on white: phones can't read the reverse.
import { encode } from "uqr";

/** The white border that the standard requires, in modules. */
const border = 4;

/** Returns an `<svg>` made of numbers only: nothing of the text is in its markup. */
export function qrCodeSvg(text: string): string {
  const { data, size } = encode(text, { ecc: "M", border });
  const path = data.flatMap((row, y) => row.map((isDark, x) => isDark ? `M${x} ${y}h1v1h-1z` : "")).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img" aria-label="QR code"` +
    ` shape-rendering="crispEdges"><path fill="#ffffff" d="M0 0h${size}v${size}H0z"/>` +
    `<path fill="#000000" d="${path}"/></svg>`;
}
