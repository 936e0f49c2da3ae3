/** Names that stand for nothing are refused where they are set, with the closest one, and nothing is changed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestGateway, type TestGateway } from "./gateway.test-kit.ts";

let kit: TestGateway;
let agentId: string;

beforeAll(async () => {
  kit = await openTestGateway({
    config: {
      models: {
        default: "local/qwen",
        providers: {
          local: {
            api: "openai-completions",
            baseUrl: "http://127.0.0.1:9/v1",
            apiKeys: { work: { env: "K" }, home: { env: "K" } },
            models: [{ id: "qwen", thinking: ["off", "low"] }, { id: "plain" }],
          },
        },
      },
      profiles: { work: {}, family: {} },
      subagents: { allowAgents: ["*"] },
    },
  });
  const made = await kit.ask({
    method: "POST",
    path: "/api/agents",
    body: { name: "clerk", description: "d", systemPrompt: "p" },
  });
  agentId = String(made.json.agentId);
  expect(made.status).toBeLessThan(300);
});
afterAll(() => kit.close());

const turn = (payload: object) => ({
  ...{ name: "n", schedule: { kind: "every", everyMs: 60_000 }, sessionTarget: "isolated" },
  payload: { kind: "agentTurn", message: "m", ...payload },
});

/** Where, the request, and what it answers; undefined: it is accepted. */
type Row = readonly [where: string, method: string, path: string, body: object, error: string | undefined];

const STATE = "/api/agents/AGENT/state";
const TABLE: readonly Row[] = [
  [
    "a model",
    "PATCH",
    STATE,
    { modelOverride: "local/qwne" },
    'There is no model "local/qwne". Did you mean "local/qwen"?',
  ],
  ["a model without its provider", "PATCH", STATE, { modelOverride: "plian" }, 'There is no model "plian"'],
  [
    "a model of an unknown provider",
    "PATCH",
    STATE,
    { modelOverride: "antropic/x" },
    'There is no provider "antropic". Did you mean "anthropic"?',
  ],
  [
    "a model that no catalogue has",
    "PATCH",
    STATE,
    { modelOverride: "anthropic/claude-sonet-5" },
    'There is no model "anthropic/claude-sonet-5". Did you mean "anthropic/claude-sonnet-5"? If it is newer than this program, list it in models.providers.anthropic.models.',
  ],
  [
    "a model of a catalogue",
    "PATCH",
    STATE,
    { modelOverride: "anthropic/claude-sonnet-5", thinkingLevel: null },
    undefined,
  ],
  ["a listed model", "PATCH", STATE, { modelOverride: "local/plain" }, undefined],
  [
    "a provider",
    "PATCH",
    STATE,
    { providerOverride: "locl", modelOverride: null },
    'There is no provider "locl". Did you mean "local"?',
  ],
  [
    "a thinking level that the model does not have",
    "PATCH",
    STATE,
    { modelOverride: "local/qwen", thinkingLevel: "high" },
    'The model local/qwen cannot think at the level "high". Possible are: off, low.',
  ],
  [
    "a thinking level that the model has",
    "PATCH",
    STATE,
    { modelOverride: "local/qwen", thinkingLevel: "low" },
    undefined,
  ],
  [
    "a thinking level that does not exist",
    "PATCH",
    STATE,
    { thinkingLevel: "lots" },
    'thinkingLevel: expected one of "off", "minimal", "low", "medium", "high", "xhigh".',
  ],
  [
    "an auth profile",
    "PATCH",
    STATE,
    { modelOverride: "local/qwen", authProfileOverride: "wrok" },
    'There is no auth profile of local "wrok". Did you mean "work"?',
  ],
  [
    "an auth profile with its provider",
    "PATCH",
    STATE,
    { authProfileOverride: "local:hoem" },
    'There is no auth profile of local "hoem". Did you mean "home"?',
  ],
  [
    "an auth profile of an unknown provider",
    "PATCH",
    STATE,
    { authProfileOverride: "locla:work" },
    'There is no provider "locla"',
  ],
  ["an auth profile that there is", "PATCH", STATE, { authProfileOverride: "local:work" }, undefined],
  ["spaces around a model", "PATCH", STATE, { modelOverride: "  local/plain ", thinkingLevel: null }, undefined],
  [
    "the thinking level of a child",
    "POST",
    "/api/agents/AGENT/spawn",
    { task: "t", model: "local/qwen", thinking: "high" },
    'Invalid thinking level "high". Use one of: off, low.',
  ],
  [
    "the profile of a child",
    "POST",
    "/api/agents/AGENT/spawn",
    { task: "t", agentId: "wrok" },
    'There is no agentId "wrok" in the configuration. Did you mean "work"?',
  ],
  [
    "an interval below a second",
    "POST",
    "/api/cron",
    { ...turn({}), schedule: { kind: "every", everyMs: 999 } },
    "everyMs must be at least 1000 (one second)",
  ],
  [
    "an interval of a second",
    "POST",
    "/api/cron",
    { ...turn({}), schedule: { kind: "every", everyMs: 1_000 } },
    undefined,
  ],
  [
    "the profile of a job",
    "POST",
    "/api/cron",
    { ...turn({}), agentId: "wrok" },
    'There is no profile "wrok". Did you mean "work"?',
  ],
  [
    "the channel of a job",
    "POST",
    "/api/cron",
    turn({ channel: "telegrm", to: "42" }),
    'There is no channel "telegrm". Did you mean "telegram"?',
  ],
  [
    "the model of a job",
    "POST",
    "/api/cron",
    turn({ model: "local/qwne" }),
    'There is no model "local/qwne". Did you mean "local/qwen"?',
  ],
  [
    "the thinking level of a job",
    "POST",
    "/api/cron",
    turn({ thinking: "hihg" }),
    'There is no thinking level "hihg". Did you mean "high"?',
  ],
  [
    "the time zone of a job",
    "POST",
    "/api/cron",
    { ...turn({}), schedule: { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berln" } },
    "Did you mean",
  ],
  [
    "a job",
    "POST",
    "/api/cron",
    { ...turn({ channel: " Telegram ", to: "42", model: "local/plain" }), agentId: " work " },
    undefined,
  ],
  [
    "the profile that is woken",
    "POST",
    "/api/wake",
    { text: "t", profile: "famly" },
    'There is no profile "famly". Did you mean "family"?',
  ],
  [
    "the profile of a completion",
    "POST",
    "/v1/chat/completions",
    { model: "wrok", messages: [{ role: "user", content: "hi" }] },
    'There is no model "wrok". Did you mean "work"?',
  ],
  ["the time zone of a person", "POST", "/api/people", { id: "ann", timeZone: "Europe/Rom" }, "Did you mean"],
];

describe("a name that stands for nothing", () => {
  it.each(TABLE)("%s", async (_, method, path, body, error) => {
    const response = await kit.ask({ method, path: path.replace("AGENT", agentId), body });
    if (error === undefined) return expect(response.status, response.text).toBeLessThan(300);
    expect(response.status, response.text).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    const { message, hint } = response.json.error as { message: string; hint?: string };
    expect(`${message} ${hint ?? ""}`).toContain(error);
  });
});

describe("a chat command with a name that stands for nothing", () => {
  const say = async (text: string): Promise<string> => {
    const { json } = await kit.ask({ method: "POST", path: "/api/terminal/messages", body: { user: "owner", text } });
    const [sent] = json.messages as readonly { agentId: string; seq: number }[];
    const path = `/api/terminal/messages/${sent?.agentId}/${sent?.seq}?waitSeconds=60`;
    const { replies } = (await kit.ask({ path })).json as unknown as { replies: { text: string }[] };
    return replies.map((one) => one.text).join("\n");
  };

  it.each([
    ["/model local/qwne", 'There is no model "local/qwne". Did you mean "local/qwen"? Nothing was changed.'],
    ["/model local/qwen", "Model: local/qwen."],
    [
      "/think high",
      'The model local/qwen cannot think at the level "high". Possible are: off, low. Nothing was changed.',
    ],
    ["/think low", "Thinking: low."],
    ["/model local/plain", "Model: local/plain."],
  ])("%s", async (text, answer) => {
    expect(await say(text)).toContain(answer);
  });
});
