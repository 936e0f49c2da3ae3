/** Every public function refuses an option that it does not know, in plain JavaScript too, and names the closest one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import * as clientEntry from "./client.ts";
import type { DeliveryId } from "./core/ids.ts";
import * as libraryEntry from "./index.ts";
import * as testingEntry from "./testing.ts";

const { createRookery, defineConnector, defineTool } = libraryEntry;
const { connectRookery } = clientEntry;
const { checkConnector, checkStore, checkTool, connectorKit, crashTool, failure, scripted, TestEngine, TestTools } =
  testingEntry;

/** Adds a key past the type checker, as a program without types can. */
const js = <T>(given: T, misspelt: object): T => ({ ...given, ...misspelt });

const tool = { name: "pay", description: "Pays", input: z.object({}), execute: () => "paid" };
const pager = { name: "pager", start: async () => {}, send: async () => undefined };

let rookery: libraryEntry.Rookery;
beforeAll(async () => {
  rookery = await createRookery({ home: "memory", model: scripted("hello"), env: {} });
});
afterAll(() => rookery.close());

/** The call, the misspelt key, and the key that the error suggests. */
type Row = readonly [name: string, call: () => unknown, key: string, meant: string];

/** An agent's name that is not used otherwise. */
const ann = () => rookery.agent("ann");
const drained = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events) break;
};

const FUNCTIONS: readonly Row[] = [
  ["createRookery", () => createRookery(js({ home: "memory" }, { modle: "x/y" })), "modle", "model"],
  ["createRookery config", () => createRookery({ home: "memory", config: { queu: {} } }), "queu", "queue"],
  [
    "createRookery config, deeper",
    () => createRookery({ home: "memory", config: { gateway: { prt: 1 } } }),
    "prt",
    "port",
  ],
  [
    "createRookery tools",
    () => createRookery({ home: "memory", tools: [js(defineTool(tool), { needYes: () => true })] }),
    "needYes",
    "needsYes",
  ],
  ["defineTool", () => defineTool(js(tool, { aproval: true })), "aproval", "approval"],
  ["defineConnector", () => defineConnector(js(pager, { sendingClas: "idempotent" })), "sendingClas", "sendingClass"],
  [
    "defineConnector capabilities",
    () => defineConnector({ ...pager, capabilities: js({ sendText: true }, { buttns: true }) }),
    "buttns",
    "buttons",
  ],
  [
    "defineConnector accept",
    () => {
      const message = { connector: "pager", userId: "b", channelId: "b", messageId: "1", text: "t" };
      const delivery = { channel: "pager", to: "b" };
      const start = async (host: { accept(given: object): Promise<unknown> }) =>
        void (await host.accept({ ...message, delivery, sendrName: "Bob" }));
      const connector = defineConnector({ ...pager, start });
      return createRookery({ home: "memory", connectors: [connector], model: scripted("x") });
    },
    "sendrName",
    "senderName",
  ],
  ["connectRookery", () => connectRookery(js({ url: "http://127.0.0.1:9" }, { tokn: "t" })), "tokn", "token"],
  ["connectRookery home", () => connectRookery(js({ home: "/nowhere" }, { tokn: "t" })), "tokn", "token"],
];

const METHODS: readonly Row[] = [
  ["agent.send", () => ann().send("a", js({}, { mailbx: true })), "mailbx", "mailbox"],
  ["agent.send queue", () => ann().send("a", { queue: js({}, { mdoe: "queue" }) }), "mdoe", "mode"],
  ["agent.send files", () => ann().send("a", { files: [js({ data: new Blob(["x"]) }, { nam: "x" })] }), "nam", "name"],
  ["agent.ask", () => ann().ask("a", js({}, { outptu: z.object({}) })), "outptu", "output"],
  ["agent.stream", () => drained(ann().stream("a", js({}, { aftr: "1" }))), "aftr", "after"],
  ["agent.history", () => ann().history(js({}, { limti: 1 })), "limti", "limit"],
  ["agent.messages", () => ann().messages(js({}, { stat: "failed" })), "stat", "state"],
  ["agent.transcript", () => ann().transcript(js({}, { sesion: "x" })), "sesion", "session"],
  ["agent.patch", () => ann().patch(js({}, { labl: "x" })), "labl", "label"],
  ["agent.reset", () => ann().reset(js({}, { idd: "x" })), "idd", "id"],
  ["agent.stop", () => ann().stop(js({}, { idd: "x" })), "idd", "id"],
  ["agent.compact", () => ann().compact(js({}, { instruction: "x" })), "instruction", "instructions"],
  ["agent.branch", () => ann().branch("e", js({}, { sumary: "x" })), "sumary", "summary"],
  [
    "permanent",
    () => rookery.permanent("p", js({ description: "d", systemPrompt: "p" }, { usrname: "x" })),
    "usrname",
    "username",
  ],
  ["agents.list", () => rookery.agents.list(js({}, { limti: 1 })), "limti", "limit"],
  ["agents.inbox", () => rookery.agents.inbox(js({}, { stat: "waiting" })), "stat", "state"],
  ["agents.tree", () => rookery.agents.tree(js({}, { dpth: 1 })), "dpth", "depth"],
  ["runs.list", () => rookery.runs.list("ann", js({}, { befor: "x" })), "befor", "before"],
  ["runs.wait", () => rookery.runs.wait(RUN, js({}, { timeout: 1 })), "timeout", "timeoutMs"],
  ["runs.events", () => drained(rookery.runs.events(RUN, js({}, { aftr: "1" }))), "aftr", "after"],
  ["outbox.list", () => rookery.outbox.list(js({}, { agnt: "x" })), "agnt", "agent"],
  ["approvals.list", () => rookery.approvals.list(js({}, { stat: "all" })), "stat", "state"],
  ["approvals.yes", () => rookery.approvals.yes("kmtb", js({ digest: "d" }, { alwys: "call" })), "alwys", "always"],
  ["approvals.no", () => rookery.approvals.no("kmtb", js({}, { reson: "x" })), "reson", "reason"],
  ["mailbox.list", () => rookery.mailbox("ann").list(js({}, { wit: 1 })), "wit", "wait"],
  ["mailbox.items", () => drained(rookery.mailbox("ann").items(js({}, { signl: 1 }))), "signl", "signal"],
  ["schedule.list", () => rookery.schedule.list(js({}, { al: true })), "al", "all"],
  ["schedule.add", () => rookery.schedule.add(js(JOB, { sesionTarget: "main" })), "sesionTarget", "sessionTarget"],
  [
    "schedule.add payload",
    () => rookery.schedule.add({ ...JOB, payload: js(JOB.payload, { delivr: true }) }),
    "delivr",
    "deliver",
  ],
  ["schedule.add options", () => rookery.schedule.add(JOB, js({}, { idd: "x" })), "idd", "id"],
  [
    "schedule.update",
    async () => rookery.schedule.update((await rookery.schedule.add(JOB)).id, js({}, { enabeld: false })),
    "enabeld",
    "enabled",
  ],
  ["schedule.runs", () => rookery.schedule.runs("j", js({}, { limti: 1 })), "limti", "limit"],
  ["schedule.heartbeats", () => rookery.schedule.heartbeats(js({}, { limti: 1 })), "limti", "limit"],
  ["spawn", () => rookery.spawn("ann", "t", js({}, { modle: "x" })), "modle", "model"],
  ["subagents.list", () => rookery.subagents.list(js({}, { requestr: "x" })), "requestr", "requester"],
  ["swarm.list", () => rookery.swarm.list(js({}, { limti: 1 })), "limti", "limit"],
  ["swarm.create", () => rookery.swarm.create(js(SWARM, { memry: true })), "memry", "memory"],
  ["swarm.create options", () => rookery.swarm.create(SWARM, js({}, { idd: "x" })), "idd", "id"],
  ["people.list", () => rookery.people.list(js({}, { limti: 1 })), "limti", "limit"],
  ["people.add", () => rookery.people.add(js({ id: "bob" }, { rol: "owner" })), "rol", "role"],
  [
    "people.add grants",
    () => rookery.people.add({ id: "bob", grants: [js({ allow: "*" }, { nte: "x" })] }),
    "nte",
    "note",
  ],
  ["people.add options", () => rookery.people.add({ id: "bob" }, js({}, { idd: "x" })), "idd", "id"],
  ["people.update", () => rookery.people.update("bob", js({}, { langage: "en" })), "langage", "language"],
  ["people.grant", () => rookery.people.grant("bob", "exec", js({}, { verdct: "ask" })), "verdct", "verdict"],
  ["permissions.list", () => rookery.permissions.list(js({}, { persn: "x" })), "persn", "person"],
  ["permissions.add", () => rookery.permissions.add("ask", "exec", js({}, { becuse: "x" })), "becuse", "because"],
  ["permissions.remove", () => rookery.permissions.remove("exec", js({}, { persn: "x" })), "persn", "person"],
  ["permissions.test", () => rookery.permissions.test("exec", js({}, { headles: true })), "headles", "headless"],
  ["changes.list", () => rookery.changes.list(js({}, { fil: "x" })), "fil", "file"],
  ["changes.write", () => rookery.changes.write("x", "y", js({}, { dryrunn: true })), "dryrunn", "dryRun"],
  ["skills.install", () => rookery.skills.install([SKILL], js({}, { replac: true })), "replac", "replace"],
  ["skills.install files", () => rookery.skills.install([js(SKILL, { txt: "x" })]), "txt", "text"],
  ["budgets.lift", () => rookery.budgets.lift("x", js({}, { dolars: 1 })), "dolars", "dollars"],
  ["files.put", () => rookery.files.put(new Blob(["x"]), js({}, { nam: "x" })), "nam", "name"],
  ["files.get", () => rookery.files.get("file_x", js({}, { usr: "x" })), "usr", "user"],
  ["files.list", () => rookery.files.list(js({}, { usr: "x" })), "usr", "user"],
  ["files.usage", () => rookery.files.usage(js({}, { usr: "x" })), "usr", "user"],
  ["files.remove", () => rookery.files.remove("file_x", js({}, { usr: "x" })), "usr", "user"],
  ["files.removeAll", () => rookery.files.removeAll(js({}, { persn: "x" })), "persn", "person"],
  ["search", () => rookery.search("x", js({}, { limti: 1 })), "limti", "limit"],
  ["events", () => drained(rookery.events(js({}, { aftr: "1" }))), "aftr", "after"],
];

const RUN = "01890000-0000-7000-8000-000000000000";
const JOB = {
  name: "report",
  schedule: { kind: "cron", expr: "0 3 * * *" },
  payload: { kind: "agentTurn", message: "report" },
} as const;
const SWARM = { nametag: "shop", firstName: "Shop", systemPrompt: "You sell." } as const;
const SKILL = { path: "SKILL.md", text: "---\nname: x\n---\n" } as const;

const REQUEST = { model: "m", system: "", messages: [], tools: [], sessionId: "s" };

const TESTING: readonly Row[] = [
  ["checkTool", () => checkTool(js({ tool: defineTool(tool), input: {} }, { abortMS: 1 })), "abortMS", "abortMs"],
  [
    "checkStore",
    () => checkStore(js({ open: async () => testingEntry.memoryStore() }, { reopn: 1 })),
    "reopn",
    "reopen",
  ],
  [
    "checkConnector",
    () =>
      checkConnector(
        js(
          {
            connector: () => defineConnector(pager),
            bring: async () => {},
            delivery: { id: "d" as DeliveryId, target: { channel: "pager", to: "x" }, payload: {} },
          },
          { bringg: 1 },
        ),
      ),
    "bringg",
    "bring",
  ],
  [
    "connectorKit",
    () =>
      connectorKit(() =>
        js(
          { connector: () => defineConnector(pager), target: { channel: "pager", to: "x" }, shown: () => [] },
          { previws: 1 },
        ),
      )[0]?.run(),
    "previws",
    "previews",
  ],
  ["crashTool", () => crashTool(js(defineTool(tool), { replai: "safe" }), {}), "replai", "replay"],
  ["TestEngine.open", () => TestEngine.open(js({}, { scrpt: () => "x" })), "scrpt", "script"],
  ["TestEngine tools", () => TestEngine.open({ tools: { t: js({}, { replai: "safe" }) } }), "replai", "replay"],
  ["TestEngine.unloaded", () => TestEngine.unloaded(js({}, { tols: {} })), "tols", "tools"],
  ["TestTools", () => new TestTools({ t: js({}, { replai: "safe" }) }), "replai", "replay"],
  ["failure", () => failure("transient", js({}, { mesage: "x" })), "mesage", "message"],
  [
    "scripted",
    () => scripted(js({ call: [] }, { sya: "x" })).call(REQUEST, new AbortController().signal, () => {}),
    "sya",
    "say",
  ],
];

/** The error of a call, thrown or rejected. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each([
  ["rookery and rookery/client", FUNCTIONS],
  ["methods of an engine", METHODS],
  ["rookery/testing", TESTING],
] as const)("unknown keys of %s", (_, rows) => {
  it.each(rows)("%s refuses a misspelt key", async (_name, call, key, meant) => {
    const error = await errorOf(call);
    expect(error).toMatchObject({ code: "invalid_input" });
    expect(String((error as Error).message)).toContain(`Unknown key "${key}". Did you mean "${meant}"?`);
  });
});

describe("the table of unknown keys", () => {
  it("covers every function that the entry points export", () => {
    const withoutOptions = ["fileFromPath", "channel", "virtualClock", "echo", "inTurn", "lastText", "stall"];
    const others = [...withoutOptions, "dieAt", "faultyStore", "memoryStore"];
    const exported = [libraryEntry, clientEntry, testingEntry].flatMap((entry) =>
      Object.entries(entry).flatMap(([name, value]) =>
        typeof value === "function" && !name.endsWith("Error") && !others.includes(name) ? [name] : [],
      ),
    );
    const covered = [...FUNCTIONS, ...TESTING].map(([name]) => name.split(/[ .]/)[0]);
    expect([...new Set(exported)].filter((name) => !covered.includes(name))).toEqual([]);
  });

  it("covers every method of an engine that takes options", () => {
    const resources = Object.entries(rookery).flatMap(([name, value]) =>
      typeof value === "object" && value !== null ? Object.keys(value).map((method) => `${name}.${method}`) : [name],
    );
    const handle = Object.getOwnPropertyNames(Object.getPrototypeOf(ann())).map((method) => `agent.${method}`);
    const box = Object.keys(rookery.mailbox("ann")).map((method) => `mailbox.${method}`);
    const covered = METHODS.map(([name]) => name.split(" ")[0]);
    expect([...resources, ...handle, ...box].filter((name) => !covered.includes(name)).sort()).toEqual(
      `agent agent.constructor agent.inbox agent.remove agent.state agentFor agents.get agents.memory approvals.get budgets.list
      changes.file changes.get changes.undo close fetch home mailbox mailbox.ack mailbox.file on outbox.drop outbox.get
      outbox.retry people.export people.forget people.get people.invite people.link people.remove people.revoke
      people.unlink permissions.explain runs.abort runs.get runs.steer schedule.get schedule.remove schedule.run
      settled skills.get skills.list skills.remove subagents.get subagents.release subagents.send
      subagents.stop swarm.get swarm.remove usage`
        .split(/\s+/)
        .sort(),
    );
  });
});
