// Reads the settings of continuous backups, and the keys that encrypt.
import { Buffer } from "node:buffer";
import { type Settings, settings, SettingsReader } from "./settings_reader.ts";

/** Where continuous backups go. */
export type StreamTarget =
  | { readonly kind: "folder"; readonly folder: string }
  | {
    readonly kind: "s3";
    readonly bucket: string;
    /** Without slashes at its ends; may be empty. */
    readonly prefix: string;
    /** Undefined for Amazon S3. */
    readonly endpoint: string | undefined;
    readonly region: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };

/** Returns the keys that encrypt stored secrets or backups, the newest first; none if they are stored as they are. */
export function readKeys(
  reader: SettingsReader,
  name: "SECRETS_KEY" | "BACKUP_ENCRYPTION_KEY",
): readonly Uint8Array[] {
  const items = reader.text(name)?.split(",").map((item) => item.trim()) ?? [];
  const keys = items.map((item) => Uint8Array.from(Buffer.from(item, "base64")));
  // Buffer skips characters that aren't base64. The values must not be printed.
  const wrong = keys.findIndex((key, n) =>
    key.length !== 32 || Buffer.from(key).toString("base64") !== items[n]
  );
  if (wrong !== -1) {
    reader.reject(name, keys.length === 1 ? "" : `key ${wrong + 1} of ${keys.length}`);
  }
  return keys;
}

/** Returns undefined without `BACKUP_STREAM_TO`. */
export function readStream(reader: SettingsReader, { isRemote }: { isRemote: boolean }) {
  const target = readStreamTarget(reader, reader.text("BACKUP_STREAM_TO"));
  const seconds = reader.integer("BACKUP_STREAM_SECONDS", { min: 1, max: 3600 });
  const spoolBytesMax = reader.integer("BACKUP_STREAM_MB", { min: 64, max: 1_000_000 }) * 1024 * 1024;
  const keys = readKeys(reader, "BACKUP_ENCRYPTION_KEY");
  const keepDays = Number(reader.text("BACKUP_KEEP") ?? settings.BACKUP_KEEP.default);
  if (target === undefined) return undefined;
  if (isRemote) reader.reject("BACKUP_STREAM_TO", "a libSQL server makes its own backups");
  return { target, seconds, spoolBytesMax, keys, keepDays };
}

/** @param to A folder or an `s3:` URL; commands take it as an argument. */
function readStreamTarget(reader: SettingsReader, to: string | undefined): StreamTarget | undefined {
  const endpoint = reader.matching("BACKUP_S3_ENDPOINT", (text) => isEndpoint(text));
  const region = reader.matching("BACKUP_S3_REGION", (text) => /^[a-z0-9-]+$/i.test(text)) ??
    settings.BACKUP_S3_REGION.default;
  // They are sent in a header.
  const names = ["BACKUP_S3_ACCESS_KEY_ID", "BACKUP_S3_SECRET_ACCESS_KEY"] as const;
  const access = names.map((name) => reader.matching(name, (text) => /^[\x21-\x7e]+$/.test(text)));
  if (to === undefined) return undefined;
  if (!/^[a-z0-9]+:\/\//i.test(to)) {
    if (/\p{Cc}/u.test(to)) reader.reject("BACKUP_STREAM_TO");
    return { kind: "folder", folder: to };
  }
  const [, bucket, prefix = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,62})(?:\/+([A-Za-z0-9!_.*'()\/-]*?))?\/*$/.exec(to) ?? [];
  // URLs drop segments of dots.
  const hasDots = prefix.split("/").some((part) => part === "." || part === "..");
  if (bucket === undefined || hasDots) reader.reject("BACKUP_STREAM_TO");
  names.forEach((name, n) => {
    if (access[n] === undefined) reader.reject(name, "required with an s3:// URL");
  });
  const [accessKeyId = "", secretAccessKey = ""] = access;
  return { kind: "s3", bucket: bucket ?? "", prefix, endpoint, region, accessKeyId, secretAccessKey };
}

/** Reads a target that a command names, with its settings from the environment. */
export function parseStreamTarget(to: string, record: Settings) {
  const reader = new SettingsReader({ ...record, BACKUP_STREAM_TO: to });
  const target = readStreamTarget(reader, to);
  const keys = readKeys(reader, "BACKUP_ENCRYPTION_KEY");
  const { faults } = reader;
  return faults.length > 0 || target === undefined ? { faults } : { target, keys };
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" &&
    url.hash === "";
}
