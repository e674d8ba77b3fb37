// The rules on texts. Brackets such as [k] keep the patterns from finding themselves.
import { findingAt, type Rule, type Rules } from "./source.ts";

const any = /./;
const registries =
  "registry.npmj[s].org registry.yarnpk[g].com js[r].io deno.lan[d]/x esm.s[h] cdn.jsdeliv[r].net " +
  "unpk[g].com pyp[i].org pythonhoste[d].org crate[s].io proxy.golan[g].org artifactor[y]";
const registry = registries.replaceAll(".", "\\.").replaceAll(" ", "|");

export const textRules: Rules = {
  "no file is longer than 400 lines": textRule(
    /\.tsx?$/,
    /^(.*\n){400}(?=.|\n)/g,
    "is longer: split it by its nouns",
  ),
  "no file is called utils": textRule(/(^|[/_.-])utils?[_.-][^/]*$/i, /^/g, "hides a missing noun"),
  "every source file opens with a comment": (files) => [
    ...textRule(/\.(tsx?|js)$/, /^(?!\/[/*])/g, "does not say what it is for")(files),
    ...textRule(/\.css$/, /^(?!\/\*)/g, "does not say what it is for")(files),
    ...textRule(/\.sql$/, /^(?!--|\/\*)/g, "does not say what it is for")(files),
  ],
  "texts are in plain English": textRule(
    /\.(tsx?|js|css|md|sh)$|^denow$|^\.ci\//,
    /\b(whoeve[r]|whateve[r]|somebod[y]|ane[w]|once mor[e]|for goo[d]|of no us[e]|one'[s] own|makes? a ke[y])\b/gi,
    "is not what a native speaker would write here",
  ),
  // As Go's do. Descriptions of the API, from which packages/client/src/api.ts is made, may name facts.
  "docstrings say what their subject does": textRule(
    /^(?!(tests|smoke|bench|docs|examples|static)\/|packages\/.*\/api\.ts$).*\.tsx?$/,
    /(?<=\/\*\*[\s*]*)(What|Which|Whether|Who|How|The same)\b(?=(?:[^*]|\*(?!\/))*\*\/)|@returns (What|Whether|The same)\b/g,
    "begins a noun clause: begin with a verb, or “True if”",
  ),
  "code has no reminders": textRule(
    /\.(tsx?|js|css|sql|sh)$|^denow$|^\.ci\//,
    /\b(TOD[O]|FIXM[E]|XX[X])\b/g,
    "is left: do it, or write an issue",
  ),
  // The formatter of Markdown joins both sides into one paragraph, so marks are found within lines too.
  "no file has the marks of a merge": textRule(any, /(<{7}|>{7}) \S/g, "is left: choose a side"),
  "no file names a folder of one machine": textRule(
    any,
    /(?<![\w.~-]|(?<!:\/)\/)\/(wor[k]|roo[t]|hom[e]\/[a-z][\w-]*|User[s]\/\w+)\//g,
    "is a folder of one machine",
  ),
  "no file names the host of a package registry": textRule(
    any,
    new RegExp(`\\b(${registry})\\b|://(npm|registry)[.-][\\w.-]+`, "gi"),
    "is the host of a registry",
  ),
  "the lock file has no address": textRule(
    /^deno\.lock$/,
    /https?:\/\/[^\s"/]+/g,
    "is not the default registry",
  ),
};

/** @returns The rule that no text of the files with certain paths matches a global pattern. */
function textRule(paths: RegExp, pattern: RegExp, message: string): Rule {
  return (files) =>
    files.filter(({ path }) => paths.test(path)).flatMap((file) =>
      [...file.text.matchAll(pattern)].map(({ 0: match, index }) =>
        findingAt(file, index, /^.+$/.test(match) ? `${match} ${message}` : message)
      )
    );
}
