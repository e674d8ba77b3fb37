-- Verifies API keys with Gatehouse, and records 1 of the product "files" and the metric "requests" if that fits.
local address = "http://127.0.0.1:8000/api/auth/forward?accept=key&meter=files/requests&limit=on"
-- What the application may read. Gatehouse sends them with each accepted key.
local identity = { "remote-organization", "remote-api-key", "remote-key-environment", "remote-permissions" }
-- The headers that a rejected client gets.
local passed_on = { "content-type", "www-authenticate", "retry-after", "ratelimit", "ratelimit-policy" }
-- All other statuses mean that Gatehouse can't verify keys.
local rejections = { [400] = true, [401] = true, [403] = true, [429] = true, [431] = true }

core.register_action("gatehouse", { "http-req" }, function(txn)
  local headers = txn.http:req_get_headers()
  for name in pairs(headers) do
    -- Only Gatehouse may set these.
    if name:lower():find("^remote") then txn.http:req_del_header(name) end
  end
  -- HAProxy counts values from 0. Gatehouse rejects several.
  local credentials = {}
  for _, value in pairs(headers["authorization"] or {}) do credentials[#credentials + 1] = value end
  local response = core.httpclient():get {
    url = address,
    headers = { ["authorization"] = credentials, ["x-forwarded-for"] = { txn.f:src() } },
    timeout = 10000,
  }
  if response.status == 200 then
    for _, name in ipairs(identity) do
      txn.http:req_set_header(name, response.headers[name] and response.headers[name][0] or "")
    end
    return
  end
  local reply = txn:reply { status = rejections[response.status] and response.status or 503 }
  if rejections[response.status] then
    for _, name in ipairs(passed_on) do
      if response.headers[name] then reply:add_header(name, response.headers[name][0]) end
    end
    reply:set_body(response.body)
  else
    core.Alert("Gatehouse can't verify keys: " .. tostring(response.status))
    reply:add_header("retry-after", "5")
  end
  txn:done(reply)
end)
