/**
 * An engine that is killed while a tool of an MCP server works. Its model calls the tool that the message names and then says what the
 * tool returned. Arguments: the home, and what it is told after what it still has to do. Prints
 * the history when all is done.
 */
import { openNode } from "../../src/app/node/open-node.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths } from "../../src/config/paths.ts";
import { silentLog } from "../../src/core/ports/log.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import { killedConfig } from "./killed-config.ts";

const [home = "", ...told] = process.argv.slice(2);

const textOf = ({ content }: ModelMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const text = last ? textOf(last) : "";
    const about = { api: "a", provider: "p", model: "m" } as const;
    if (last?.role === "tool") return { ...about, content: [{ type: "text", text }], stopReason: "stop" };
    const name = /mcp__\w+/.exec(text)?.[0] ?? "";
    const call = { type: "toolCall", id: "c1", name, arguments: { line: name } } as const;
    return { ...about, content: [call], stopReason: "tool_calls" };
  },
};

const node = await openNode({
  ...{ paths: homePaths(home), config: configSchema.parse(killedConfig(home)), connectors: [], log: silentLog, model },
  onFatal(error) {
    throw error;
  },
});
await node.agents.settled();
for (const text of told) {
  // Each in a conversation of its own, so that they run side by side.
  const descriptor = { type: "user", connector: "test", userId: text, channelId: text } as const;
  await node.agents.post({ to: { descriptor }, body: { kind: "user", text } });
}
await node.agents.settled();
for (const { id } of await node.ports.store.agents({ limit: 10 }))
  for (const { line } of await node.ports.store.linesBack(id, { limit: 100 })) console.log(line);
await node.close();
console.log("over");
