// The body of an email, as plain text and as HTML for mail programs: a table with inline styles, and nothing that is loaded.
// The portal's rules on styles don't apply here. The colors are those of static/styles/base.css.
import { raw } from "hono/html";
import type { Accent, Accents } from "../../domain/brand.ts";

export interface MailBrand {
  readonly name: string;
  /** Null for the colors of the portal. */
  readonly accents: Accents | null;
}

interface MailBody {
  readonly brand: MailBrand;
  /** Addresses in the text that begin with this become links. */
  readonly home: string;
  readonly greeting: string;
  readonly paragraphs: readonly string[];
  readonly action: { readonly label: string; readonly link: string; readonly lifetime: string } | null;
  readonly otherwise: string;
  readonly sender: string;
}

export function plainMail({ greeting, paragraphs, action, otherwise, sender }: MailBody): string {
  const parts = [greeting, ...paragraphs];
  if (action !== null) parts.push(`${action.label}:\n${action.link}`, action.lifetime);
  parts.push(otherwise, `-- \n${sender}`);
  return `${parts.join("\n\n")}\n`;
}

const dark = ({ accent, ink }: Accent) =>
  `@media (prefers-color-scheme: dark) {
  .page { background: #121311 !important; }
  .sheet { background: #1a1b19 !important; border-color: #2c2e2a !important; color: #edebe4 !important; }
  .quiet { color: #a5a298 !important; }
  .button { background: ${accent} !important; color: ${ink} !important; }
  .link { color: ${accent} !important; }
}`;
/** The default accents, as in static/styles/base.css. */
const usualAccents: Accents = {
  light: { accent: "#0e6652", ink: "#ffffff", soft: "#e2f1ec" },
  dark: { accent: "#63cfae", ink: "#06231b", soft: "#14302a" },
};
const font = "font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif;";
const quiet = "font-size: 14px; color: #5f5b52;";

export function htmlMail(title: string, body: MailBody): string {
  const { brand, greeting, paragraphs, action, otherwise, sender } = body;
  const { light, dark: darkAccent } = brand.accents ?? usualAccents;
  const paragraph = (text: string) => <Paragraph text={text} home={body.home} color={light.accent} />;
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>{title}</title>
        <style>{raw(dark(darkAccent))}</style>
      </head>
      <body class="page" style="margin: 0; padding: 24px 12px; background: #f7f6f2;">
        <table
          role="presentation"
          class="sheet"
          align="center"
          style={`width: 100%; max-width: 560px; margin: 0 auto; border: 1px solid #e3e0d8; border-radius: 12px; background: #ffffff; color: #1b1a17; ${font}`}
        >
          <tbody>
            <tr>
              <td style="padding: 24px; overflow-wrap: anywhere;">
                <p class="link" style={`margin: 0 0 16px; font-weight: 600; color: ${light.accent};`}>
                  {brand.name}
                </p>
                {paragraph(greeting)}
                {paragraphs.map(paragraph)}
                {action === null ? null : <Action {...action} colors={light} />}
                {paragraph(otherwise)}
                <p class="quiet" style={`margin: 24px 0 0; ${quiet}`}>{sender}</p>
              </td>
            </tr>
          </tbody>
        </table>
      </body>
    </html>
  );
  return `<!doctype html>${page}`;
}

function Paragraph({ text, home, color }: { text: string; home: string; color: string }) {
  const linked = (part: string) => part.startsWith(`${home}/`) ? <Link href={part} color={color} /> : part;
  return <p style="margin: 0 0 16px;">{text.split(/(https?:\/\/\S+)/).map(linked)}</p>;
}

function Link({ href, color }: { href: string; color: string }) {
  return <a href={href} class="link" style={`color: ${color};`}>{href}</a>;
}

function Action(
  { label, link, lifetime, colors: { accent, ink } }: {
    label: string;
    link: string;
    lifetime: string;
    colors: Accent;
  },
) {
  return (
    <>
      <p style="margin: 24px 0;">
        <a
          href={link}
          class="button"
          style={`display: inline-block; padding: 10px 18px; border-radius: 8px; background: ${accent}; color: ${ink}; font-weight: 600; text-decoration: none;`}
        >
          {label}
        </a>
      </p>
      <p class="quiet" style={`margin: 0 0 16px; ${quiet}`}>
        Or open this link: <Link href={link} color={accent} />
        <br />
        {lifetime}
      </p>
    </>
  );
}
