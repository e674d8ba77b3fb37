// The types of the client are those of the OpenAPI document.
import assert from "node:assert/strict";
import { clientTypes, clientTypesPath } from "../support/client/types.ts";

const root = new URL("../../", import.meta.url);

Deno.test("the generated types are those of the OpenAPI document", async () => {
  const written = await Deno.readTextFile(new URL(clientTypesPath, root));
  assert.ok(
    written === await clientTypes(),
    `${clientTypesPath} is outdated. Run \`./denow task client:types\`.`,
  );
});

/** Fails to compile unless each type is assignable to the other. The browser's type also says which fields come together. */
const comparison = `
import type { SessionUser as Documented } from "./documented.ts";
import type { SessionUser } from "${root}packages/client/src/browser.d.ts";

type Written = { readonly [Field in keyof SessionUser]: SessionUser[Field] };
type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false;
export const isSame: Same<Written, Documented> = true;
export const isSameUser: Same<NonNullable<Written["user"]>, NonNullable<Documented["user"]>> = true;
export const areSameMemberships: Same<Written["memberships"][number], Documented["memberships"][number]> = true;
`;

Deno.test("the browser client's SessionUser is that of the OpenAPI document", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-types-" });
  try {
    const documented = await clientTypes(["SessionUser"]);
    const check = async (text: string) => {
      await Deno.writeTextFile(`${folder}/documented.ts`, text);
      await Deno.writeTextFile(`${folder}/comparison.ts`, comparison);
      const args = ["check", "--no-config", "--no-lock", "comparison.ts"];
      const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder }).output();
      return success ? "same" : new TextDecoder().decode(stderr);
    };
    assert.equal(await check(documented), "same");
    const changed = documented.replace("readonly email: string", "readonly email: string | null");
    assert.match(await check(changed), /isSameUser/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
