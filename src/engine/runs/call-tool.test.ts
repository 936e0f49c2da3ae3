import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { z } from "zod";
import type { AgentRecord } from "../../core/agent/agent.ts";
import { SuspendedError } from "../../core/errors.ts";
import type { AgentId, RunId } from "../../core/ids.ts";
import type { FileStore } from "../../core/ports/ports.ts";
import type { Tool, ToolOutput } from "../../core/ports/tool.ts";
import type { CallRecord } from "../../core/run/run.ts";
import { callTool, textOutput } from "./call-tool.ts";

function memoryFiles(): FileStore & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    write: async (name, content) => {
      kept.set(name, String(content));
      return `/files/${name}`;
    },
    read: async () => undefined,
  };
}

const tool = (execute: Tool["execute"], more: Partial<Tool> = {}): Tool => ({
  name: "work",
  description: "",
  input: z.looseObject({}),
  rights: [],
  replay: "safe",
  parallel: false,
  maxOutput: 10,
  execute,
  ...more,
});

const call = (more: Partial<CallRecord> = {}): CallRecord => ({
  callId: "c1",
  name: "work",
  arguments: {},
  replay: "safe",
  state: "intended",
  ...more,
});

const context = {
  agent: { id: "a" } as AgentRecord,
  agentId: "a" as AgentId,
  runId: "r1" as RunId,
  callId: "c1",
  effectKey: "k1",
  signal: new AbortController().signal,
  progress() {},
};

const run = (one: Tool | undefined, files: FileStore = memoryFiles(), more: Partial<CallRecord> = {}) =>
  callTool(one, call(more), { ...context, ...(more.callId ? { callId: more.callId } : {}) }, files);
const textOf = ({ content }: ToolOutput) =>
  content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("|");
const says = (text: string) => async () => ({ content: [{ type: "text" as const, text }] });

describe("a tool call", () => {
  it("to an unknown tool returns an error to the model", async () => {
    const output = await run(undefined);
    expect([textOf(output), output.isError]).toEqual(["Unknown tool: work", true]);
  });

  it("with invalid arguments returns an error that names the problem, and the tool is not executed", async () => {
    let executed = false;
    const strict = tool(
      async () => {
        executed = true;
        return { content: [] };
      },
      { input: z.object({ path: z.string() }) },
    );
    const output = await run(strict);
    expect(output.isError).toBe(true);
    expect(textOf(output)).toMatch(/Invalid arguments for work: .*path/s);
    expect(executed).toBe(false);
  });

  it("passes the arguments as the schema parsed them", async () => {
    const input = z.object({ n: z.coerce.number().default(3) });
    let seen: unknown;
    await run(
      tool(
        async (value) => {
          seen = value;
          return { content: [] };
        },
        { input },
      ),
    );
    expect(seen).toEqual({ n: 3 });
  });

  it("is also validated by an asynchronous schema", async () => {
    const input = z.object({}).refine(async () => false, "never");
    const output = await run(tool(says("no"), { input }));
    expect(textOf(output)).toContain("never");
  });

  for (const [how, execute] of [
    [
      "throws",
      async () => {
        throw new TypeError("it broke");
      },
    ],
    ["rejects with a value that is not an Error", () => Promise.reject("it broke")],
  ] as const) {
    it(`that ${how} returns an error to the model`, async () => {
      const output = await run(tool(execute as never));
      expect([textOf(output), output.isError]).toEqual(["it broke", true]);
    });
  }

  it("that returns nothing, or something unreadable, is an error", async () => {
    for (const odd of [undefined, {}, { content: "text" }, { content: [{ type: "resource" }] }]) {
      expect((await run(tool(async () => odd as never))).isError).toBe(true);
    }
  });

  it("keeps the ops of the output beside its text", async () => {
    const ops = [{ op: "fact.put", key: "k", value: "v" }] as const;
    const output = await run(tool(async () => ({ content: [{ type: "text", text: "ok" }], ops })));
    expect(output.ops).toEqual(ops);
  });
});

describe("tool output that is too long", () => {
  it("is cut with a note, and a file holds all of it", async () => {
    const files = memoryFiles();
    const output = await run(tool(says("0123456789ABCDEF")), files);
    const [[name, all] = ["", ""]] = [...files.kept];
    expect(all).toBe("0123456789ABCDEF");
    expect(textOf(output)).toBe(
      `0123456789\n\nThe output of work was truncated: 10 of 16 characters shown, all of it is in /files/${name}`,
    );
  });

  it("is cut at the limit of the configuration if that is lower than the tool's, between two visible characters", async () => {
    const many = { ...tool(says("1234567👨‍👩‍👧‍👦8")), maxOutput: 1_000 };
    const output = await callTool(many, call(), context, memoryFiles(), 10);
    expect(textOf(output)).toMatch(/^1234567\n\nThe output of work was truncated: 7 of 19 characters shown/);
  });

  it("of 20,000,000 characters keeps the first 8,000,000 in a file and says so", async () => {
    const files = memoryFiles();
    const output = await run(tool(says("x".repeat(20_000_000))), files);
    expect([...files.kept.values()][0]).toHaveLength(8_000_000);
    expect(textOf(output)).toContain("10 of 20000000 characters shown, the first 8000000 characters are in /files/");
  });

  it("has at most 1,000 parts, and images of at most 8,000,000 characters in all, and says so", async () => {
    const image = { type: "image" as const, data: "x".repeat(5_000_000), mimeType: "image/png" };
    const texts = Array.from({ length: 2_000 }, () => ({ type: "text" as const, text: "" }));
    const two = textOf(await run(tool(async () => ({ content: [image, image] }))));
    expect(two).toBe("[image]|1 images were left out: images have at most 8000000 characters in all.");
    const many = textOf(await run(tool(async () => ({ content: texts }))));
    expect(many).toContain("Only the first 1000 of 2000 parts of the output are shown.");
  });

  it("is cut in an error too", async () => {
    const output = await run(tool(() => Promise.reject(new TypeError("x".repeat(1_000_000)))));
    expect(textOf(output)).toHaveLength(4_000);
  });

  it("is not cut at exactly the limit", async () => {
    expect(textOf(await run(tool(says("0123456789"))))).toBe("0123456789");
  });

  it("keeps pictures, which are not counted", async () => {
    const picture = { type: "image" as const, data: "x".repeat(99), mimeType: "image/png" };
    const output = await run(tool(async () => ({ content: [picture, { type: "text", text: "0123456789ABC" }] })));
    expect(textOf(output)).toMatch(/^0123456789\n.*\|\[image\]$/s);
  });

  it("is also cut if the file cannot be written, and the note says so", async () => {
    const files: FileStore = {
      write: async () => {
        throw new TypeError("disk full");
      },
      read: async () => undefined,
    };
    const output = await run(tool(says("0123456789ABC")), files);
    expect(textOf(output)).toContain("the rest could not be kept: disk full");
    expect(output.isError).toBeFalsy();
  });

  it("of two calls with the same id is kept in two files", async () => {
    const files = memoryFiles();
    await run(tool(says("first first first")), files);
    await run(tool(says("second second second")), files);
    expect([...files.kept.values()]).toEqual(["first first first", "second second second"]);
  });

  it("is kept under a name that cannot leave the directory", async () => {
    const files = memoryFiles();
    await run(tool(says("0123456789ABC")), files, { callId: "../../etc/passwd\0" });
    const [name = ""] = [...files.kept.keys()];
    expect(name).toMatch(/^[\w.-]+$/);
    expect(name.startsWith(".")).toBe(false);
  });

  it("is never cut inside a character", async () => {
    const output = await run(tool(says(`012345678😀more`)));
    expect(textOf(output).isWellFormed()).toBe(true);
  });
});

describe("where the text of a result comes from", () => {
  const failing = () => Promise.reject(new TypeError("page not found"));
  const marked = { from: "file:a.md" };
  test.each<[string, Tool, unknown]>([
    ["a tool that reads here: nowhere", tool(says("ours"), { rights: ["read"] }), undefined],
    [
      "a tool with the network: from the tool",
      tool(says("page"), { rights: ["read", "network"] }),
      { from: "tool:work" },
    ],
    ["an error of such a tool too", tool(failing, { rights: ["network"] }), { from: "tool:work" }],
    ["an error of a tool that reads here: nowhere", tool(failing, { rights: ["read"] }), undefined],
    ["a tool whose results are always untrusted", tool(says("mail"), { untrusted: true }), { from: "tool:work" }],
    [
      "what the result itself says comes first",
      tool(async () => ({ ...(await says("x")()), untrusted: marked }), { rights: ["network"] }),
      marked,
    ],
  ])("%s", async (_name, one, from) => {
    expect((await run(one)).untrusted).toEqual(from);
  });
});

it("throws on a call that is suspended, which has no result yet", async () => {
  await expect(run(tool(() => Promise.reject(new SuspendedError("later"))))).rejects.toBeInstanceOf(SuspendedError);
});

it("has no error unless one is named", () => {
  expect(textOutput("fine")).toEqual({ content: [{ type: "text", text: "fine" }], isError: false });
});

it("says so if a result has a form that cannot be kept, and keeps nothing of it", async () => {
  const output = await run(tool(async () => ({ content: [{ type: "video" } as never] })));
  expect(output).toEqual(textOutput("The result of work has a form that cannot be kept.", true));
});

describe("the limits of a result", () => {
  const image = (size: number) => ({ type: "image" as const, data: "x".repeat(size), mimeType: "image/png" });
  const parts = (count: number) => Array.from({ length: count }, () => ({ type: "text" as const, text: "" }));
  test("are not reached by exactly 8,000,000 characters of images and 1,000 parts", async () => {
    const whole = await run(tool(async () => ({ content: [image(5_000_000), image(3_000_000)] })));
    expect(textOf(whole)).toBe("[image]|[image]");
    expect((await run(tool(async () => ({ content: parts(1_000) })))).content).toHaveLength(1_000);
    const over = await run(tool(async () => ({ content: [image(5_000_000), image(3_000_001)] })));
    expect(textOf(over)).toContain("1 images were left out");
    expect((await run(tool(async () => ({ content: parts(1_001) })))).content).toHaveLength(1_001);
  });

  test("name the file of a long output after its run, its call and its content", async () => {
    const files = memoryFiles();
    await run(tool(says("a long output")), files, { callId: `c/${"9".repeat(80)}` });
    const [name = ""] = files.kept.keys();
    expect(name).toMatch(/^r1-c_9{62}-[0-9a-f]{12}\.txt$/u);
    const digest = createHash("sha256").update("a long output").digest("hex");
    expect(name).toContain(`-${digest.slice(0, 12)}.txt`);
  });
});
