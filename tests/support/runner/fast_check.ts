// The property testing library. Test dependencies stay out of deno.json, because its imports go into the compiled binary.
// deno-lint-ignore no-import-prefix
import fc from "npm:fast-check@4.10.2";
import { runSeed } from "./extent.ts";

fc.configureGlobal({ seed: runSeed });

export default fc;
