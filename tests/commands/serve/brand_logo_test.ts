// The file of BRAND_LOGO is checked before the server starts.
import assert from "node:assert/strict";
import { withLogo } from "../../../commands/serve/brand_logo.ts";
import { SettingsError } from "../../../commands/settings.ts";

Deno.test("withLogo() replaces a path by what is kept of the logo, and rejects other files", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gatehouse-logo-" });
  try {
    const path = `${folder}/logo.svg`;
    await Deno.writeTextFile(path, '<svg viewBox="0 0 1 1"><script>x()</script><path d="M0 0"/></svg>');
    const settings = await withLogo({ BRAND_LOGO: path, PORT: "1" }, path);
    const [, text = ""] = /^data:image\/svg\+xml;base64,(.*)$/.exec(settings["BRAND_LOGO"] ?? "") ?? [];
    assert.match(new TextDecoder().decode(Uint8Array.fromBase64(text)), /<path d="M0 0"><\/path><\/svg>$/);
    assert.equal(settings["PORT"], "1");
    assert.deepEqual(await withLogo({ PORT: "1" }, undefined), { PORT: "1" });
    await Deno.writeTextFile(path, "GIF89a");
    const wrong = { [path]: /neither/, [`${folder}/none.svg`]: /cannot read/, [folder]: /cannot read/ };
    for (const [file, reason] of Object.entries(wrong)) {
      await assert.rejects(withLogo({ BRAND_LOGO: file }, file), (error) => {
        assert.ok(error instanceof SettingsError && error.message.startsWith("BRAND_LOGO: "), file);
        return reason.test(error.message);
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
