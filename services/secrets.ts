// Secrets that must be read again, such as those of webhooks, as the database stores them: encrypted with AES-256-GCM, or as they are
// without SECRETS_KEY.
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";

/** A stored secret that can't be read. The message contains no secret. */
export class SecretsError extends Error {
  override name = "SecretsError";
}

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
/** The form of a secret that is stored as it is. */
const plainForm = "plain";

/**
 * Encrypts and decrypts stored secrets.
 *
 * A stored text has a form before its first colon: `plain:SECRET`, or `v1-FINGERPRINT:BASE64` with the nonce, the encrypted secret
 * and the tag. The fingerprint names the key.
 */
export class Secrets {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  /** The form in which {@linkcode seal} writes. */
  readonly #currentForm: string;

  /** @param keys Of 32 bytes, the newest first; none to store secrets as they are. */
  constructor(keys: readonly Uint8Array[]) {
    this.#keys = new Map(keys.map((key) => [`v1-${hash("sha256", key).slice(0, 16)}`, key]));
    this.#currentForm = this.#keys.keys().next().value ?? plainForm;
  }

  /** @param id The id of the row; no other row can {@linkcode open} the result. */
  seal(id: string, secret: string): string {
    const key = this.#keys.get(this.#currentForm);
    if (key === undefined) return `${plainForm}:${secret}`;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(id));
    const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${this.#currentForm}:${sealed.toString("base64")}`;
  }

  /** @throws {SecretsError} If the key is missing, or the text was changed or belongs to another row. */
  open(id: string, stored: string): string {
    const form = formOf(stored);
    const text = stored.slice(form.length + 1);
    if (form === plainForm) return text;
    const key = this.#keys.get(form);
    if (key === undefined) {
      throw new SecretsError(`SECRETS_KEY doesn't contain the key that encrypted the secret of ${id}`);
    }
    const sealed = Buffer.from(text, "base64");
    try {
      // Deno never closes a decipher whose tag was rejected.
      if (sealed.length < nonceBytes + tagBytes) throw new RangeError("too short");
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAAD(Buffer.from(id));
      decipher.setAuthTag(sealed.subarray(-tagBytes));
      const secret = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
      return Buffer.concat([secret, decipher.final()]).toString("utf8");
    } catch {
      throw new SecretsError(`the stored secret of ${id} was changed, or belongs to another row`);
    }
  }

  /** True if {@linkcode seal} would use the same key. Everything after the colon of the stored text may be missing. */
  isCurrent(stored: string): boolean {
    return formOf(stored) === this.#currentForm;
  }

  /** True if the key is known. Everything after the colon of the stored text may be missing. */
  canOpen(stored: string): boolean {
    const form = formOf(stored);
    return form === plainForm || this.#keys.has(form);
  }
}

function formOf(stored: string): string {
  return stored.slice(0, Math.max(0, stored.indexOf(":")));
}
