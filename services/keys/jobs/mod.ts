// Jobs of the reports thread on keys. They only read.
export { type KeyListQuery, readKeyList } from "./api_key_list.ts";
