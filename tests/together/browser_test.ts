// All tests in a browser, which share it.
import { defineFolder } from "../support/runner/together.ts";

await defineFolder("browser/");
