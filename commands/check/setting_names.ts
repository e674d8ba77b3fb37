// Settings that nobody reads, because their name is written otherwise: the program starts without a word, and does not do
// what was meant.
import { fileSetting, secrets, type Settings, settings } from "../../config.ts";
import type { Finding } from "../../domain/check_result.ts";

const known = [...Object.keys(settings), ...secrets.map(fileSetting)];
/** Shorter names are near to too many others, such as PORT and HOST to HOME. */
const lengthMin = 7;

/**
 * @param environment Every name with its value.
 * @returns A warning for each name that is nearly a setting's, while the setting itself is not there.
 */
export function strangeNameFindings(environment: Settings): Finding[] {
  const isSet = (name: string) => (environment[name] ?? "").trim() !== "";
  return Object.keys(environment).filter((name) => isSet(name) && !known.includes(name)).flatMap((name) => {
    const meant = known.find((setting) =>
      setting.length >= lengthMin && !isSet(setting) && isNearly(name, setting)
    );
    return meant === undefined ? [] : [
      {
        about: name,
        verdict: "warning",
        saw: "Nothing reads a setting of this name.",
        advice: `If it is meant for this program, call it ${meant}.`,
      } as const,
    ];
  });
}

/** A prefix of ours, another case, other separators, singular for plural, or a slip of the finger or two. */
function isNearly(name: string, setting: string): boolean {
  const bare = (text: string) => text.toUpperCase().replace(/^GATEHOUSE_/, "").replaceAll(/[^A-Z]/g, "");
  const singular = (text: string) => text.replace(/IES$/, "Y").replace(/S$/, "");
  const [one, other] = [singular(bare(name)), singular(bare(setting))];
  if (one === other) return true;
  return other.length > 10 && slips(one, other) <= 2;
}

/** @returns How many letters have to be put in, taken out or changed to make one text of the other (Levenshtein). */
function slips(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= other.length; at++) {
      const changed = (row[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
