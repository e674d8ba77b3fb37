// Warns about misspelled settings, which the program would silently ignore.
import leven from "leven";
import { fileSetting, secrets, type Settings, settings } from "../../config.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";

const known = [...Object.keys(settings), ...secrets.map(fileSetting)];
/** Shorter names match only plurals: they resemble too many others, as PORT and HOST resemble HOME. */
const nameCharactersMin = 7;
/** In shorter names, a different letter may well be another word. */
const typoCharactersMin = 11;
const typosMax = 2;

const synonyms = [
  ["URL", "URI", "DSN"],
  ["DIR", "FOLDER", "PATH"],
  ["DATABASE", "DB"],
  ["MAIL", "EMAIL", "SMTP"],
  ["TOKEN", "KEY", "SECRET", "PASSWORD"],
  ["KEEP", "RETAIN", "RETENTION"],
  ["THREAD", "WORKER"],
  ["TIMEZONE", "TZ"],
] as const;
/** Shorter words begin too many others. */
const wordCharactersMin = 3;

/** Warns about each variable that resembles a setting. */
export function checkSettingNames(environment: Settings): CheckResult[] {
  const isSet = (name: string) => (environment[name] ?? "").trim() !== "";
  return Object.keys(environment).filter((name) => isSet(name) && !known.includes(name)).flatMap((name) => {
    const meant = known.find((setting) => resembles(name, setting));
    return meant === undefined ? [] : resultsOf(name).warning(
      "There is no setting with this name.",
      `If it is for Gatehouse, ${isSet(meant) ? "remove it:" : "rename it to"} ${meant}${
        isSet(meant) ? " is set" : ""
      }.`,
    );
  });
}

/** Ignores our prefix, case, separators and plurals, allows for other words, and in long names for typos. */
function resembles(name: string, setting: string): boolean {
  if (setting.length < nameCharactersMin) return name.toUpperCase() === `${setting}S`;
  const [givenWords, wantedWords] = [wordsOf(name), wordsOf(setting)];
  const [given, wanted] = [givenWords.join(""), wantedWords.join("")];
  const isReworded = givenWords.length === wantedWords.length &&
    givenWords.every((word, n) => isSameWord(word, wantedWords[n] ?? ""));
  return given === wanted || isReworded ||
    (wanted.length >= typoCharactersMin && leven(given, wanted, { maxDistance: typosMax + 1 }) <= typosMax);
}

/** Returns the words of a name in the singular. */
function wordsOf(name: string): string[] {
  return name.toUpperCase().replace(/^GATEHOUSE_/, "").split(/[^A-Z]+/)
    .map((word) => word.replace(/IES$/, "Y").replace(/S$/, "")).filter((word) => word !== "");
}

/** True for synonyms, and for a word and its abbreviation, such as DIRECTORY and DIR. */
function isSameWord(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return (short.length >= wordCharactersMin && long.startsWith(short)) || one === other ||
    synonyms.some((group) => [one, other].every((word) => (group as readonly string[]).includes(word)));
}
