// A QR code as a picture that needs no scripts and no styles: black on white in either theme, or phones do not read it.
import { encode } from "uqr";

/** White around the code, in its squares, as the standard asks for. */
const quietSquares = 4;

/**
 * @param text What the code says.
 * @returns An `<svg>`, made of numbers alone: nothing of the text is in its markup.
 */
export function qrCodeSvg(text: string): string {
  const { data, size } = encode(text, { ecc: "M", border: quietSquares });
  const path = data.flatMap((row, y) => row.map((isDark, x) => isDark ? `M${x} ${y}h1v1h-1z` : "")).join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" role="img" aria-label="QR code"` +
    ` shape-rendering="crispEdges"><path fill="#ffffff" d="M0 0h${size}v${size}H0z"/>` +
    `<path fill="#000000" d="${path}"/></svg>`;
}
