/** The body of a platform's request. Undefined if it is not JSON. */
export function parsedJson(raw: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(raw).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
