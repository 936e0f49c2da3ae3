/** Text that must be JSON, from a file that people can reach. */
import { CorruptDataError } from "../../../core/errors.ts";

/** Any JSON object or array; a typed error names the file otherwise. */
export function parseJson(text: string, where: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    throw new CorruptDataError(`${where} is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: "The file was left as it is.",
    });
  }
  throw new CorruptDataError(`${where} holds no JSON object.`, { hint: "The file was left as it is." });
}
