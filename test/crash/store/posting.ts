/** A person who posts forever to one agent after another, and sometimes sends the same message twice. */
import type { AgentSeed } from "../../../src/core/agent/agent.ts";
import { freshState } from "../../../src/core/agent/fresh-state.ts";
import type { EntryId, SessionId, SessionKey } from "../../../src/core/ids.ts";
import { type ActorRegistry, acceptedLine, commit } from "./crowd.ts";

/** Padding for every entry beside its token, so that steps have a realistic size. */
export const WEIGHT = "w".repeat(300);

export async function postForever(crowd: ActorRegistry, writer: number): Promise<never> {
  for (let n = 0; ; n++) {
    const token = `t${crowd.round}.${writer}.${n}`;
    const agent = crowd.random.int(0, crowd.agents - 1);
    if (crowd.ackEarly) crowd.say(acceptedLine(`early` as never, 0, token));
    const posted = await post(crowd, agent, token);
    if (posted.duplicate) throw new Error(`${token} is new and was reported as a duplicate.`);
    crowd.say(acceptedLine(posted.agentId, posted.seq, token));
    const wake = crowd.wake.get(posted.agentId) ?? crowd.newAgent;
    wake();
    if (crowd.random.chance(0.1)) {
      const again = await post(crowd, agent, token);
      if (!again.duplicate || again.seq !== posted.seq) throw new Error(`${token} was accepted twice.`);
    }
  }
}

async function post(crowd: ActorRegistry, agent: number, token: string) {
  const sessionKey = `agent:main:crash:dm:${agent}` as SessionKey;
  const [posted] = await commit(crowd, "crash.post", [
    {
      op: "message.post",
      to: { sessionKey, create: seedOf(crowd, sessionKey, agent) },
      message: { body: { kind: "user", text: token }, acceptedAt: Date.now() },
      dedupe: { key: `crash|${token}`, keepUntil: Number.MAX_SAFE_INTEGER },
      claimFor: crowd.node,
    },
  ]);
  if (posted?.op !== "message.post") throw new Error("No answer to a post.");
  return posted;
}

function seedOf(crowd: ActorRegistry, sessionKey: SessionKey, agent: number): AgentSeed {
  const sessionId = crowd.ids.uuid() as SessionId;
  const descriptor = { type: "user", connector: "crash", userId: String(agent), channelId: String(agent) } as const;
  const leaf = crowd.ids.uuid() as EntryId;
  return {
    id: crowd.ids.agent(),
    sessionKey,
    profile: "main",
    descriptor,
    state: freshState(Date.now()),
    sessionId,
    lines: [
      JSON.stringify({ type: "session", version: 2, id: sessionId, timestamp: new Date().toISOString(), descriptor }),
      JSON.stringify({ type: "start", id: leaf, parentId: null, sessionId, timestamp: Date.now() }),
    ],
    leaf,
    createdAt: Date.now(),
  };
}
