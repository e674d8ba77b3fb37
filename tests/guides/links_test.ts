// The links and the file names in README.md, CHANGELOG.md, CONTRIBUTING.md and docs/: all of them exist.
import assert from "node:assert/strict";

const root = new URL("../../", import.meta.url);

/** @returns The paths of all documents, relative to the repository. */
function documents(): string[] {
  const pages = ["docs/", "docs/decisions/"].flatMap((folder) =>
    [...Deno.readDirSync(new URL(folder, root))].map(({ name }) => folder + name)
  );
  return ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", ...pages.filter((path) => path.endsWith(".md"))];
}

function exists(url: URL): boolean {
  try {
    Deno.statSync(url);
    return true;
  } catch {
    return false;
  }
}

/** @returns The text without code blocks. */
function prose(url: URL): string {
  return Deno.readTextFileSync(url).replaceAll(/^( *)(`{3,})[^\n]*\n[\s\S]*?^ *\2$/gm, "");
}

/** @returns The anchors that GitHub gives to a document's headings. */
function anchors(url: URL): string[] {
  return [...prose(url).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}_ -]/gu, "").replaceAll(" ", "-")
  );
}

Deno.test("every relative link in a document leads to a file, and to a heading in it", () => {
  const broken = documents().flatMap((path) => {
    const from = new URL(path, root);
    return [...prose(from).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
      const to = new URL(link, from);
      const anchor = to.hash.slice(1);
      const isFound = exists(to) && (anchor === "" || anchors(to).includes(anchor));
      return isFound ? [] : [`${path}: ${link}`];
    });
  });
  assert.deepEqual(broken, []);
});

Deno.test("every file that a document names exists", () => {
  const form =
    /`((?:bench|commands|db|docs|domain|examples|packaging|routes|services|tests|views)\/[\w./-]+)`/g;
  const missing = documents().flatMap((path) =>
    [...prose(new URL(path, root)).matchAll(form)].map(([, name = ""]) => name)
      .filter((name) => !name.includes("NNNN") && !exists(new URL(name, root)))
      .map((name) => `${path}: ${name}`)
  );
  assert.deepEqual(missing, []);
});
