-- Verifies API keys with Gatehouse, and records 1 of the product "files" and the metric "requests" if that fits.
local http = require "socket.http"
http.TIMEOUT = 10
local address = "http://127.0.0.1:8000/api/auth/forward?accept=key&meter=files/requests&limit=on"
-- What the application may read. Gatehouse sends them with each accepted key.
local identity = { "remote-organization", "remote-api-key", "remote-key-environment", "remote-permissions" }
-- All other statuses mean that Gatehouse can't verify keys.
local rejections = { [400] = true, [401] = true, [403] = true, [429] = true, [431] = true }

function check(r)
  -- Only Gatehouse may set these.
  for name in pairs(r:headers_in_table()) do
    if name:lower():find("^remote") then r.headers_in[name] = nil end
  end
  -- Clients could have the headers below removed.
  if (r.headers_in["Connection"] or ""):lower():find("remote") then return 400 end
  local _, status, headers = http.request {
    url = address,
    headers = { ["authorization"] = r.headers_in["Authorization"], ["x-forwarded-for"] = r.useragent_ip },
    redirect = false,
  }
  if status == 200 then
    for _, name in ipairs(identity) do r.headers_in[name] = headers[name] or "" end
    return apache2.OK
  end
  if rejections[status] then
    r.err_headers_out["WWW-Authenticate"] = headers["www-authenticate"]
    r.err_headers_out["Retry-After"] = headers["retry-after"]
    return status
  end
  r:err("Gatehouse can't verify keys: " .. tostring(status))
  r.err_headers_out["Retry-After"] = "5"
  return 503
end
