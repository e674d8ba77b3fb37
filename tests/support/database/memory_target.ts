// A target of continuous backups in memory.
import type { Target } from "../../../db/engine/stream/target.ts";

export function targetInMemory() {
  const objects = new Map<string, Uint8Array>();
  const target: Target = {
    put: (name, bytes) => Promise.resolve(void objects.set(name, bytes)),
    get: (name) => {
      const bytes = objects.get(name);
      return Promise.resolve(bytes === undefined ? null : { bytes, ageMs: 0 });
    },
    list: (prefix, { after = "" } = {}) =>
      Promise.resolve(
        [...objects].filter(([name]) => name.startsWith(prefix) && name > after).sort()
          .map(([name, { length: bytes }]) => ({ name, bytes })),
      ),
    remove: (name) => Promise.resolve(void objects.delete(name)),
  };
  return { target, objects };
}
