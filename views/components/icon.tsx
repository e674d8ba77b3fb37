// Every icon of the portal, drawn by lines in the colour of the text around them. Icons only accompany words.

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
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon of 16 px. Hidden from screen readers: the words beside it say the same. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** The name and sign of the product, as a link. */
export function Brand({ href }: { href: string }) {
  return (
    <a class="brand" href={href}>
      <svg
        width="22"
        height="22"
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        <path d="M3 21V4.500h4V7h3V4.500h4V7h3V4.500h4V21h-5.500v-4.500a3.500 3.500 0 0 0-7 0V21z" />
      </svg>
      Gatehouse
    </a>
  );
}
