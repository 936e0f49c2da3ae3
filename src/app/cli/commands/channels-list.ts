/** `rookery channels list`: shows the accounts on channels, their state, last errors, lag and what waits. Only reads. */
import { listOf } from "../../../core/list.ts";
import type { ConnectorItem } from "../../gateway/schemas/status.ts";
import { withApi } from "../client/with-api.ts";
import { defineAction } from "../command.ts";
import { writeLogin } from "../login-text.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

export const listChannels = defineAction({
  summary: "show the accounts on channels, their state and what waits for them",
  description:
    "`failing` accounts are tried again by themselves; the last error says why. `lag` is the age of the last message when it was accepted, `waiting` counts deliveries.",
  async run(context) {
    const { items } = (await withApi(context, (api) => api.ask({ method: "GET", path: "/api/connectors" }), {
      reads: true,
    })) as {
      items: readonly ConnectorItem[];
    };
    const empty = "No account is configured. Add one under `connectors` in the configuration.";
    printResult(context, listOf(items), items.length === 0 ? empty : text(items));
    for (const { name, login } of context.json ? [] : items) {
      if (!login) continue;
      context.stdout.write(`\n${name}: `);
      writeLogin(context.stdout, login);
    }
    return undefined;
  },
});

function text(items: readonly ConnectorItem[]): string {
  const head = ["channel", "account", "state", "lag", "waiting", "detail"];
  const rows = [head, ...items.map(cells)];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const errors = items.flatMap(({ name, lastError }) =>
    lastError ? [`${name}: ${new Date(lastError.at).toISOString()} ${oneLine(lastError.text, 300)}`] : [],
  );
  return `${[...lines, ...(errors.length > 0 ? ["", "Last errors:", ...errors] : [])].join("\n")}`;
}

const cells = ({ channel, name, state, lagMs, waiting, detail }: ConnectorItem): string[] => [
  ...[
    channel,
    name,
    state,
    lagMs === undefined ? "–" : `${(lagMs / 1_000).toFixed(1)} s`,
    String(waiting),
    oneLine(detail, 120),
  ],
];
