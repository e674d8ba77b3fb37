// What a disk has of the files that a program under strace has written: now, and after a loss of power at any moment. What wasn't
// synced may be lost: each write to a file for itself, and names in the order in which they were given.
import assert from "node:assert/strict";
import { dirname, resolve } from "node:path";
import type { Random } from "../runner/random.ts";
import { type TracedCall, tracedCalls } from "./system_calls.ts";

const calls =
  "openat,mkdir,mkdirat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat2,unlink,unlinkat";

/** A wrapper command that writes to a file what a program writes. It has ended, and the file is complete, when the output has ended. */
export function throughDiskTrace(file: string): string[] {
  const flags = ["-D", "-f", "-y", "-ttt", "-xx", "-qq", "--seccomp-bpf", "-s", "1000000000"];
  return ["strace", ...flags, "-e", `trace=${calls}`, "-e", "signal=none", "-o", file];
}

/** A change, or a sync. */
export interface DiskCall {
  readonly kind: "create" | "folder" | "write" | "truncate" | "sync" | "rename" | "remove";
  readonly path: string;
  /** The new name. */
  readonly to: string;
  /** Where it was written, or the new size. */
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly began: number;
  readonly ended: number;
  readonly time: number;
}

/** Reads a trace. @param options `cwd`: of the program. `root`: only of files in this folder, without SQLite's shared memory. */
export async function readDiskTrace(
  file: string,
  { cwd, root }: { cwd: string; root: string },
): Promise<DiskCall[]> {
  const lines = (await Deno.readTextFile(file)).split("\n");
  // By path: Deno writes with copies of a descriptor.
  const positions = new Map<string, number>();
  return tracedCalls(lines).flatMap((call) => diskCall(call, { cwd, positions })).filter(({ path }) =>
    path.startsWith(`${root}/`) && !path.endsWith("-shm")
  );
}

function diskCall(
  { name, given, result, began, ended, time }: TracedCall,
  { cwd, positions }: { cwd: string; positions: Map<string, number> },
): DiskCall[] {
  const [, ofFd = ""] = /^\d+<([^>]*)>/.exec(given) ?? [];
  const [, ofOpened = ""] = /^\d+<([^>]*)>$/.exec(result) ?? [];
  const numbers = given.split(", ").filter((part) => /^\d+$/.test(part)).map(Number);
  const make = (kind: DiskCall["kind"], path: string, more: Partial<DiskCall> = {}): DiskCall[] => [
    { kind, path: resolve(cwd, path), to: "", at: 0, bytes: new Uint8Array(), began, ended, time, ...more },
  ];
  const texts = () => [...given.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => bytesOf(text));
  const words = () => texts().map((bytes) => resolve(cwd, new TextDecoder().decode(bytes)));
  const path = pathOf(ofFd);
  if (name === "openat") {
    positions.set(pathOf(ofOpened), 0);
    if (!given.includes("O_CREAT")) return [];
    return make("create", pathOf(ofOpened), { at: given.includes("O_TRUNC") ? 0 : Infinity });
  }
  if (name === "write") {
    const at = positions.get(path) ?? 0;
    positions.set(path, at + Number(result));
    return path.startsWith("/")
      ? make("write", path, { at, bytes: texts()[0]!.subarray(0, Number(result)) })
      : [];
  }
  if (name === "pwrite64") {
    return make("write", path, { at: numbers.at(-1)!, bytes: texts()[0]!.subarray(0, Number(result)) });
  }
  if (name === "ftruncate") return make("truncate", path, { at: numbers.at(-1)! });
  if (name.endsWith("sync")) return make("sync", path);
  const [first = "", second = ""] = words();
  if (name.startsWith("mkdir")) return make("folder", first);
  return name.startsWith("rename") ? make("rename", first, { to: second }) : make("remove", first);
}

/** Decodes a text that strace printed with `-xx`. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 4);
  for (let n = 0; n < bytes.length; n++) bytes[n] = parseInt(text.slice(n * 4 + 2, n * 4 + 4), 16);
  return bytes;
}

function pathOf(text: string): string {
  return text.startsWith("\\x") ? new TextDecoder().decode(bytesOf(text)) : text;
}

/** A file or a folder, which may have several names one after the other. */
interface Node {
  readonly isFolder: boolean;
  /** On disk. */
  synced: Uint8Array;
  /** Made since the last sync. */
  changes: DiskCall[];
  /** The position in the trace at which it was last changed. */
  changedAt: number;
}

type Names = Map<string, Node>;

interface NameChange {
  readonly folders: readonly string[];
  readonly ended: number;
  readonly change: (names: Names) => void;
}

export class Disk {
  readonly #folders: readonly string[];
  readonly #names: Names = new Map();
  readonly #synced: Names = new Map();
  /** Changes of names that aren't on disk. */
  #changes: NameChange[] = [];

  /** @param folders That were there before. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
    for (const path of folders) {
      const node = newNode({ isFolder: true });
      for (const names of [this.#names, this.#synced]) names.set(path, node);
    }
  }

  /** Returns what happens to a disk, in order: the changes, as soon as they begin, and the syncs, which have an effect at their end. */
  static steps(calls: readonly DiskCall[]): DiskCall[] {
    const when = ({ kind, began, ended }: DiskCall) => kind === "sync" ? ended : began;
    return calls.toSorted((one, other) => when(one) - when(other));
  }

  apply(call: DiskCall): void {
    const { kind, path, to } = call;
    const node = this.#names.get(path);
    if (kind === "sync") {
      if (node !== undefined) this.#sync(node, call);
      if (node?.isFolder) this.#syncNames(path, call);
    } else if (kind === "folder") this.#give(call, newNode({ isFolder: true }));
    else if (kind === "create") {
      if (node === undefined) this.#give(call, newNode({ isFolder: false }));
      else if (call.at === 0) change(node, { ...call, kind: "truncate" });
    } else if (kind === "rename") {
      assert.ok(node, `${path} exists`);
      this.#change(call, (names) => {
        names.delete(path);
        names.set(to, node);
      });
    } else if (kind === "remove") this.#change(call, (names) => names.delete(path));
    else if (node !== undefined) change(node, call);
  }

  /** Returns the position in the trace at which a file was last changed; -1 if there is none. */
  changedAt(path: string): number {
    return this.#names.get(path)?.changedAt ?? -1;
  }

  /** True if all that was written to a file is on disk, by any name. */
  isSynced(path: string): boolean {
    return this.#names.get(path)?.changes.length === 0;
  }

  /** Returns the files that are on disk with all that was written to them, and with their names. */
  *durable(): Generator<[string, Uint8Array]> {
    for (const [path, node] of this.#synced) {
      if (!node.isFolder && node.changes.length === 0 && this.#isThere(path, this.#synced)) {
        yield [path, node.synced];
      }
    }
  }

  /** Returns the files that are left after a loss of power. */
  *afterCut(random: Random): Generator<[string, Uint8Array]> {
    const names = new Map(this.#synced);
    for (const { change } of this.#changes.slice(0, random.between(0, this.#changes.length))) change(names);
    for (const [path, node] of names) {
      if (node.isFolder || !this.#isThere(path, names)) continue;
      // All or nothing as often as a part.
      const share = random.pick([0, 0.5, 1]);
      yield [
        path,
        node.changes.reduce<Uint8Array>(
          (bytes, one) => random.chance(share) ? written(bytes, one) : bytes,
          node.synced.slice(),
        ),
      ];
    }
  }

  /** True if a name and those of the folders around it are there. */
  #isThere(path: string, names: Names): boolean {
    return this.#folders.includes(path) || (names.has(path) && this.#isThere(dirname(path), names));
  }

  #give(call: DiskCall, node: Node): void {
    this.#change(call, (names) => names.set(call.path, node));
  }

  #change({ path, to, ended }: DiskCall, change: (names: Names) => void): void {
    change(this.#names);
    const paths = to === "" ? [path] : [path, to];
    this.#changes.push({ folders: paths.map((name) => dirname(name)), ended, change });
  }

  #sync(node: Node, { began }: DiskCall): void {
    for (const one of node.changes.filter(({ ended }) => ended < began)) {
      node.synced = written(node.synced, one);
    }
    node.changes = node.changes.filter(({ ended }) => ended >= began);
  }

  #syncNames(folder: string, { began }: DiskCall): void {
    const isSynced = ({ folders, ended }: NameChange) => folders.includes(folder) && ended < began;
    for (const one of this.#changes) if (isSynced(one)) one.change(this.#synced);
    this.#changes = this.#changes.filter((one) => !isSynced(one));
  }
}

function newNode({ isFolder }: { isFolder: boolean }): Node {
  return { isFolder, synced: new Uint8Array(), changes: [], changedAt: -1 };
}

function change(node: Node, call: DiskCall): void {
  node.changes.push(call);
  node.changedAt = call.began;
}

function written(before: Uint8Array, { kind, at, bytes }: DiskCall): Uint8Array {
  const size = kind === "truncate" ? at : Math.max(before.length, at + bytes.length);
  let all = before;
  if (size !== before.length) {
    all = new Uint8Array(size);
    all.set(before.subarray(0, size));
  }
  if (kind === "write") all.set(bytes, at);
  return all;
}
