/** A message that waits or got no answer, with its state and actions. */
import { newKey, pathOf } from "../../../src/client-browser.ts";
import { api } from "../api.ts";
import { isOwner } from "../session.ts";
import { t } from "../texts.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Button } from "../ui/parts.tsx";
import type { Chat } from "./chat.ts";
import { saidIn } from "./entry.ts";
import type { Unanswered } from "./outcomes.ts";
import { sendMessage } from "./send.ts";
import { Bubble, StateLine } from "./sent-view.tsx";

interface UnansweredProps {
  readonly one: Unanswered;
  readonly chat: Chat;
  readonly onEdit: (text: string) => void;
}

export const UnansweredView = (props: UnansweredProps) => (
  <Bubble text={saidIn(props.one.text).text}>
    <UnansweredLine {...props} />
  </Bubble>
);

/** The line alone, below an entry of the history. */
export function UnansweredLine({ one: { seq, text, state, why }, chat, onEdit }: UnansweredProps) {
  const said = saidIn(text).text;
  const again = (): void => {
    void sendMessage(chat, { key: newKey(), text: said, files: [], mode: "queue", during: chat.live.peek()?.runId });
  };
  const drop = (): Promise<unknown> =>
    api.post(pathOf("api", "agents", chat.agent.peek()?.id ?? "", "messages", String(seq), "drop"));
  const isWaiting = state === "waiting";
  return (
    <StateLine state={t.chat.states[state] ?? state} tone={isWaiting ? "warn" : "bad"} why={why}>
      {isWaiting && isOwner() && (
        <Confirm
          text={t.inbox.drop}
          title={t.inbox.dropTitle}
          body={t.inbox.dropText}
          done={t.inbox.droppedNow}
          onConfirm={drop}
        />
      )}
      {!isWaiting && said.trim() !== "" && (
        <>
          <Button icon="retry" onClick={again}>
            {t.inbox.sendAgain}
          </Button>
          <Button onClick={() => onEdit(said)}>{t.inbox.edit}</Button>
        </>
      )}
    </StateLine>
  );
}
