/** What a person said over HTTP is accepted at most once, and a program gets the answer to what it asked (M18). */
import type { Message } from "../../../src/core/message/message.ts";
import { tokensIn } from "../world/tokens.ts";
import { broken, type View, type Violation } from "./audit-view.ts";

export function* callers({ callerTokens, callerAnswers, rows, listed }: View): Iterable<Violation> {
  for (const token of callerTokens) {
    const times = rows.get(token)?.length ?? 0;
    if (times > 1) yield broken("M18", `${token} was accepted ${times} times`);
  }
  const messages = new Map<string, Message["body"]>(
    listed.flatMap(({ agent, messages: all }) => all.map(({ seq, body }) => [`${agent.id}/${seq}`, body] as const)),
  );
  for (const { person, token, agentId, seq } of callerAnswers) {
    const body = messages.get(`${agentId}/${seq}`);
    const answered = body && "text" in body ? tokensIn(body.text ?? "", "t") : [];
    if (!answered.includes(token)) {
      yield broken("M18", `${person} asked ${token} and got the answer to ${answered.join(", ") || "nothing"}`);
    }
  }
}
