// The property testing library. Test dependencies stay out of deno.json, because its imports go into the compiled binary.
export { default } from "npm:fast-check@4.10.2";
