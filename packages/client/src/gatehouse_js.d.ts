// Types the import of /gatehouse.js from any address.
declare module "*/gatehouse.js" {
  export * from "@gatehouse/client/browser";
}
