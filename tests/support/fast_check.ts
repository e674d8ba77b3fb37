// The library for property tests. Test dependencies are not in deno.json: what is there goes into the compiled binary.
export { default } from "npm:fast-check@4.10.2";
