/** One conversation, streaming. It stays at its end while the end is in sight. */
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, pathOf } from "../../../src/client-browser.ts";
import type { Delivery } from "../../../src/core/delivery/delivery.ts";
import { api, isLost, isSignedOut } from "../api.ts";
import { changes } from "../live.ts";
import { linkTo } from "../router.ts";
import { isOwner, signedOut } from "../session.ts";
import { t } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { Badge, Button, Empty, Problem, Rows, Skeleton } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";
import { DeliveryRow } from "../views/outbox.tsx";
import { Chat, placeSent } from "./chat.ts";
import { Composer, type Draft } from "./composer.tsx";
import { EntryView } from "./entries.tsx";
import { type Entry, onPath, resultsOf, saidIn, textOf } from "./entry.ts";
import { Find } from "./find.tsx";
import { Asks, LiveRunView } from "./live-run.tsx";
import { placeUnanswered, placeUndelivered, type Unanswered, useOutcomes } from "./outcomes.ts";
import { ownKey } from "./send.ts";
import { SentView } from "./sent-view.tsx";
import { UnansweredLine, UnansweredView } from "./unanswered-view.tsx";

export function Conversation({ id }: { id: string }) {
  const name = id === "main" && !isOwner() ? ownKey() : id;
  const chat = useMemo(() => new Chat(name), [name]);
  const [problem, setProblem] = useState<unknown>();
  const open = useCallback((): void => {
    setProblem(undefined);
    chat.open().catch((error) => {
      if (isSignedOut(error)) signedOut(t.signIn.ended);
      else setProblem(error);
    });
  }, [chat]);
  useEffect(() => {
    open();
    return () => chat.close();
  }, [open]);
  const version = changes.value;
  useEffect(() => {
    if (isLost(problem)) open();
  }, [version]);
  const isNew = id === "main" && problem instanceof ApiError && problem.status === 404;
  if (isNew) return <NewConversation />;
  if (problem !== undefined) return <Problem error={problem} retry={open} />;
  return <Opened chat={chat} />;
}

function NewConversation() {
  return (
    <div class="chat">
      <div class="chat-scroll">
        <Empty icon="chat" title={t.chat.emptyTitle}>
          <p>{t.chat.emptyText}</p>
        </Empty>
      </div>
      <Composer chat={undefined} name={t.chat.main} draft={NO_DRAFT} />
    </div>
  );
}

const NO_DRAFT: Draft = { text: "", n: 0 };

function Opened({ chat }: { chat: Chat }) {
  const agent = chat.agent.value;
  const draft = useSignal(NO_DRAFT);
  const branching = useSignal<Entry | undefined>(undefined);
  const isFinding = useSignal(false);
  if (!agent) return <Skeleton rows={6} />;
  const branchTo = async (entryId: string): Promise<void> => {
    await api.post(pathOf("api", "agents", agent.id, "branch"), { entryId });
    await chat.open();
    showDone(t.chat.branchDone);
  };
  const onEditText = (text: string): void => {
    draft.value = { text, n: draft.value.n + 1 };
  };
  const onBranch = (entry: Entry): void => {
    branching.value = entry;
  };
  return (
    <div class="chat">
      <header class="chat-head">
        <a class="button quiet only-icon chat-back" href={linkTo("conversations")} aria-label={t.common.back}>
          <Icon name="back" />
        </a>
        <div class="chat-title">
          <h2>{agent.name}</h2>
        </div>
        {chat.live.value && <Badge tone="ok">{t.chat.working.toLowerCase()}</Badge>}
        {agent.stopped !== null && <Badge tone="bad">{t.now.stopped}</Badge>}
        <Button
          kind="quiet"
          icon="search"
          label={t.chat.find}
          onClick={() => {
            isFinding.value = !isFinding.value;
          }}
        />
        {isOwner() && (
          <a class="button quiet" href={linkTo("agents", agent.id)}>
            {t.chat.details}
          </a>
        )}
      </header>
      {isFinding.value && <Find agentId={agent.id} />}
      <Scroll chat={chat} onBranch={onBranch} onEditText={onEditText} />
      <Composer chat={chat} name={agent.name} draft={draft.value} />
      {branching.value && (
        <Dialog
          title={t.chat.branchTitle}
          action={t.chat.branchAction}
          onAction={() => branchTo(branching.value?.id ?? "")}
          onClose={() => {
            branching.value = undefined;
          }}
        >
          <p>{t.chat.branchText}</p>
        </Dialog>
      )}
    </div>
  );
}

const NEAR_END = 80;

function Scroll({
  chat,
  onBranch,
  onEditText,
}: {
  chat: Chat;
  onBranch: (entry: Entry) => void;
  onEditText: (text: string) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const before = useRef<number>(undefined);
  const entries = chat.entries.value;
  const { path, hidden } = useMemo(() => onPath(entries, chat.leaf.value), [entries, chat.leaf.value]);
  const results = useMemo(() => resultsOf(entries), [entries]);
  const actions = useMemo(() => {
    const onEdit = (entry: Entry): void => onEditText(saidIn(textOf(entry)).text);
    return { onBranch, onEdit };
  }, [chat]);
  const live = chat.live.value;
  const { unanswered, undelivered, reload } = useOutcomes(chat.agent.value?.id ?? "", path);
  const missing = placeUnanswered(path, unanswered, { isFromStart: chat.older.value === null });
  const lost = placeUndelivered(path, undelivered);
  // A message that waits is shown with the reason, once it is known.
  const known = new Set(unanswered.map(({ seq }) => seq));
  const onTheWay = chat.sent.value.filter(({ seq }) => seq === undefined || !known.has(seq));
  const { above, below } = placeSent(onTheWay, live);
  useLayoutEffect(() => {
    const box = place.current;
    if (!box) return;
    // Earlier entries were added above: what is read stays in its place.
    if (before.current !== undefined) {
      box.scrollTop += box.scrollHeight - before.current;
      before.current = undefined;
    } else if (isAtEnd) box.scrollTop = box.scrollHeight;
  }, [entries, live, chat.sent.value, unanswered, undelivered]);
  const onScroll = (): void => {
    const box = place.current;
    if (box) setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END);
  };
  const older = async (): Promise<void> => {
    before.current = place.current?.scrollHeight;
    await chat.readOlder();
  };
  return (
    <div class="chat-scroll-box">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <div class="chat-scroll" ref={place} onScroll={onScroll} tabIndex={0} role="log" aria-label={t.chat.title}>
        {chat.older.value === null ? (
          <p class="chat-begin muted">{t.chat.beginning}</p>
        ) : (
          <div class="more">
            <Button kind="quiet" onClick={older}>
              {t.chat.older}
            </Button>
          </div>
        )}
        {hidden > 0 && <p class="chat-begin muted">{t.chat.blocked(hidden)}</p>}
        {path.map((placed) => (
          <Fragment key={placed.position}>
            <Without ones={missing.get(placed.position)} chat={chat} onEdit={onEditText} />
            <EntryView placed={placed} results={results} actions={actions} />
            {unanswered
              .filter(({ seq }) => placed.entry.seqs?.includes(seq))
              .map((one) => (
                <div class="chat-outcome" key={one.seq}>
                  <UnansweredLine one={one} chat={chat} onEdit={onEditText} />
                </div>
              ))}
            <Undelivered ones={lost.get(placed.position)} onChanged={reload} />
          </Fragment>
        ))}
        {above.map((one) => (
          <SentView key={one.key} one={one} chat={chat} onEdit={onEditText} />
        ))}
        <LiveRunView chat={chat} />
        {!live && chat.agent.value && <Asks agentId={chat.agent.value.id} />}
        <Without ones={missing.get(undefined)} chat={chat} onEdit={onEditText} />
        {below.map((one) => (
          <SentView key={one.key} one={one} chat={chat} onEdit={onEditText} />
        ))}
      </div>
      {!isAtEnd && (
        <div class="to-end">
          <Button
            icon="down"
            label={t.chat.newest}
            onClick={() => {
              place.current?.scrollTo({ top: place.current.scrollHeight });
            }}
          />
        </div>
      )}
    </div>
  );
}

/** Messages that the history does not contain. */
function Without({
  ones = [],
  chat,
  onEdit,
}: {
  ones?: readonly Unanswered[];
  chat: Chat;
  onEdit: (text: string) => void;
}) {
  return (
    <>
      {ones.map((one) => (
        <UnansweredView key={one.seq} one={one} chat={chat} onEdit={onEdit} />
      ))}
    </>
  );
}

function Undelivered({ ones, onChanged }: { ones?: readonly Delivery[]; onChanged: () => void }) {
  return ones ? (
    <div class="chat-outcome">
      <Rows label={t.chat.notDelivered}>
        {ones.map((one) => (
          <DeliveryRow key={one.id} delivery={one} onChanged={onChanged} />
        ))}
      </Rows>
    </div>
  ) : null;
}
