// Reads the file of BRAND_LOGO before the server starts, so that a logo that can't be shown stops the start.
import type { Settings } from "../../config.ts";
import { messageOf } from "../../domain/errors.ts";
import { SettingsError } from "../settings.ts";

/** Returns the settings with the cleaned logo in place of its path. @throws {SettingsError} */
export async function withLogo(settings: Settings, path: string | undefined): Promise<Settings> {
  if (path === undefined) return settings;
  const { logoBytesMax, parseLogo } = await import("../../domain/logo.ts");
  const logo = parseLogo(await readStart(path, logoBytesMax + 1));
  if (typeof logo === "string") throw new SettingsError(`BRAND_LOGO: ${path}: ${logo}`);
  return { ...settings, BRAND_LOGO: `data:${logo.type};base64,${logo.content.toBase64()}` };
}

async function readStart(path: string, bytesMax: number): Promise<Uint8Array> {
  try {
    const file = await Deno.open(path);
    const part = new Uint8Array(bytesMax);
    let length = 0;
    try {
      for (let read; length < part.length && (read = await file.read(part.subarray(length))) !== null;) {
        length += read;
      }
    } finally {
      file.close();
    }
    return part.subarray(0, length);
  } catch (error) {
    throw new SettingsError(`BRAND_LOGO: cannot read ${JSON.stringify(path)}: ${messageOf(error)}`);
  }
}
