/**
 * The browser of docs/mcp.md: @playwright/mcp with the Chromium of the system, in the sandbox, through a whole node. Reading is allowed by
 * the rules of the recipe; whatever could send a form waits for a person.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pinsFile } from "../../src/adapters/tools/mcp/pinned-tools.ts";
import { openTestGateway, type TestGateway } from "../../src/app/gateway/gateway.test-kit.ts";
import { nodeMcp } from "../../src/app/node/node-mcp.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { homePaths, mcpDirectory } from "../../src/config/paths.ts";
import type { Model, ModelMessage } from "../../src/core/ports/model.ts";
import { DISK, makeDiskDirectory } from "../kit/disk-directory.ts";
import { needs } from "../kit/needs.ts";

const root = join(import.meta.dirname, "..", "..");
const cli = join(root, "node_modules", "@playwright", "mcp", "cli.js");
const data = makeDiskDirectory("rookery-mcp-browser-");
const log = join(data, "seen.txt");
const PORT = 8123;
const seen = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");

/** The recipe as it is documented, with the page inside the sandbox and the package of this repository. */
function recipe(): Record<string, never> {
  const docs = readFileSync(join(root, "docs", "mcp.md"), "utf8");
  const text = /## A browser[\s\S]*?```json5\n([\s\S]*?)```/.exec(docs)?.[1] ?? "";
  const config = JSON5.parse(text) as never as { mcp: { servers: { browser: { args: string[] } & object } } };
  const { browser } = config.mcp.servers;
  const pages = `${process.execPath} ${join(import.meta.dirname, "browser-pages.ts")} ${log} ${PORT} &`;
  // The proxy reaches no address of this machine: the page of the test is beside the browser.
  const args = browser.args.map((arg) =>
    arg
      .replace("exec playwright-mcp", `${pages} exec ${process.execPath} ${cli}`)
      .replace('"password":"%s"', '"password":"%s","bypass":"127.0.0.1"'),
  );
  Object.assign(config, { owner: { accounts: ["test:olga"] }, queue: { debounceMs: 0 } });
  Object.assign(browser, { args, read: [root], write: [data], startSeconds: 120 });
  return config as never;
}

const textOf = ({ content }: ModelMessage): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");
/** Calls what the person names, then repeats what the tool said. */
const model: Model = {
  async call({ messages }) {
    const last = messages.at(-1);
    const about = { api: "a", provider: "p", model: "m" } as const;
    const [, name = "", given = ""] = /CALL (\w+) (\{.*\})/.exec(last?.role === "user" ? textOf(last) : "") ?? [];
    if (name === "")
      return { ...about, content: [{ type: "text", text: last ? textOf(last) : "" }], stopReason: "stop" };
    const call = { type: "toolCall", id: `c${messages.length}`, name: `mcp__browser__${name}` } as const;
    return { ...about, content: [{ ...call, arguments: JSON.parse(given) }], stopReason: "tool_calls" };
  },
};

describe("a browser", needs("chromium", "bwrap", "socat"), () => {
  let kit: TestGateway;
  beforeAll(async () => {
    kit = await openTestGateway({ config: recipe(), model, within: DISK });
  });
  afterAll(async () => {
    await kit?.close();
    rmSync(data, { recursive: true, force: true });
  });

  /** What the agent said last, when everything has come to rest. */
  async function rested(): Promise<string> {
    await kit.node.agents.settled();
    const [agent] = await kit.node.ports.store.agents({ limit: 1 });
    const [line] = agent ? await kit.node.ports.store.linesBack(agent.id, { limit: 1 }) : [];
    return line?.line.replaceAll('\\"', '"') ?? "";
  }
  const call = async (name: string, given: object): Promise<string> => {
    const descriptor = { type: "user", connector: "test", userId: "olga", channelId: "olga" } as const;
    const text = `CALL ${name} ${JSON.stringify(given)}`;
    await kit.node.agents.post({ to: { descriptor }, body: { kind: "user", text } });
    return rested();
  };
  const waiting = async (): Promise<{ id: string; tool: string; digest: string }[]> =>
    (await kit.ask({ path: "/api/approvals" })).json.items as { id: string; tool: string; digest: string }[];
  /** The call waits; a person says yes. */
  async function approved(name: string, given: object): Promise<string> {
    const before = seen();
    await call(name, given);
    const questions = await waiting();
    expect(questions).toMatchObject([{ tool: `mcp__browser__${name}` }]);
    expect(seen()).toBe(before);
    const body = { answer: "yes", digest: questions[0]?.digest };
    await kit.ask({ method: "POST", path: `/api/approvals/${questions[0]?.id}`, body });
    return rested();
  }
  const refOf = (snapshot: string, what: RegExp): string =>
    new RegExp(`${what.source}.*?\\[ref=(\\w+)\\]`).exec(snapshot)?.[1] ?? "";

  it("opens, reads, fills and clicks in the sandbox; what can send a form asks, and hosts that are not listed are not reached", {
    timeout: 240_000,
  }, async () => {
    // As `rookery mcp pin browser` does.
    const config = configSchema.parse({ models: { default: "offline" }, ...recipe() });
    const pinning = nodeMcp({
      settings: { current: config },
      paths: homePaths(kit.home),
      ports: kit.node.ports,
      env: process.env,
    });
    await pinning.servers.pin("browser");
    await pinning.close();
    expect(existsSync(pinsFile(mcpDirectory(homePaths(kit.home)), "browser"))).toBe(true);

    const opened = await call("browser_navigate", { url: `http://127.0.0.1:${PORT}/` });
    expect(opened).toContain("Page Title: Shop");
    const shown = await call("browser_snapshot", {});
    expect(shown).toContain('button "Order"');
    expect(await waiting()).toEqual([]);
    const field = {
      element: "Name",
      name: "Name",
      type: "textbox",
      target: refOf(shown, /textbox "Name"/),
      value: "Olga",
    };
    const filled = await approved("browser_fill_form", { fields: [field] });
    expect(filled).not.toContain("Error");
    expect(seen()).not.toContain("POST");
    const sent = await approved("browser_click", { element: "Order", target: refOf(shown, /button "Order"/) });
    expect(sent).not.toContain("Error");
    await expect.poll(seen, { timeout: 60_000 }).toContain("POST /order name=Olga");
    await approved("browser_navigate", { url: "http://not-listed.example.com/" });
    expect(await call("browser_snapshot", {})).toMatch(
      /ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED|ERR_TUNNEL|blocked/,
    );
    expect(await call("browser_evaluate", { function: "() => 1" })).toContain("Unknown tool");
  });
});
