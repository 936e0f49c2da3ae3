/**
 * How a message makes its agent talk to others: simulated tools over the program's real ones. The agent that a call talks to and
 * its text follow from the token alone, as a model's arguments do, so that a repeated call is the same call.
 */
import { z } from "zod";
import type { AgentToolDeps } from "../../../src/adapters/tools/agents/agent-tool-deps.ts";
import { agentTools } from "../../../src/adapters/tools/agents/agent-tools.ts";
import { sessionKeyOf } from "../../../src/core/agent/session-key.ts";
import type { SessionKey } from "../../../src/core/ids.ts";
import type { Tool, ToolContext, ToolHost } from "../../../src/core/ports/tool.ts";
import { SWARM, saidToken, spokenTo, TALK, type Talk } from "../world/talk.ts";
import { tokenText } from "../world/tokens.ts";
import type { Participants, Person } from "./subject.ts";

const input = z.object({ token: z.string() });
type Input = z.infer<typeof input>;

/** Two waits and a slow model call stay below the time limit of a run. */
const ASK_SECONDS = 8;

/** The tools of a host, and those by which agents talk. */
export function withTalk(host: ToolHost, world: AgentToolDeps, participants: Participants): ToolHost {
  const real = new Map(agentTools(world).map((tool) => [tool.name, tool]));
  const keyOf = (talk: Talk, token: string): SessionKey => {
    const target = spokenTo(talk, token, participants);
    // A name is as good as a key.
    if (target && "permanentAgent" in target) return target.permanentAgent as SessionKey;
    const { channel, user, members } = target as Person;
    const peerKind = members ? "group" : "dm";
    return sessionKeyOf({ type: "user", connector: channel, userId: user, channelId: user, peerKind }, "main");
  };
  const call = (name: string, given: object, context: ToolContext) => (real.get(name) as Tool).execute(given, context);

  const does: Record<Talk, (given: Input, context: ToolContext) => ReturnType<Tool["execute"]>> = {
    tell: ({ token }, context) => say(token, "tell", context),
    whisper: ({ token }, context) => say(token, "whisper", context),
    report: ({ token }, context) =>
      call("send_agent_message", { text: tokenText(saidToken("report", token)) }, context),
    missing: ({ token }, context) =>
      call("send_agent_message", { text: tokenText(saidToken("missing", token)), agentId: "no such agent" }, context),
    ask: ({ token }, context) => ask(token, "ask", "", context),
    askround: ({ token }, context) => ask(token, "askround", " tool:askback ", context),
    askback: ({ token }, context) => ask(token, "askback", "", context),
    contact: ({ token }, context) => {
      const text = `${tokenText(saidToken("contact", token))} tool:reply `;
      return call("send_user_message", { text, nametag: SWARM }, context);
    },
    reply: ({ token }, context) => call("send_agent_message", { text: tokenText(saidToken("reply", token)) }, context),
  };
  const say = (token: string, talk: Talk, context: ToolContext) =>
    call(
      "send_agent_message",
      {
        text: tokenText(saidToken(talk, token)),
        agentId: keyOf(talk, token),
        silent: talk === "whisper" ? true : undefined,
      },
      context,
    );
  const ask = async (token: string, talk: Talk, more: string, context: ToolContext) => {
    const sessionKey = keyOf(talk, token);
    const over = participants.waits(context.agent.sessionKey, sessionKey);
    const message = `${tokenText(saidToken(talk, token))}${more}`;
    const output = await call("sessions_send", { sessionKey, message, timeoutSeconds: ASK_SECONDS }, context);
    const said = output.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    // If the store did not answer, the wait may still begin, and its end is unknown here.
    if (said.startsWith("{")) over(said.includes("is waiting for it"));
    return output;
  };

  const tools = TALK.map((talk): Tool<Input> => {
    const like = real.get(talk.startsWith("ask") ? "sessions_send" : "send_agent_message") as Tool;
    return { ...like, name: `sim_${talk}`, input, execute: does[talk] };
  });
  return {
    list: (agent) => [...host.list(agent), ...(tools as Tool[])],
    find: (agent, name) => host.find(agent, name) ?? (tools.find((tool) => tool.name === name) as Tool | undefined),
  };
}
