import { beforeEach, describe, expect, it } from "vitest";
import { InvalidInputError, ServerUnavailableError } from "../../../core/errors.ts";
import type { ToolContext, ToolOutput } from "../../../core/ports/tool.ts";
import { callAnswers } from "./call-answers.ts";
import { type OpenInputs, openInputs } from "./input-asked.ts";
import { mcpAnswerTool } from "./mcp-answer-tool.ts";
import { callServer, type McpToolDeps, mcpTool } from "./mcp-tool.ts";

interface Request {
  readonly call: Record<string, unknown>;
  readonly options: { readonly timeout: number; readonly maxTotalTimeout: number; onprogress(of: object): void };
}

let requests: Request[];
let answer: (request: Request) => unknown;
let aside: readonly string[];
let safe: readonly string[];
let changed: readonly string[];
let answers: McpToolDeps["answers"];

beforeEach(() => {
  requests = [];
  answer = () => ({ content: [{ type: "text", text: "done" }] });
  [aside, safe, changed] = [[], [], []];
  answers = callAnswers();
});

const client = {
  async callTool(call: Request["call"], options: Request["options"]) {
    requests.push({ call, options });
    return answer({ call, options });
  },
};
const open: OpenInputs = { inputs: [], now: 1_000 };
const deps = (): McpToolDeps => ({
  server: "bank",
  link: { use: (work: (session: object) => Promise<unknown>) => work({ client }) } as never,
  isSafe: (tool) => safe.includes(tool),
  isOffered: () => true,
  timeoutMs: () => 7_000,
  changed: async () => new Set(changed),
  open: async () => open,
  answers,
  settle: async () => aside,
});
const told: string[] = [];
const context = (signal = new AbortController().signal): ToolContext =>
  ({
    ...{ runId: "run", callId: "call", agentId: "agent", agent: { profile: "main" }, signal },
    progress: (text: string) => told.push(text),
  }) as never;
const call = (given: object = {}): Promise<ToolOutput> =>
  callServer(deps(), { tool: "send", args: { to: "Ann" }, ...given }, context());
const textOf = ({ content }: ToolOutput): string =>
  content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n");
const asks = (message: string): void => {
  answer = () => {
    answers.answer({ message });
    return { content: [{ type: "text", text: "done" }] };
  };
};
const broken = () => Object.assign(new TypeError("x"), { code: "ECONNRESET" });

it("asks the gate as a tool of the network, is never parallel, and returns untrusted text", () => {
  const tool = mcpTool(deps(), { name: "send", description: "d", parameters: {}, hash: "h" });
  expect(tool).toMatchObject({ name: "mcp__bank__send", rights: ["network"], parallel: false, untrusted: true });
  expect(tool.replay).toBe("never");
  safe = ["send"];
  expect(mcpTool(deps(), { name: "send", description: "d", parameters: {}, hash: "h" }).replay).toBe("safe");
});

it("takes only arguments of its pinned schema, in the order of the schema", () => {
  const properties = { what: { type: "string", pattern: "(a+)+$" }, to: { type: "string" } };
  const read = (parameters: Record<string, unknown>, given: object) =>
    mcpTool(deps(), { name: "send", description: "d", parameters, hash: "h" }).input.safeParse(given);
  const simple = { type: "object", properties, required: ["what"] };
  expect(Object.entries(read(simple, { to: "Ann", note: 1, what: "x" }).data ?? {})).toEqual([
    ["what", "x"],
    ["to", "Ann"],
    ["note", 1],
  ]);
  expect(read(simple, { to: "Ann" }).success).toBe(false);
  expect(read(simple, { what: 7 }).success).toBe(false);
  const unreadable = { ...simple, $ref: "https://example.org/schema" };
  expect(Object.keys(read(unreadable, { to: "Ann", what: "x" }).data ?? {})).toEqual(["what", "to"]);
});

it("passes arguments, time limits and progress on", async () => {
  told.length = 0;
  answer = ({ options }) => {
    options.onprogress({ progress: 1, total: 3 });
    options.onprogress({ progress: 2 });
    options.onprogress({ progress: 3, message: "x".repeat(600) });
    return { content: [{ type: "text", text: "done" }] };
  };
  expect(await call()).toMatchObject({ untrusted: { from: "mcp:bank" } });
  expect(requests[0]?.call).toEqual({ name: "send", arguments: { to: "Ann" } });
  expect(requests[0]?.options).toMatchObject({ timeout: 7_000, maxTotalTimeout: 70_000 });
  expect(told.map((text) => text.slice(0, 20))).toEqual(["1 of 3", "2", "x".repeat(20)]);
  expect(told[2]).toHaveLength(500);
});

it("does not call a tool that is described differently by now", async () => {
  changed = ["send"];
  await expect(call()).rejects.toThrow(InvalidInputError);
  expect(requests).toEqual([]);
});

describe("a failed call", () => {
  it.each<[string, object]>([
    ["by its code", { code: "ECONNRESET" }],
    ["by the code of the protocol", { code: -32_000 }],
    ["by its cause", { cause: { code: "UND_ERR_SOCKET" } }],
    ["by its text", { message: "Connection closed" }],
  ])("has an unknown outcome if the connection broke, seen %s, and is made once", async (_, error) => {
    answer = () => {
      throw Object.assign(new TypeError("x"), error);
    };
    await expect(call()).rejects.toThrow("Whether send has taken effect is unknown.");
    expect(requests).toHaveLength(1);
  });

  it("is made a second time only for a safe tool, and not a third time", async () => {
    safe = ["send"];
    answer = () => {
      if (requests.length === 1) throw broken();
      return { content: [{ type: "text", text: "done" }] };
    };
    expect(textOf(await call())).toBe("done");
    requests = [];
    answer = () => {
      throw broken();
    };
    await expect(call()).rejects.toThrow();
    expect(requests).toHaveLength(2);
  });

  it("is a result with untrusted text if the server refuses it", async () => {
    answer = () => {
      throw Object.assign(new TypeError("no such account"), { code: -32_602 });
    };
    const output = await call();
    expect(output).toMatchObject({ isError: true, untrusted: { from: "mcp:bank" } });
    expect(textOf(output)).toBe("The server refused the call: no such account");
  });

  it("is neither repeated nor reported after the run has ended, and an unavailable server does not count as a refusal", async () => {
    safe = ["send"];
    const abort = new AbortController();
    answer = () => {
      abort.abort();
      throw broken();
    };
    await expect(callServer(deps(), { tool: "send", args: {} }, context(abort.signal))).rejects.toThrow("x");
    expect(requests).toHaveLength(1);
    answer = () => {
      throw new ServerUnavailableError("It pauses.");
    };
    await expect(call()).rejects.toThrow("It pauses.");
  });

  it("ends its question too: the next call has no answers of it", async () => {
    answer = () => {
      throw broken();
    };
    await expect(call({ given: { answers: { pin: "1" }, ref: "r" } })).rejects.toThrow("unknown");
    expect(answers.answer({ message: "PIN?" })).toEqual({ action: "decline" });
  });
});

it("names files that the server has put in the place of prompt files, even if the call fails", async () => {
  aside = ["/ws/SOUL.md"];
  expect(textOf(await call())).toMatch(/^done\n\[SOUL\.md: only a reviewed change/);
  let looked = 0;
  answer = () => {
    throw broken();
  };
  const counting = { ...deps(), settle: async () => [String(++looked)] };
  await expect(callServer(counting, { tool: "send", args: {} }, context())).rejects.toThrow("unknown");
  expect(looked).toBe(1);
});

describe("a question of the server", () => {
  const required = () => ({ resultType: "input_required", inputRequests: { pin: {} }, requestState: "s1" });

  it("ends the call with the question, which is stored with the state of the server", async () => {
    answer = required;
    const output = await call();
    const [op] = output.ops ?? [];
    expect(output).toMatchObject({ found: ["mcp_answer"], untrusted: { from: "mcp:bank" } });
    expect(op?.op === "fact.put" && JSON.parse(op.value ?? "")).toMatchObject({
      inputs: [{ id: "run.call", at: 1_000, server: "bank", tool: "send", args: { to: "Ann" }, state: "s1" }],
    });
  });

  it("declines and reports the question of an older server, and does not ask again in a call with the answer", async () => {
    asks("Which PIN?");
    expect(textOf(await call())).toContain("Which PIN?");
    expect(textOf(await call({ given: { answers: { pin: "1" }, ref: "r" } }))).toBe("done");
  });

  it("sends a newer server its answers with the call, and no answer during it", async () => {
    let during: unknown;
    answer = () => {
      during = answers.answer({ message: "And the other PIN?" });
      return { content: [{ type: "text", text: "done" }] };
    };
    const given = { answers: { pin: "1" }, keys: ["pin"], responses: { pin: "r" }, state: "s1", ref: "r" };
    await call({ given });
    expect(requests[0]?.call).toMatchObject({ inputResponses: { pin: "r" }, requestState: "s1" });
    expect(during).toEqual({ action: "decline" });
  });
});

describe("mcp_answer", () => {
  const WEEK = 7 * 24 * 3_600_000;
  const stored = (id: string, at = 0): OpenInputs["inputs"][number] => ({
    ...{ id, at, server: "bank", tool: "send", args: { to: id }, state: "s" },
    questions: [{ key: "pin", message: "Which PIN?" }],
  });
  const world = (inputs: OpenInputs["inputs"], now = 0) => {
    const store = {
      fact: async (key: string) =>
        key === "mcp-input:agent" ? JSON.stringify({ agentId: "agent", inputs }) : undefined,
    };
    const tool = mcpAnswerTool({
      store,
      now: () => now,
      serverNamed: (name) => (name === "bank" ? deps() : undefined),
    });
    return { tool, store };
  };

  it("always needs a yes, and is judged as the tool that asked", async () => {
    const { tool } = world([stored("a")]);
    expect([await tool.needsYes?.({ ref: "a", answers: {} }, context()), tool.replay]).toEqual([true, "never"]);
    expect(await tool.effects?.({ ref: "a", answers: {} }, context())).toEqual([
      { action: "mcp__bank__send", rights: ["network"] },
    ]);
    expect(await tool.effects?.({ ref: "b", answers: {} }, context())).toEqual([]);
  });

  it("answers one question and forgets that one only", async () => {
    const { tool } = world([stored("a"), stored("b"), stored("c")]);
    const { ops } = await tool.execute({ ref: "b", answers: { pin: "1" } }, context());
    expect(requests[0]?.call).toEqual({
      name: "send",
      arguments: { to: "b" },
      inputResponses: { pin: { action: "accept", content: { pin: "1" } } },
      requestState: "s",
    });
    const [op] = ops ?? [];
    const value = op?.op === "fact.put" ? (op.value ?? "") : "";
    expect((JSON.parse(value) as OpenInputs).inputs.map(({ id }) => id)).toEqual(["a", "c"]);
  });

  it("leaves no fact behind with the last question", async () => {
    const { tool } = world([stored("a")]);
    const { ops } = await tool.execute({ ref: "a", answers: {} }, context());
    expect(ops).toEqual([{ op: "fact.put", key: "mcp-input:agent", value: null }]);
  });

  it.each([
    ["after a week", "a", WEEK],
    ["that no one asked", "b", 0],
  ])("refuses a question %s, and gives the gate no call", async (_, ref, now) => {
    const { tool } = world([stored("a")], now);
    await expect(tool.execute({ ref, answers: {} }, context())).rejects.toThrow("No server waits");
    expect(await tool.effects?.({ ref, answers: {} }, context())).toEqual([]);
    expect(requests).toEqual([]);
  });

  it("reads the questions of the agent itself only", async () => {
    const { store } = world([stored("a")]);
    expect((await openInputs(store, "agent", 0)).inputs).toHaveLength(1);
    expect((await openInputs(store, "other", 0)).inputs).toEqual([]);
  });
});
