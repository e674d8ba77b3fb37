// A keyed permutation of the integers below 2^48, which makes a count opaque: Speck 48/96 (Beaulieu et al., "The SIMON and SPECK
// Families of Lightweight Block Ciphers", 2013), a block cipher of exactly this width.

const rounds = 23;
const half = 2 ** 24;
const mask = half - 1;

/** The form of a key: 96 bits in hexadecimal. */
const permutationKeyForm = /^[0-9a-f]{24}$/;

/** Creates the permutation of a key. @throws {Error} When it doesn't match {@linkcode permutationKeyForm}. */
export function createPermutation(key: string) {
  if (!permutationKeyForm.test(key)) {
    throw new Error("the key of a permutation must be 24 hexadecimal digits");
  }
  const keys = roundKeys(key);
  // `toString(16)` takes twenty times as long as the encryption.
  const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
  const hex24 = (word: number) =>
    `${digits[word >>> 16]}${digits[(word >>> 8) & 0xff]}${digits[word & 0xff]}`;
  return {
    /** Returns 12 hexadecimal digits. */
    hide(number: number): string {
      let x = Math.floor(number / half);
      let y = number % half;
      for (let i = 0; i < rounds; i++) {
        x = ((((x >>> 8) | (x << 16)) + y) & mask) ^ (keys[i] as number);
        y = (((y << 3) | (y >>> 21)) & mask) ^ x;
      }
      return hex24(x) + hex24(y);
    },
    /** @param hidden 12 hexadecimal digits. */
    reveal(hidden: string): number {
      let x = Number.parseInt(hidden.slice(0, 6), 16);
      let y = Number.parseInt(hidden.slice(6), 16);
      for (let i = rounds - 1; i >= 0; i--) {
        const mixed = x ^ y;
        y = ((mixed >>> 3) | (mixed << 21)) & mask;
        const left = ((x ^ (keys[i] as number)) - y) & mask;
        x = ((left << 8) | (left >>> 16)) & mask;
      }
      return x * half + y;
    },
  };
}

function roundKeys(key: string): Int32Array {
  const words = [0, 6, 12, 18].map((at) => Number.parseInt(key.slice(at, at + 6), 16)).reverse();
  const [first = 0, ...more] = words;
  const keys = new Int32Array(rounds);
  keys[0] = first;
  for (let i = 0; i < rounds - 1; i++) {
    const word = more[i] as number;
    const present = keys[i] as number;
    const next = ((((word >>> 8) | (word << 16)) + present) & mask) ^ i;
    more.push(next);
    keys[i + 1] = (((present << 3) | (present >>> 21)) & mask) ^ next;
  }
  return keys;
}
