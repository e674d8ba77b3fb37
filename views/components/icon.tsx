// All icons, in the color of the surrounding text. They only accompany words.
import type { Child } from "hono/jsx";

const paths = {
  key: "M2 11a3 3 0 1 0 6 0a3 3 0 1 0-6 0m5.200-2.200 6-6M11 5l2 2M9 7l1.500 1.500",
  usage: "M2 14h12M4 11V8M8 11V4M12 11V6.500",
  copy:
    "M6.500 5H12A1.500 1.500 0 0 1 13.500 6.500V12A1.500 1.500 0 0 1 12 13.500H6.500A1.500 1.500 0 0 1 5 12V6.500" +
    "A1.500 1.500 0 0 1 6.500 5zM11 5V3.500A1 1 0 0 0 10 2.500H3.500a1 1 0 0 0-1 1V10a1 1 0 0 0 1 1H5",
  check: "m3 8.500 3.200 3L13 4.500",
  alert: "M8 2.200 14.500 13.500h-13zM8 6.500v3.200M8 11.400v.4",
  back: "M9.500 3.500 5 8l4.500 4.500",
  chevron: "m4 6 4 4 4-4",
  up: "M8 13V3.500M4 7.200l4-4 4 4",
  down: "M8 3v9.500M4 8.800l4 4 4-4",
  updown: "m5 6 3-3 3 3M5 10l3 3 3-3",
  people:
    "M3.500 5.500a2.500 2.500 0 1 0 5 0a2.500 2.500 0 1 0-5 0M1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4" +
    "M10.500 3.200a2.500 2.500 0 0 1 0 4.600M12.200 9.900c1.500.600 2.300 1.900 2.300 3.600",
  list: "M3 2.500h10v11H3zM5.500 5.500h5M5.500 8h5M5.500 10.500h3",
  building: "M3 13.500v-11h7v11M10 6.500h3v7M1.500 13.500h13M5.500 5.500h2M5.500 8h2M5.500 10.500h2",
  person: "M5 5a3 3 0 1 0 6 0a3 3 0 1 0-6 0M2.500 14c0-3 2.500-4.500 5.500-4.500s5.500 1.500 5.500 4.500",
  mail: "M2 3.500h12v9H2zM2.300 4 8 8.800 13.700 4",
  home: "M2.500 7 8 2.500 13.500 7v6.500h-4V10h-3v3.500h-4z",
  file: "M4 1.800h5.500L12.500 5v9.200H4zM9.300 2v3.200h3",
  box: "m8 1.800 5.700 3v6.400l-5.700 3-5.700-3V4.800zM2.500 5 8 8l5.500-3M8 8v6",
  token:
    "M3.500 4.500h9A1.500 1.500 0 0 1 14 6v4a1.500 1.500 0 0 1-1.500 1.500h-9A1.500 1.500 0 0 1 2 10V6A1.500 1.500 0 0 1 3.500 4.500zM5 8h.01M8 8h.01M11 8h.01",
  disk:
    "M2.500 4a5.500 2 0 1 0 11 0a5.500 2 0 1 0-11 0v8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2V4M2.500 8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2",
  clock: "M2.200 8a5.800 5.800 0 1 0 11.600 0a5.800 5.800 0 1 0-11.600 0M8 4.800V8l2.200 1.500",
  gauge: "M2.300 12a6.300 6.300 0 1 1 11.400 0M8 9.500l2.500-3.500",
  info: "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M8 7.300v3.500M8 5v.01",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  play: "m5 3.500 7 4.500-7 4.500z",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  search: "M2.500 7a4.500 4.500 0 1 0 9 0a4.500 4.500 0 1 0-9 0m7.700 3.200 3.800 3.800",
  plus: "M8 3v10M3 8h10",
  edit: "m3 13 .600-2.800L11 2.800l2.200 2.200-7.400 7.400z",
  rotate: "M13 8a5 5 0 1 1-1.600-3.700M13 2.500V5h-2.500",
  trash: "M2.500 4.500h11M6 4.500v-2h4v2M4 4.500l.700 9h6.600l.700-9",
  book:
    "M8 4c-1.500-1-3.300-1.300-5.500-1.300v9.500c2.200 0 4 .3 5.500 1.300c1.500-1 3.300-1.300 5.500-1.300V2.700C11.300 2.700 9.500 3 8 4zM8 4v9.500",
  out: "M6 2.500H2.500v11H6M10.500 5l3 3-3 3M13.500 8H6",
  filter: "M2 4h12M4.500 8h7M7 12h2",
  switch: "M3 5.500h10M10.500 3 13 5.500 10.500 8M13 10.500H3M5.500 8 3 10.500 5.500 13",
  webhook:
    "M5.600 6.600a3 3 0 1 1 5-2.300M8 4.500l2.700 5M10.800 9.600a2.500 2.500 0 1 1-1.300 4.300M2.600 9.700A2.600 2.600 0 1 0 7 12h4M4.500 11.500 7 7.200",
  shield: "M8 1.800 13 3.800v4c0 3-2 5.200-5 6.400c-3-1.200-5-3.400-5-6.400v-4z",
} as const;

export type IconName = keyof typeof paths;

const strokes = {
  "fill": "none",
  "stroke": "currentColor",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
  "aria-hidden": "true",
} as const;

/** An icon of 16 px, hidden from screen readers because the text next to it says the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" stroke-width="1.5" {...strokes}>
      <path d={paths[name]} />
    </svg>
  );
}

export function Brand({ href, children }: { href: string; children?: Child }) {
  return (
    <a class="brand" href={href}>
      <svg width="22" height="22" viewBox="0 0 24 24" stroke-width="2" {...strokes}>
        <path d="M3 21V4.500h4V7h3V4.500h4V7h3V4.500h4V21h-5.500v-4.500a3.500 3.500 0 0 0-7 0V21z" />
      </svg>
      Gatehouse
      {children ?? null}
    </a>
  );
}
