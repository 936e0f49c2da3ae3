/** `current_time`: the prompt contains no time, so that its bytes stay the same for the provider's cache. */
import { z } from "zod";
import type { Clock } from "../../core/ports/clock.ts";
import type { Tool } from "../../core/ports/tool.ts";
import { zonedFields } from "../../core/zoned-time.ts";

const input = z.strictObject({
  timeZone: z.string().optional().describe('A time zone such as "Europe/Berlin"; the one of this machine if left out'),
});

export const currentTimeTool = (clock: Pick<Clock, "now">, localZone: () => string): Tool<z.infer<typeof input>> => ({
  name: "current_time",
  description: "Tells the current date and time.",
  input,
  rights: [],
  replay: "safe",
  parallel: true,
  maxOutput: 500,
  async execute({ timeZone = localZone() }) {
    const now = clock.now();
    return { content: [{ type: "text", text: `${wallClock(now, timeZone)}, ${new Date(now).toISOString()}` }] };
  },
});

function wallClock(now: number, zone: string): string {
  const { weekday, year, month, day, hour, minute, second } = zonedFields(now, zone);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${weekday}, ${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)} (${zone})`;
}
