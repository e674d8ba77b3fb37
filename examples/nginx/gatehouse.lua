-- Verifies API keys with Gatehouse, holds what a request may use, and settles it with what was delivered.
local cjson = require "cjson.safe"

local gatehouse = {}
local host, port, token
-- The options of requests whose hold hasn't ended, by the id of the hold.
local holds = {}
-- Responses to a settlement that a repeat wouldn't change.
local final = { [400] = true, [404] = true, [409] = true, [413] = true, [422] = true }

-- Sets the address of Gatehouse, and the file with an operator token of the scope keys:verify.
function gatehouse.setup(options)
  host, port = options.host, options.port
  local file = assert(io.open(options.token_file))
  token = assert(file:read("*l"), "the file of the token is empty")
  file:close()
end

-- Returns the status and the JSON of a response, or nil and the problem.
local function post(path, body)
  local socket, text = ngx.socket.tcp(), cjson.encode(body)
  socket:settimeouts(1000, 10000, 10000)
  local is_connected, problem = socket:connect(host, port)
  if not is_connected then return nil, problem end
  -- HTTP/1.0: the response ends with the connection.
  socket:send {
    "POST ", path, " HTTP/1.0\r\nHost: ", host, "\r\nAuthorization: Bearer ", token,
    "\r\nContent-Type: application/json\r\nContent-Length: ", #text, "\r\n\r\n", text,
  }
  local response, failure = socket:receive("*a")
  socket:close()
  if not response then return nil, failure end
  local status, json = response:match("^HTTP/1%.%d (%d%d%d).-\r\n\r\n(.*)$")
  return tonumber(status), cjson.decode(json or "") or response
end

local function reject(status, code, message, more)
  more = more or {}
  local body = cjson.encode { error = { code = code, message = message, details = more.details } }
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.header["WWW-Authenticate"] = status == 401 and "Bearer" or nil
  ngx.header["Retry-After"] = more.retry_after
  ngx.header["Content-Length"] = #body
  ngx.print(body)
  return ngx.exit(ngx.HTTP_OK)
end

local function seconds_until(time)
  local year, month, day, hour, minute, second = time:match("(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  local there = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  return math.max(1, os.difftime(os.time(there), os.time(os.date("!*t"))) + 1)
end

-- Rejects usage that doesn't fit, with the limits that it doesn't fit into and when the last of them has room.
local function reject_usage(limits, usage)
  local exceeded, wait = {}, 1
  for _, limit in ipairs(limits) do
    local sum = 0
    for _, one in ipairs(usage) do
      local counts = (limit.productSlug == cjson.null or limit.productSlug == one.productSlug) and
        (limit.metric == cjson.null or limit.metric == one.metric)
      if counts then sum = sum + one.quantity end
    end
    local is_full = limit.mode == "cutoff" and limit.remaining == 0
    if is_full or limit.mode == "hard" and limit.remaining < sum then
      exceeded[#exceeded + 1] = limit
      if type(limit.heldUntil) == "string" then
        -- Most holds end before they expire.
        wait = math.max(wait, math.min(5, seconds_until(limit.heldUntil)))
      elseif limit.resetsAt == cjson.null then
        wait = math.huge
      else
        wait = math.max(wait, seconds_until(limit.resetsAt))
      end
    end
  end
  local message = "This usage exceeds a limit of your organization or of the API key."
  local retry_after = wait < math.huge and string.format("%d", wait) or nil
  return reject(429, "limit_exceeded", message, { details = exceeded, retry_after = retry_after })
end

local rejections = {
  ORGANIZATION_SUSPENDED = { 403, "organization_suspended", "This organization is suspended." },
  INSUFFICIENT_PERMISSIONS = { 403, "permission_missing", "This API key lacks a permission." },
  RATE_LIMITED = { 429, "rate_limited", "This API key has used up its requests of this second.", { retry_after = "1" } },
}
local invalid_key = { 401, "invalid_api_key", "Invalid or missing API key." }

-- Lets a request pass if its key works and the most that it may use has room.
--   product, bytes, seconds: what to hold. Either may be missing.
--   permissions: a list that the key must have.
--   expires_in: after how many seconds the hold frees its room. Settling works later, too. Default: 600.
--   passes_key: true if the application needs the key.
function gatehouse.admit(options)
  -- After an internal redirect, the request has its hold already.
  if ngx.var.gatehouse_hold ~= "" then return end
  local headers = ngx.req.get_headers(0)
  for name in pairs(headers) do
    if name:find("^remote") then ngx.req.clear_header(name) end
  end
  local authorization = headers["authorization"]
  local is_single = type(authorization) == "string" and #authorization <= 1024
  -- Imported keys may have any printable characters: the encoder escapes them.
  local key = is_single and authorization:match("^[Bb][Ee][Aa][Rr][Ee][Rr] +([!-~]+)$")
  if not key then return reject(unpack(invalid_key)) end
  local usage = {}
  for _, metric in ipairs { "bytes", "seconds" } do
    local one = { productSlug = options.product, metric = metric, quantity = options[metric] }
    if one.quantity then usage[#usage + 1] = one end
  end
  local status, answer = post("/api/v1/keys/verify", {
    key = key,
    address = ngx.var.remote_addr,
    permissions = options.permissions,
    usage = usage,
    hold = { expiresIn = options.expires_in or 600 },
  })
  if status == 429 then return reject(429, "hold_limit_reached", "Too many requests at a time.", { retry_after = "5" }) end
  if status ~= 200 or type(answer) ~= "table" then
    ngx.log(ngx.ERR, "Gatehouse can't verify keys: ", status, " ", type(answer) == "table" and cjson.encode(answer) or answer)
    return reject(503, "unavailable", "API keys can't be verified. Try again later.", { retry_after = "5" })
  end
  if answer.code == "USAGE_EXCEEDED" then return reject_usage(answer.limits, usage) end
  if not answer.valid then return reject(unpack(rejections[answer.code] or invalid_key)) end
  holds[answer.hold.id] = options
  ngx.var.gatehouse_hold = answer.hold.id
  ngx.req.set_header("Remote-Organization", answer.organization.id)
  ngx.req.set_header("Remote-Api-Key", answer.apiKey.id)
  if not options.passes_key then ngx.req.clear_header("Authorization") end
end

-- Ends a hold. Repeats the request until Gatehouse has decided, or the worker exits.
local function deliver(is_exiting, id, ending, pause)
  local status, answer = post("/api/operator/holds/" .. id .. ending.path, ending.body)
  if status and status < 300 then return end
  local is_final = is_exiting or final[status]
  if not is_final and ngx.timer.at(pause, deliver, id, ending, math.min(2 * pause, 30)) then return end
  local problem = status or answer
  ngx.log(ngx.ERR, "the hold ", id, " wasn't ended: ", problem, " ", ending.path, " ", cjson.encode(ending.body))
end

-- Settles the hold of a request in the log phase: with the bytes of the body that were sent, and the time since the request began. Releases
-- it if the application failed, or nothing was used.
function gatehouse.settle()
  local id = ngx.var.gatehouse_hold
  local options = holds[id]
  if not options then return end
  holds[id] = nil
  local used = { bytes = tonumber(ngx.var.body_bytes_sent), seconds = tonumber(ngx.var.request_time) }
  local records = {}
  for metric, quantity in pairs(used) do
    if options[metric] and quantity > 0 and ngx.status < 500 then
      records[#records + 1] = { productSlug = options.product, metric = metric, quantity = quantity }
    end
  end
  local ending = #records > 0 and { path = "/settle", body = { records = records } } or
    { path = "/release", body = { reason = "Nothing was delivered." } }
  local is_scheduled, problem = ngx.timer.at(0, deliver, id, ending, 0.5)
  if not is_scheduled then ngx.log(ngx.ERR, "the hold ", id, " wasn't ended: ", problem, " ", cjson.encode(ending.body)) end
end

return gatehouse
