/**
 * Shows a run in a chat while it works: in private chats a draft with a Stop button, elsewhere typing and a status message. A draft vanishes by itself
 * and is no delivery (M28). Nothing here throws or is waited for by the run.
 */
import { createHash } from "node:crypto";
import type { RunId } from "../../../core/ids.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { LiveView } from "../../../core/ports/connector.ts";
import type { BotApi } from "./bot-api.ts";
import type { StatusMessage } from "./status-messages.ts";

/** A draft is shown for 30 seconds. */
const REFRESH_MS = 20_000;
const DRAFT_EVERY_MS = 1_000;
/** Typing is shown for 5 seconds. */
const TYPING_EVERY_MS = 4_000;
const MAX_DRAFT = 4_000;
const MAX_STATUS = 200;

/** The number of a run's draft: the same in every process, so that a Stop after a restart still finds its run. */
export const draftIdOf = (runId: RunId | string): number =>
  (createHash("sha256").update(runId).digest().readUInt32BE(0) % 0x7fff_fffe) + 1;

interface DraftDeps {
  readonly api: BotApi;
  readonly clock: Clock;
  readonly chatId: string;
  readonly threadId?: number;
  /** Undefined: only typing is shown. */
  readonly draftId?: number;
  /** In groups: the message that says what the run does. */
  readonly status?: StatusMessage;
  /** Whether another call fits beside the messages now. */
  mayCall(): boolean;
}

export interface ChatView extends LiveView {
  /** Resolves when no call is under way and none begins before the next text: a message is about to be sent. */
  quiet(): Promise<void>;
}

export function openView(deps: DraftDeps, closed: () => void): ChatView {
  const { api, clock, chatId, draftId } = deps;
  let text = "";
  let status = "";
  let dirty = true;
  let isClosed = false;
  let isQuiet = false;
  let calling: Promise<unknown> | undefined;
  let cancel = (): void => {};
  let refused = false;

  const show = async (): Promise<void> => {
    const shown = text === "" ? status : text;
    dirty = false;
    const place = { chat_id: Number(chatId), message_thread_id: deps.threadId };
    if (draftId === undefined || refused) {
      await api.call("sendChatAction", { ...place, action: "typing" });
      return;
    }
    const call = await api.call("sendMessageDraft", {
      ...place,
      draft_id: draftId,
      text: tailOf(shown),
      can_stop: true,
    });
    // A server or a chat without drafts: typing from now on.
    if (call.status === "refused" && call.code !== 429) refused = true;
  };
  const tick = (): void => {
    if (isClosed || isQuiet) return;
    const isTyping = draftId === undefined || refused;
    if (!calling && deps.mayCall()) {
      calling = show().finally(() => {
        calling = undefined;
      });
    }
    cancel = clock.after(isTyping ? TYPING_EVERY_MS : DRAFT_EVERY_MS, () =>
      isTyping || dirty || due() ? tick() : wait(),
    );
  };
  let shownAt = clock.monotonic();
  const due = (): boolean => {
    if (clock.monotonic() - shownAt < REFRESH_MS) return false;
    shownAt = clock.monotonic();
    return true;
  };
  /** Nothing new to show: looks again after the same pause. */
  const wait = (): void => {
    if (!isClosed && !isQuiet) cancel = clock.after(DRAFT_EVERY_MS, () => (dirty || due() ? tick() : wait()));
  };
  const changed = (): void => {
    dirty = true;
    if (!isQuiet || isClosed) return;
    isQuiet = false;
    cancel = clock.after(DRAFT_EVERY_MS, tick);
  };
  tick();
  return {
    text(now) {
      text = now;
      deps.status?.show("✍️");
      changed();
    },
    status(line) {
      status = line.slice(0, MAX_STATUS);
      deps.status?.show(status);
      if (text === "") changed();
    },
    close() {
      isClosed = true;
      cancel();
      deps.status?.close();
      closed();
    },
    async quiet() {
      isQuiet = true;
      cancel();
      await Promise.all([calling, deps.status?.quiet()]);
    },
  };
}

/** The end of a long text is what is new. */
function tailOf(text: string): string {
  if (text.length <= MAX_DRAFT) return text;
  const tail = text.slice(-MAX_DRAFT);
  return `…${tail.isWellFormed() ? tail : tail.slice(1)}`;
}
