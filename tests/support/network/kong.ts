// Runs functions of Kong's plugins `pre-function` and `http-log` with the functions of Kong that they may call, as its sandbox and
// its source code (kong/pdk/request.lua, service/request.lua and log.lua of Kong 3) have them. Lua is that of the npm package wasmoon.
import { createRequire } from "node:module";
import { cachedPackage } from "../database/sqld.ts";

interface Lua {
  readonly global: { set(name: string, value: unknown): void; close(): void };
  doString(code: string): Promise<unknown>;
}

/** A request as Kong's functions see it. Names of headers are in lower case, as nginx has them. */
export interface KongRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Of the log entry, besides the request's. */
  readonly entry?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface KongOutcome {
  /** The headers of the request that go on to the application, or null. */
  readonly headers: Record<string, string>;
  /** The response that ended the request, or null. */
  readonly exit: { readonly status: number; readonly body: Record<string, unknown> } | null;
  /** The log entry that `http-log` sends. */
  readonly entry: Record<string, unknown>;
}

/** What the sandbox has of Lua's own library (kong/tools/sandbox/environment/lua.lua), and Kong's functions. */
const prelude = `
local function json_decode(text) return assert(load("return " .. lua_literal(text)))() end
local headers, exited = json_decode(given_headers), nil
local function copy() local all = {} for name, value in pairs(headers) do all[name] = value end return all end
local edits = {}
local kong = {
  request = {
    get_headers = function(max) return copy(), is_truncated and "truncated" or nil end,
    get_header = function(name) return headers[name:lower()] end,
  },
  service = { request = {
    clear_header = function(name) headers[name:lower()] = nil end,
    set_header = function(name, value) headers[name:lower()] = value end,
  } },
  response = { exit = function(status, body) exited = { status = status, body = json_encode(body) } error("exit") end },
  vault = { get = function(reference) return vault_get(reference) end },
  log = {
    serialize = function()
      local root = json_decode(entry_json)
      root.request.headers = copy()
      for _, edit in ipairs(edits) do root[edit[1]] = edit[2] end
      return root
    end,
    set_serialize_value = function(key, value) edits[#edits + 1] = { key, value } end,
  },
}
local modules = {
  ["cjson.safe"] = { encode = function(value) return json_encode(value) end, decode = function(text) return json_decode(text) end },
  ["resty.http"] = { new = function() return {
    set_timeout = function() end,
    request_uri = function(_, uri, options)
      local response = json_decode(http_request(uri, json_encode(options)):await())
      if response.status == 0 then return nil, "connection refused" end
      return response
    end,
  } end },
}
local environment = {
  kong = kong, pairs = pairs, ipairs = ipairs, type = type, tostring = tostring, tonumber = tonumber, error = error, pcall = pcall,
  string = string, math = math, table = table, os = { date = os.date, time = os.time },
  require = function(name) return assert(modules[name], name .. " is not allowed in the sandbox") end,
}
environment._G = environment
local run = assert(load(code, "function", "t", environment))
local ok, result = pcall(function()
  local inner = run()
  if type(inner) == "function" then inner() end
end)
if not ok and exited == nil then error(result) end
return json_encode({ headers = copy(), exit = exited or false, entry = kong.log.serialize() })
`;

/** @returns A value as Lua's source code has it, because Lua can't iterate over objects of JavaScript. */
function literalOf(value: unknown): string {
  if (value === null) return "nil";
  if (typeof value === "string") {
    const bytes = Array.from(new TextEncoder().encode(value), (byte) => `\\${String(byte).padStart(3, "0")}`);
    return `"${bytes.join("")}"`;
  }
  if (typeof value !== "object") return String(value);
  const members = Array.isArray(value)
    ? value.map(literalOf)
    : Object.entries(value).map(([name, one]) => `[${literalOf(name)}] = ${literalOf(one)}`);
  return `{ ${members.join(", ")} }`;
}

/** Runs one function. @throws If it calls what the sandbox doesn't have, or fails in another way. */
export async function runInKong(code: string, request: KongRequest): Promise<KongOutcome> {
  const require = createRequire(import.meta.url);
  const { LuaFactory } = require(`${await cachedPackage("wasmoon", "1.16.0")}/dist/index.js`);
  const lua: Lua = await new LuaFactory().createEngine({ injectObjects: false });
  const { headers, entry = {}, environment = {} } = request;
  const set = (name: string, value: unknown) => lua.global.set(name, value);
  set("code", code);
  set("given_headers", JSON.stringify(headers));
  set("is_truncated", Object.keys(headers).length > 1_000);
  set("entry_json", JSON.stringify({ request: { id: "", headers: {} }, ...entry }));
  set("json_encode", (value: unknown) => JSON.stringify(value));
  set("vault_get", (reference: string) => {
    const name = /^\{vault:\/\/env\/([\w-]+)\}$/.exec(reference)?.[1] ?? "";
    return environment[name.toUpperCase().replaceAll("-", "_")];
  });
  set("http_request", async (uri: string, options: string) => {
    const { method, headers, body } = JSON.parse(options);
    const response = await fetch(uri, { method, headers, body }).catch(() => null);
    return JSON.stringify(
      response === null ? { status: 0 } : { status: response.status, body: await response.text() },
    );
  });
  set("lua_literal", (text: string) => literalOf(JSON.parse(text)));
  try {
    const { exit, ...rest } = JSON.parse(await lua.doString(prelude) as string);
    return { ...rest, exit: exit === false ? null : { status: exit.status, body: JSON.parse(exit.body) } };
  } finally {
    lua.global.close();
  }
}
