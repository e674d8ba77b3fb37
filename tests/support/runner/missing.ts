// Kept until every test uses needs.ts.
import { basename } from "node:path";
import { isMissing, type Need } from "./needs.ts";

export const programsMissing = (...names: readonly string[]): boolean =>
  isMissing(...names.map((name) => basename(name) as Need));
export const pythonPackageMissing = (name: string): boolean => isMissing(`python3-${name}` as Need);
