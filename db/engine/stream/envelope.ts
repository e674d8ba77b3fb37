// The form of every object of a continuous backup: compressed, then encrypted if there is a key. Its name, which has its chain and
// number, is authenticated with it: an object under another name is damaged.
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Keys of 32 bytes, the newest first. It encrypts; all of them decrypt. */
export type EncryptionKeys = readonly Uint8Array[];

export class DamagedObject extends Error {
  constructor(name: string, problem: string) {
    super(`${name} ${problem}`);
  }
}

/** Format, whether it is encrypted, fingerprint of the key, initialization vector, and tag; without a key SHA-256 of the rest. */
const magic = new TextEncoder().encode("GHB1");
const headBytes = 4 + 1 + 8 + 12 + 32;
const [modeAt, fingerprintAt, vectorAt, tagAt] = [4, 5, 13, 25];
const tagBytes = 16;

const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export function seal(name: string, body: Uint8Array, keys: EncryptionKeys): Uint8Array {
  const packed = zstdCompressSync(body, fast);
  const bytes = new Uint8Array(headBytes + packed.length);
  bytes.set(magic);
  const [key] = keys;
  if (key === undefined) {
    bytes.set(packed, headBytes);
    bytes.set(digest(name, packed), tagAt);
    return bytes;
  }
  bytes[modeAt] = 1;
  bytes.set(fingerprint(key), fingerprintAt);
  const vector = randomBytes(12);
  bytes.set(vector, vectorAt);
  const cipher = createCipheriv("aes-256-gcm", key, vector);
  cipher.setAAD(new TextEncoder().encode(name));
  bytes.set(cipher.update(packed), headBytes);
  cipher.final();
  bytes.set(cipher.getAuthTag(), tagAt);
  return bytes;
}

/**
 * @param options `acceptsPlain`: with keys, objects that aren't encrypted are rejected, since anyone may have written them.
 * @throws {DamagedObject}
 */
export function unseal(
  name: string,
  bytes: Uint8Array,
  keys: EncryptionKeys,
  { acceptsPlain = keys.length === 0 } = {},
): Uint8Array {
  if (bytes.length < headBytes || magic.some((byte, n) => bytes[n] !== byte)) {
    throw new DamagedObject(name, "is cut off or not a part of a backup");
  }
  const packed = bytes.subarray(headBytes);
  if (bytes[modeAt] === 0) {
    if (!acceptsPlain) throw new DamagedObject(name, "isn't encrypted, but BACKUP_ENCRYPTION_KEY is set");
    const sum = digest(name, packed);
    if (sum.some((byte, n) => bytes[tagAt + n] !== byte)) throw new DamagedObject(name, "is damaged");
    return zstdDecompressSync(packed);
  }
  const used = bytes.subarray(fingerprintAt, vectorAt);
  const key = keys.find((one) => fingerprint(one).every((byte, n) => byte === used[n]));
  if (key === undefined) {
    const given = keys.length === 0
      ? "BACKUP_ENCRYPTION_KEY is not set"
      : "BACKUP_ENCRYPTION_KEY has other keys";
    throw new DamagedObject(name, `is encrypted with key ${Buffer.from(used).toString("hex")}; ${given}`);
  }
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(vectorAt, tagAt));
  decipher.setAAD(new TextEncoder().encode(name));
  decipher.setAuthTag(bytes.subarray(tagAt, tagAt + tagBytes));
  try {
    const decrypted = decipher.update(packed);
    decipher.final();
    return zstdDecompressSync(decrypted);
  } catch {
    throw new DamagedObject(name, "is damaged");
  }
}

/** Tells keys apart without giving anything away about them. */
function fingerprint(key: Uint8Array): Uint8Array {
  return createHash("sha256").update("gatehouse backup key ").update(key).digest().subarray(0, 8);
}

function digest(name: string, packed: Uint8Array): Uint8Array {
  return createHash("sha256").update(`${name}\n`).update(packed).digest();
}

/** Returns the hash by which the next segment names this object. */
export function hashOf(sealed: Uint8Array): string {
  return createHash("sha256").update(sealed).digest("hex");
}
