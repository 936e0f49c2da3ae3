/** The arguments of a tool call as a model wrote them. */
import { parse } from "./provider-error.ts";

/** Undefined if the text is not a complete JSON object: the call must not be executed. No text means no arguments. */
export function argumentsIn(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  const value = parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
