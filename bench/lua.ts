// Generates the Lua script that tells wrk what to send. A request without random keys is created once. Otherwise wrk's
// compiled Lua writes keys into a copy of the request, which takes 0.1 ms for the 1,000 keys of a batch.

/** A request to send repeatedly. */
export interface LoadRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each {@linkcode keyPlace} in it is replaced by a new random UUID. */
  readonly body?: string;
  /** Lua that replaces wrk's functions. */
  readonly script?: string;
}

/** Placeholder for a random UUID (version 4) in a body. */
export const keyPlace = "00000000-0000-4000-8000-000000000000";

/** @returns A script for `wrk -s`. */
export function luaScript({ method, headers, body = "", script }: Omit<LoadRequest, "url">): string {
  const lines = [
    `wrk.method = "${method}"`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers["${name}"] = [==[${value}]==]`),
    ...(body === "" ? [] : [`wrk.body = [==[${body}]==]`]),
    ...(body.includes(keyPlace) ? [keysScript] : []),
    ...(script === undefined ? [] : [script]),
  ];
  return lines.join("\n");
}

const keysScript = `
local ffi = require("ffi")
local bit = require("bit")
local band, rshift, lshift, bxor = bit.band, bit.rshift, bit.lshift, bit.bxor
local digits = ffi.new("uint8_t[16]", { string.byte("0123456789abcdef", 1, 16) })
-- Which characters of a UUID are random: not the hyphens, the version and the variant.
local random = ffi.new("int32_t[30]")
local count = 0
for n = 0, 35 do
  if n ~= 8 and n ~= 13 and n ~= 14 and n ~= 18 and n ~= 19 and n ~= 23 then
    random[count] = n
    count = count + 1
  end
end
local a, b, c, d = 1, 2, 3, 4
local buffer, length, places, keys

local function nextRandom()
  local t = bxor(a, lshift(a, 11))
  a, b, c = b, c, d
  d = bxor(bxor(d, rshift(d, 19)), bxor(t, rshift(t, 8)))
  return d
end

function init()
  local source = assert(io.open("/dev/urandom", "rb"))
  local seed = ffi.new("int32_t[4]")
  ffi.copy(seed, source:read(16), 16)
  source:close()
  a, b, c, d = seed[0], seed[1], seed[2], seed[3]
  local text = wrk.format()
  length = #text
  buffer = ffi.new("uint8_t[?]", length)
  ffi.copy(buffer, text, length)
  local found = {}
  local at = 1
  while true do
    local first, last = string.find(text, "${keyPlace}", at, true)
    if first == nil then break end
    found[#found + 1] = first - 1
    at = last + 1
  end
  keys = #found
  places = ffi.new("int32_t[?]", keys, found)
end

function request()
  for key = 0, keys - 1 do
    local place = places[key]
    local bits = 0
    for n = 0, 29 do
      if n % 8 == 0 then bits = nextRandom() end
      buffer[place + random[n]] = digits[band(bits, 15)]
      bits = rshift(bits, 4)
    end
  end
  return ffi.string(buffer, length)
end`;
