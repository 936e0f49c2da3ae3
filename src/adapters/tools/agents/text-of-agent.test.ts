import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../core/agent/agent.ts";
import { freshState } from "../../../core/agent/fresh-state.ts";
import type { AgentState } from "../../../core/agent/state.ts";
import type { AgentId, SessionKey } from "../../../core/ids.ts";
import type { Behalf } from "../../../core/people/behalf.ts";
import { OWNER, type PersonId } from "../../../core/people/person.ts";
import { isMarkedName, shortened } from "./long-text.ts";
import { isUntrustedFor, textOfAgent } from "./text-of-agent.ts";

const ANN = "ann" as PersonId;
const agent = (person: PersonId, state: Partial<AgentState> = {}): AgentRecord =>
  ({ id: "other" as AgentId, person, state: { ...freshState(1), ...state } }) as AgentRecord;
const reader = (person: PersonId, behalf: Behalf = { person }, state: Partial<AgentState> = {}) => ({
  agent: agent(person, state),
  behalf,
});

describe("text of another agent", () => {
  it.each<[string, AgentRecord, Behalf, boolean]>([
    ["of the same person is trusted", agent(OWNER), { person: OWNER }, false],
    ["of another person is not", agent(ANN), { person: OWNER }, true],
    ["of the agent's person is not, if the run acts for another", agent(OWNER), { person: ANN }, true],
    ["with the mark is not", agent(OWNER, { untrusted: true }), { person: OWNER }, true],
    ["of one that was made with the mark is not", agent(OWNER, { madeUntrusted: true }), { person: OWNER }, true],
  ])("%s", (_, other, behalf, expected) => {
    expect(textOfAgent(reader(OWNER, behalf), other)).toEqual(expected ? { from: "agent:other" } : undefined);
    expect(textOfAgent(reader(OWNER, behalf), undefined)).toBeUndefined();
  });

  it.each<[string, ReturnType<typeof reader>, AgentRecord | undefined, boolean]>([
    ["to an agent of the same person", reader(OWNER), agent(OWNER), false],
    ["to a new agent", reader(OWNER), undefined, false],
    ["to another person's agent", reader(OWNER), agent(ANN), true],
    ["of a run with the mark", reader(OWNER, { person: OWNER, untrusted: true }), agent(OWNER), true],
    ["of a run for several people", reader(OWNER, { person: OWNER, through: [ANN] }), agent(OWNER), true],
    ["of a session with the mark", reader(OWNER, { person: OWNER }, { untrusted: true }), agent(OWNER), true],
  ])("that is too long to send names its mark: %s", async (_, writer, to, expected) => {
    const untrusted = isUntrustedFor(writer, to);
    expect(untrusted).toBe(expected);
    const names: string[] = [];
    const files = { write: async (name: string) => `/files/${names.push(name) && name}` };
    const key = "agent:main:x" as SessionKey;
    await shortened(files, "long text", { maxCharacters: 4, to: key, untrusted });
    expect(names.map((name) => isMarkedName(name, key))).toEqual([expected]);
  });
});
