// Warns of misspelled settings. The program would ignore them without a word.
import leven from "leven";
import { fileSetting, secrets, type Settings, settings } from "../../config.ts";
import { type CheckResult, resultsOf } from "../../domain/check_result.ts";

const known = [...Object.keys(settings), ...secrets.map(fileSetting)];
/** Shorter names resemble too many others, as PORT and HOST resemble HOME. */
const nameCharactersMin = 7;
/** In shorter names, a different letter may well be another word. */
const typoCharactersMin = 11;
const typosMax = 2;

/** @returns A warning for each variable that resembles a setting, if that setting itself is not set. */
export function checkSettingNames(environment: Settings): CheckResult[] {
  const isSet = (name: string) => (environment[name] ?? "").trim() !== "";
  return Object.keys(environment).filter((name) => isSet(name) && !known.includes(name)).flatMap((name) => {
    const meant = known.find((setting) =>
      setting.length >= nameCharactersMin && !isSet(setting) && resembles(name, setting)
    );
    return meant === undefined ? [] : resultsOf(name).warning(
      "There is no setting with this name.",
      `If it is for Gatehouse, rename it to ${meant}.`,
    );
  });
}

/** Ignores our prefix, case, separators and plurals, and allows for typos in long names. */
function resembles(name: string, setting: string): boolean {
  const [given, wanted] = [name, setting].map((text) =>
    text.toUpperCase().replace(/^GATEHOUSE_/, "").replaceAll(/[^A-Z]/g, "").replace(/IES$/, "Y").replace(
      /S$/,
      "",
    )
  ) as [string, string];
  return given === wanted ||
    (wanted.length >= typoCharactersMin && leven(given, wanted, { maxDistance: typosMax + 1 }) <= typosMax);
}
