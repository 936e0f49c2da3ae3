/**
 * Records of session files as other programs write them (versions 1 to 3, with the message nested), turned into the flat
 * shape of this program. A record without a counterpart is returned unchanged, and the reader keeps it as unknown.
 */

export type Raw = Readonly<Record<string, unknown>>;

/** The names of the nested form that differ from those of the flat one. */
const STOP_REASONS: Readonly<Record<string, string>> = { toolUse: "tool_calls", tool_use: "tool_calls" };
const KNOWN_STOPS = ["stop", "length", "tool_calls", "error", "aborted"];

export const isRecord = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `otherwise`: the time of the file, for entries that have none. */
export function flatRecord(record: Raw, otherwise: number): Raw {
  const timed = { ...record, ...timeOf(record, otherwise) };
  switch (record.type) {
    case "message":
      return isRecord(record.message) ? nestedMessage(timed, record.message) : flatMessage(timed);
    case "custom_message":
      return customMessage(timed);
    case "custom":
      return renamed({ data: null, ...timed }, "customType", "name");
    default:
      return timed;
  }
}

/** Milliseconds: the message's own, or the entry's as a number or as an ISO text. */
function timeOf(record: Raw, otherwise: number): { timestamp?: number } {
  const own = isRecord(record.message) ? record.message.timestamp : undefined;
  for (const value of [own, record.timestamp]) {
    if (typeof value === "number") return { timestamp: value };
    const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(parsed)) return { timestamp: parsed };
  }
  return record.type === "message" ? { timestamp: otherwise } : {};
}

function nestedMessage(entry: Raw, message: Raw): Raw {
  const { message: _, ...rest } = entry;
  const { role, timestamp: __, ...said } = message;
  const { type, id, parentId, ...more } = rest;
  const place = { type, id, parentId };
  switch (role) {
    case "user":
    case "assistant":
      return flatMessage({ ...place, role, ...said, ...more });
    case "toolResult":
      return flatMessage({ ...place, role: "tool", ...said, ...more });
    case "custom":
    case "hookMessage":
      return customMessage({ ...place, type: "custom_message", ...said, ...more });
    case "bashExecution":
      return bashExecution(place, message, more);
    default:
      return entry;
  }
}

function flatMessage(entry: Raw): Raw {
  const { stopReason, ...rest } = entry;
  const stop = typeof stopReason === "string" ? (STOP_REASONS[stopReason] ?? stopReason) : undefined;
  const role = rest.role === "toolResult" ? "tool" : rest.role;
  const known = stop !== undefined && KNOWN_STOPS.includes(stop);
  return { ...rest, role, content: blocks(rest.content), stopReason: known ? stop : undefined };
}

function customMessage(entry: Raw): Raw {
  const { display, ...rest } = entry;
  const hidden = rest.hidden ?? display === false;
  return { ...rest, role: "user", content: blocks(rest.content), hidden: hidden ? true : undefined };
}

/** A command that a person ran beside the conversation: its text and its output. */
function bashExecution(place: Raw, message: Raw, more: Raw): Raw {
  if (message.excludeFromContext === true)
    return { ...place, ...more, type: "custom", name: "bashExecution", data: message };
  const text = `Ran \`${String(message.command ?? "")}\`\n${String(message.output ?? "")}`;
  return { ...place, type: "custom_message", role: "user", content: blocks(text), ...more, details: message };
}

const blocks = (content: unknown): unknown =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

function renamed(record: Raw, from: string, to: string): Raw {
  if (record[to] !== undefined || record[from] === undefined) return record;
  const { [from]: value, ...rest } = record;
  return { ...rest, [to]: value };
}
