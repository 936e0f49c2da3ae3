/** The JSON Schema of a tool's input as a model is sent it: without what says nothing, because each word costs room. */

type Json = Readonly<Record<string, unknown>>;

/** Drops the name of the dialect, closed and open objects, and the bounds of whole numbers. The input is validated anyway. */
export function shortSchema(schema: Json): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => (saysNothing(key, value) ? [] : [[key, shortened(key, value)]])),
  );
}

function saysNothing(key: string, value: unknown): boolean {
  switch (key) {
    case "$schema":
      return true;
    case "additionalProperties":
      return value === false || isEmpty(value);
    case "maximum":
      return value === Number.MAX_SAFE_INTEGER;
    case "minimum":
      return value === Number.MIN_SAFE_INTEGER;
    case "propertyNames":
      return JSON.stringify(value) === '{"type":"string"}';
    default:
      return false;
  }
}

function shortened(key: string, value: unknown): unknown {
  // A default, an example or an enum is data, not a schema.
  if (key === "default" || key === "enum" || key === "const" || key === "examples") return value;
  if (key === "properties" && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened("", one)]));
  }
  if (Array.isArray(value)) return value.map((one) => shortened("", one));
  return isRecord(value) ? shortSchema(value) : value;
}

const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;
