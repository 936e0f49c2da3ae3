/** Plants a person with unique words in every table and in every part of a home, and looks for these words afterwards. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { personDirectory } from "../../../adapters/workspace/person-directory.ts";
import type { AgentId, DeliveryId, EntryId, RunId, SessionKey } from "../../../core/ids.ts";
import type { PersonId } from "../../../core/people/person.ts";
import type { PersonRecord } from "../../../core/people/person-record.ts";
import type { ApprovalId } from "../../../core/rights/approval.ts";
import type { CronJob } from "../../../core/schedule/job.ts";
import type { Op } from "../../../core/store/change.ts";
import type { Store } from "../../../core/store/store.ts";
import { childOf, idOf, keyOf, postOp, runBody, START, userBody, worldOn } from "../../testing/store-world.ts";

export const PERSON = "quokkaperson";
export const ACCOUNT = "telegram:77314159";
/** None of them may be anywhere when the person is forgotten, but where it is listed. */
export const WORDS = [PERSON, "77314159", "Nightingale", "zebrafinch"] as const;
const SAID = "the zebrafinch is a secret";
const KEY = "agent:main:telegram:dm:77314159" as SessionKey;
const behalf = { person: ACCOUNT as PersonId };
/** The group in which someone else holds a word about the person. */
export const AGENTS = [idOf("a1"), idOf("child")];
export const OTHERS = idOf("others");

const record: PersonRecord = {
  ...{ id: PERSON, name: "Quokka Nightingale", role: "guest", accounts: [ACCOUNT], grants: [] },
  ...{ createdAt: START, createdBy: "owner" },
};

/** Writes a row with one of the words into every table that can hold one, by ops only. */
export async function plantRows(store: Store): Promise<void> {
  const world = await worldOn(store);
  const user = { type: "user", connector: "telegram", userId: "77314159", channelId: "77314159" } as const;
  const seed = { ...world.seed("a1", user), sessionKey: KEY, person: ACCOUNT as PersonId };
  const child = { ...world.seed("child", childOf(seed.id, "zebrafinch child")), person: ACCOUNT as PersonId };
  await world.done([
    { op: "person.put", person: record },
    { op: "agent.create", seed },
    { op: "agent.create", seed: child },
  ]);
  const dedupe = { key: JSON.stringify(["telegram", "", "77314159", "7", 0]), keepUntil: Number.MAX_SAFE_INTEGER };
  const request = { by: "key", key: "api:token:1", digest: "d", keepUntil: Number.MAX_SAFE_INTEGER } as const;
  const message = { body: userBody(SAID), acceptedAt: START, behalf };
  await world.done([{ op: "message.post", to: { agentId: seed.id }, message, dedupe, request }]);
  await world.done([{ op: "message.post", to: { agentId: seed.id }, message }]);
  await world.done([{ op: "request.put", request, reply: JSON.stringify({ json: { text: SAID } }) }]);
  const [claimed] = await world.done([{ op: "agent.claim", agentId: seed.id, node: world.node }]);
  const epoch = claimed?.op === "agent.claim" ? (claimed.epoch ?? 0) : 0;
  const held = { id: seed.id, owner: { agentId: seed.id, node: world.node, epoch } };
  const runId = await world.openRun(held, "run-1", [1]);
  await world.done(ownOps(seed.id, runId), { ...held.owner, run: { id: runId, step: 1 } });
  await world.done([...looseOps(seed.id, child.id), ...(await othersOps(store))]);
}

const target = { channel: "telegram", to: "77314159" };

function ownOps(agentId: AgentId, runId: RunId): readonly Op[] {
  return [
    { op: "run.amend", runId, body: { ...runBody([1]), behalf } },
    { op: "entries.append", position: 2, lines: [JSON.stringify({ type: "note", text: SAID })], leaf: "e" as EntryId },
    {
      op: "delivery.add",
      delivery: {
        id: "d1" as DeliveryId,
        agentId,
        runId,
        target,
        payload: { text: SAID },
        createdAt: START,
      },
    },
    {
      op: "approval.ask",
      approval: {
        ...{ id: "ap" as ApprovalId, agentId, runId, callId: "c", behalf, tool: "exec", arguments: { command: SAID } },
        ...{ digest: "d", prompt: SAID, askedAt: START, dueAt: Number.MAX_SAFE_INTEGER },
      },
    },
    {
      ...{ op: "budget.reserve", id: "zebrafinch-reservation", runId },
      call: { prompt: 1, maxTokens: 1, leastTokens: 1, read: 1, write: 1 },
      rows: [{ key: `person:2026-01-22:${ACCOUNT}`, limit: { tokens: 1_000 } }],
    },
    { op: "budget.told", key: `person:2026-01-22:${ACCOUNT}` },
  ];
}

const job: CronJob = {
  ...{ id: "job-1", name: "zebrafinch job", enabled: true, createdAtMs: START, updatedAtMs: START, behalf },
  schedule: { kind: "every", everyMs: 60_000, anchorMs: START },
  ...{ sessionTarget: "isolated", wakeMode: "now", payload: { kind: "agentTurn", message: SAID } },
  state: { nextRunAtMs: Number.MAX_SAFE_INTEGER },
};

function looseOps(agentId: AgentId, child: AgentId): readonly Op[] {
  const key = KEY;
  const audit = (person: string, about: string): Op => ({
    op: "audit.add",
    entry: { at: START, person, surface: "telegram", action: "exec", target: about, decision: "allow", agentId },
  });
  return [
    { op: "job.put", job },
    {
      op: "job.slot",
      slot: {
        jobId: "job-1",
        slot: "s",
        revision: 1,
        dueAt: START,
        count: 1,
        status: "skipped",
        reason: SAID,
        at: START,
      } as never,
    },
    {
      op: "subagent.put",
      record: {
        ...{
          runId: "sub",
          childSessionKey: keyOf("child"),
          requesterSessionKey: key,
          requesterDisplayKey: key,
          task: SAID,
        },
        ...{ cleanup: "keep", createdAt: START, childAgentId: child, requesterAgentId: agentId, behalf },
      },
    },
    {
      op: "swarm.put",
      swarm: {
        ...{ nametag: "desk", owner: agentId, profile: "main", firstName: "Z", systemPrompt: SAID },
        ...{ memory: false, createdAt: START },
      },
    },
    { op: "swarm.contact", nametag: "desk", contact: agentId },
    {
      op: "wait.begin",
      id: "wait-zebrafinch",
      from: agentId,
      to: { agentId: child },
      runId: "run-1" as RunId,
    },
    ...[audit(ACCOUNT, SAID), audit("owner", PERSON), audit("owner", `${PERSON} abc`)],
    {
      op: "fact.put",
      key: "pairing",
      value: JSON.stringify({
        requests: [{ code: "1", account: ACCOUNT, channel: "telegram", name: "Nightingale", at: START, toldAt: START }],
        links: [{ code: "2", person: PERSON, until: START }],
        blocked: [ACCOUNT, "telegram:1"],
      }),
    },
    {
      op: "fact.put",
      key: "conversations",
      value: JSON.stringify({
        carried: { [`agent:main:dm:${PERSON}`]: KEY, "agent:main:dm:1": "agent:main:telegram:dm:1" },
      }),
    },
    { op: "fact.put", key: "question.1", value: JSON.stringify({ agentId, question: SAID, choices: [], target }) },
    {
      op: "fact.put",
      key: `mcp-input:${agentId}`,
      value: JSON.stringify({ agentId, inputs: [{ args: { text: SAID } }] }),
    },
    {
      op: "fact.put",
      key: "stale:1",
      value: JSON.stringify({ source: { connector: "telegram", channelId: "77314159" } }),
    },
    {
      op: "fact.put",
      key: "api.logins",
      value: JSON.stringify({
        by: "header",
        invitations: [],
        logins: [
          {
            id: "abcdefghijkl",
            hash: "0".repeat(64),
            person: PERSON,
            createdAt: Date.now(),
            expiresAt: 9_000_000_000_000,
          },
        ],
      }),
    },
  ];
}

/** Someone else's conversation. It mentions the person, and stays. */
async function othersOps(store: Store): Promise<readonly Op[]> {
  const world = await worldOn(store);
  const seed = { ...world.seed("others"), person: "owner" as PersonId };
  return [{ op: "agent.create", seed }, postOp({ agentId: seed.id }, userBody(`what did ${PERSON} say?`), START)];
}

/** Words in the parts of a home that no op writes. */
export function plantFiles(home: string): void {
  const own = join(home, "people", personDirectory(PERSON));
  const put = (path: string, text: string = SAID): void => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
  };
  put(join(own, "MEMORY.md"));
  put(join(home, "people", personDirectory(ACCOUNT), "notes.txt"));
  put(join(home, "agents-aside", idOf("a1"), "history.jsonl"));
  put(join(home, "processes", idOf("a1"), "p1", "output"));
  put(join(home, "workspace", "MEMORY.md"), `Call Quokka Nightingale.\n`);
  put(join(home, "backups", "rookery-20260122T100000000Z.tar.gz"), "an archive");
  put(join(home, "untrusted-files.jsonl"), `${JSON.stringify({ path: join(own, "x.md"), sha256: "0" })}\n`);
  put(
    join(home, "tokens.json"),
    JSON.stringify({
      version: 1,
      tokens: [
        {
          ...{ id: "abcdefghijkl", name: "zebrafinch phone", kind: "person", scopes: ["chat"], hash: "0".repeat(64) },
          ...{ createdAt: START, createdBy: "home", person: PERSON },
        },
      ],
    }),
  );
  appendFileSync(join(home, "rookery.json5"), "{}\n");
}

/** The files of a home, relative, whose bytes contain one of the words. */
export function filesWithWords(home: string, directory = home): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return filesWithWords(home, path);
    if (!stat?.isFile()) return [];
    const bytes = readFileSync(path);
    const named = WORDS.some((word) => bytes.includes(word) || path.slice(home.length).includes(word));
    return named ? [path.slice(home.length + 1)] : [];
  });
}
