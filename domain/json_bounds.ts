// Checks bounds on the shape of a JSON text before it is parsed. Parsing many names, and listing the unknown ones, costs far more
// than reading each character once.
import { AppError, validationError } from "./errors.ts";
import { jsonDepthMax, jsonValuesMax, objectKeysMax } from "./limits.ts";

const quote = 0x22, backslash = 0x5c, comma = 0x2c, colon = 0x3a;
const openArray = 0x5b, closeArray = 0x5d, openObject = 0x7b, closeObject = 0x7d;

/** An array or object that contains the current position. */
interface Container {
  readonly isArray: boolean;
  count: number;
  /** Start and end of the last name, including quotes. */
  nameStart: number;
  nameEnd: number;
}

/**
 * Checks the depth, the number of names in each object and the number of values. The parser checks the rest.
 *
 * @param bounds `depthMax`, `namesMax`: others than those of bodies.
 * @throws {AppError} `malformed_request` for too many levels, `validation_failed` for too many names or values.
 */
export function checkJsonBounds(
  text: string,
  { depthMax = jsonDepthMax, namesMax = objectKeysMax }: { depthMax?: number; namesMax?: number } = {},
): void {
  const open: Container[] = [];
  let inner: Container | undefined;
  let values = 0;
  let stringStart = 0;
  let stringEnd = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      stringStart = at;
      at = endOfString(text, at);
      stringEnd = at + 1;
    } else if (code === comma) {
      values++;
      if (inner?.isArray) inner.count++;
    } else if (code === colon && inner !== undefined && !inner.isArray) {
      if (++inner.count > namesMax) {
        throw validationError([{
          path: pathOf(text, open),
          message: `must have at most ${namesMax} names.`,
        }]);
      }
      inner.nameStart = stringStart;
      inner.nameEnd = stringEnd;
    } else if (code === openObject || code === openArray) {
      values++;
      if (open.length === depthMax) {
        throw new AppError(
          "malformed_request",
          `The body must have at most ${depthMax} levels of nesting.`,
        );
      }
      inner = { isArray: code === openArray, count: 0, nameStart: 0, nameEnd: 0 };
      open.push(inner);
    } else if (code === closeObject || code === closeArray) {
      open.pop();
      inner = open.at(-1);
    }
    if (values > jsonValuesMax) {
      throw validationError([{ path: "", message: `must have at most ${jsonValuesMax} values in total.` }]);
    }
  }
}

/** Returns the position of the closing quote, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === backslash) before--;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}

/** Returns the path of the innermost object, such as `records[17].properties`. */
function pathOf(text: string, open: readonly Container[]): string {
  let path = "";
  for (const { isArray, count, nameStart, nameEnd } of open.slice(0, -1)) {
    path = isArray ? `${path}[${count}]` : joinPath(path, text.slice(nameStart + 1, nameEnd - 1));
  }
  return path;
}

/** Returns a path such as `records[17].quantity`. The name is cut, and safe to print. */
export function joinPath(path: string, name: string): string {
  const safe = name.toWellFormed().replaceAll(/\p{Cc}/gu, "�").slice(0, 100);
  return path === "" ? safe : `${path}.${safe}`;
}
