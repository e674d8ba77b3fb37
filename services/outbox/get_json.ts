// Reads JSON from a URL that the people who run the service chose, within a time and a size.
const timeoutMs = 5_000;
const bytesMax = 256 * 1024;

/** Never follows a redirect. @throws Any error if there is no JSON in time. */
export async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: "application/json", "user-agent": "Gatehouse" },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the response has the status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > bytesMax) throw new Error(`the response has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(await new Blob(chunks as BlobPart[]).text());
}
