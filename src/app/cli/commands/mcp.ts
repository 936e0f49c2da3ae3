/** `rookery mcp`: MCP servers that agents use, and this engine as an MCP server for other programs. */

import { systemClock } from "../../../adapters/system/system-clock.ts";
import type { McpServers } from "../../../adapters/tools/mcp/mcp-servers.ts";
import { readPins } from "../../../adapters/tools/mcp/pinned-tools.ts";
import { secretDeps } from "../../../config/load-config.ts";
import { mcpDirectory } from "../../../config/paths.ts";
import { NotFoundError, UsageError } from "../../../core/errors.ts";
import { listOf } from "../../../core/list.ts";
import { clientOf, nodeMcp } from "../../node/node-mcp.ts";
import { type CommandContext, defineAction, type Group } from "../command.ts";
import { oneLine } from "../plain-text.ts";
import { printResult } from "../print.ts";

const listAction = defineAction({
  summary: "show the MCP servers of the configuration and their pinned tools",
  async run(context) {
    const { config } = await context.loadConfig();
    const items = Object.entries(config.mcp.servers).map(([name, server]) => {
      const pins = readPins(mcpDirectory(context.paths), name);
      return {
        name,
        kind: server.url === undefined ? "local" : "remote",
        enabled: server.enabled,
        tools: pins?.tools.length ?? 0,
        reviewed: pins?.reviewed ?? false,
      };
    });
    const lines = items.map(
      ({ name, kind, enabled, tools, reviewed }) =>
        `${name}  ${kind}  ${enabled ? "on" : "off"}  ${tools} tools  ${reviewed ? "reviewed" : "not reviewed"}`,
    );
    return printResult(
      context,
      listOf(items),
      lines.join("\n") || "No MCP server is configured. Add one under `mcp.servers`.",
    );
  },
});

async function withServer<Result>(
  context: CommandContext,
  act: (servers: McpServers, name: string) => Promise<Result>,
): Promise<Result> {
  const [name = ""] = context.args;
  const { config } = await context.loadConfig();
  const server = config.mcp.servers[name];
  if (!server?.enabled)
    throw new NotFoundError(`There is no MCP server "${name}".`, { hint: context.here("Run `rookery mcp list`.") });
  const quiet = { warn() {}, info() {}, error() {}, debug() {} };
  const ports = { clock: systemClock, log: quiet, store: { fact: async () => undefined } };
  // It is only asked for its tools, so it writes nothing: no engine looks after prompt files here.
  const servers = { [name]: { ...server, read: [...server.read, ...server.write], write: [] } };
  const reading = { ...config, mcp: { ...config.mcp, servers } };
  const mcp = nodeMcp({
    settings: { current: reading },
    paths: context.paths,
    ports: ports as never,
    env: context.env,
  });
  try {
    return await act(mcp.servers, name);
  } finally {
    await mcp.close();
  }
}

const checkAction = defineAction({
  summary: "start a server, show its tools, and compare them with the pinned ones",
  usage: "<server>",
  arguments: { min: 1, max: 1 },
  run: (context) =>
    withServer(context, async (servers, name) => {
      const pinned = readPins(mcpDirectory(context.paths), name);
      const { live, changes } = await servers.check(name);
      const lines = live.map((tool) => `${tool.name}: ${oneLine(tool.description, 300)}`);
      const news = Object.entries(changes).flatMap(([what, tools]) =>
        tools.length > 0 ? [`${what}: ${tools.join(", ")}`] : [],
      );
      const state = !pinned?.reviewed
        ? "Not reviewed yet."
        : news.length > 0
          ? "Differs from what was pinned."
          : "As it was pinned.";
      const hint = context.here(`Pin these texts with \`rookery mcp pin ${name}\`.`);
      const text = [...lines, "", ...news, state, ...(pinned?.reviewed && news.length === 0 ? [] : [hint])].join("\n");
      return printResult(context, { server: name, tools: live, changes, reviewed: pinned?.reviewed ?? false }, text);
    }),
});

const pinAction = defineAction({
  summary: "pin the tools of a server as they are now, after you have looked at them",
  usage: "<server>",
  arguments: { min: 1, max: 1 },
  run: (context) =>
    withServer(context, async (servers, name) => {
      await servers.pin(name);
      const tools = readPins(mcpDirectory(context.paths), name)?.tools.length ?? 0;
      return printResult(context, { server: name, pinned: tools }, `Pinned ${tools} tools of ${name}.`);
    }),
});

const loginAction = defineAction({
  summary: "log in at a remote server that wants OAuth",
  usage: "<server>",
  arguments: { min: 1, max: 1 },
  options: {
    port: { type: "string", value: "number", description: "where the browser comes back to; default: any free port" },
  },
  async run(context) {
    const [name = ""] = context.args;
    const { config } = await context.loadConfig();
    const server = config.mcp.servers[name];
    if (!server?.url)
      throw new UsageError(`"${name}" is not a remote MCP server.`, { hint: context.here("Run `rookery mcp list`.") });
    const { logIn } = await import("../mcp-login.ts");
    const client = clientOf(server, secretDeps(context.paths.home, context.env));
    const show = (url: URL): void => void context.stderr.write(`Open this address in a browser:\n${url.href}\n`);
    const { allowPrivate } = config.network;
    const port = Number(context.flags.port ?? 0);
    await logIn({ name, url: server.url, paths: context.paths, port, allowPrivate, client, show });
    return printResult(context, { server: name, loggedIn: true }, `Logged in at ${name}.`);
  },
});

const serveAction = defineAction({
  summary: "serve the running engine of this home as an MCP server over standard input and output",
  description:
    "For programs that start their MCP servers themselves. It acts as the owner of the home. Over HTTP the same server is at /mcp.",
  async run(context) {
    const [{ serveStdio }, { connectRookery }, { mcpServerOf }, { tellUpdates }, { readVersion }] = await Promise.all([
      import("@modelcontextprotocol/server/stdio"),
      import("../../library/connect-rookery.ts"),
      import("../../gateway/mcp/mcp-server.ts"),
      import("../../gateway/mcp/conversation-resource.ts"),
      import("../../../adapters/system/version.ts"),
    ]);
    const rookery = connectRookery({ home: context.home });
    const ended = Promise.withResolvers<void>();
    process.stdin.once("end", () => ended.resolve());
    process.stdin.once("close", () => ended.resolve());
    const handle = serveStdio(async ({ era }) => {
      const server = await mcpServerOf({ rookery, version: readVersion(), era });
      if (era === "modern") tellUpdates(server, rookery);
      return server;
    });
    await ended.promise;
    await handle.close();
    await rookery.close();
    return undefined;
  },
});

export const mcpCommand: Group = {
  summary: "MCP servers that agents use, and this engine as one",
  actions: { list: listAction, check: checkAction, pin: pinAction, login: loginAction, serve: serveAction },
};
