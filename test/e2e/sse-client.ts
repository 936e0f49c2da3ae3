/** Reads server-sent events until `until` is true or the stream ends, and then drops the connection. */
import { request } from "node:http";
import { defined } from "../../src/core/defined.ts";
import { TOKEN } from "./serving.ts";

export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: unknown;
}

export function readEvents(
  port: number,
  path: string,
  options: {
    lastEventId?: string;
    until?: (event: SseEvent) => boolean;
    /** Called when the stream is open: what happens from now on is in it. */
    onOpen?: () => void;
    token?: string;
    /** The secret of a login. */
    login?: string;
  } = {},
): Promise<SseEvent[]> {
  const headers = defined({
    authorization: options.login === undefined ? `Bearer ${options.token ?? TOKEN}` : undefined,
    "rookery-login": options.login,
    "last-event-id": options.lastEventId,
  });
  return new Promise((resolve, reject) => {
    const events: SseEvent[] = [];
    const asked = request({ host: "127.0.0.1", port, path, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}`));
      else options.onOpen?.();
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        const parts = (rest + piece).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1];
          const data = field("data");
          if (data === undefined) continue;
          const event = { id: field("id"), event: field("event"), data: JSON.parse(data) as unknown };
          events.push(event);
          if (options.until?.(event)) {
            response.destroy();
            resolve(events);
            return;
          }
        }
      });
      response.on("end", () => resolve(events));
      response.on("error", () => resolve(events));
    });
    asked.on("error", reject);
    asked.end();
  });
}
