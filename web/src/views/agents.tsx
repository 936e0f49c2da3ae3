/** The tree of agents, live, and one agent with its settings, runs and what waits for it. */
import { useState } from "preact/hooks";
import type { AgentTree, TreeNode } from "../../../src/core/agent/agent-tree.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { useQuery } from "../query.ts";
import { linkTo, route } from "../router.ts";
import { t } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Badge, Button, Empty, Field, inputValue, Loaded, Time, type Tone, ViewHead } from "../ui/parts.tsx";
import { showDone } from "../ui/toast.tsx";
import { AgentDetail } from "./agent-detail.tsx";

export const STATE_TONES: Readonly<Record<string, Tone>> = { running: "ok", waiting: "warn", stopped: "bad" };
const LIMIT = 300;

export function Agents() {
  const { id } = route.value;
  return id === undefined ? <Tree /> : <AgentDetail key={id} id={id} />;
}

function Tree() {
  const [isCreating, setCreating] = useState(false);
  const tree = useQuery((signal) => api.get<AgentTree>("/api/tree", { limit: LIMIT }, signal), { key: "tree" });
  return (
    <div class="view">
      <ViewHead title={t.agents.title} text={t.agents.text}>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          {t.agents.create}
        </Button>
      </ViewHead>
      <Loaded query={tree} rows={8}>
        {({ roots, more }) =>
          roots.length === 0 ? (
            <Empty icon="agents" title={t.agents.none}>
              <p>{t.agents.noneText}</p>
            </Empty>
          ) : (
            <>
              <ul class="rows tree" aria-label={t.agents.title}>
                {roots.map((node) => (
                  <Node key={node.id} node={node} depth={0} />
                ))}
              </ul>
              {more && <p class="hint">{t.agents.more}</p>}
            </>
          )
        }
      </Loaded>
      {isCreating && <CreateAgent onClose={() => setCreating(false)} onCreated={tree.reload} />}
    </div>
  );
}

function Node({ node, depth }: { node: TreeNode; depth: number }) {
  const { id, kind, state, waiting, runId, tokens, lastActivityAt, children, more } = node;
  return (
    <>
      <li class="row tree-row" style={{ paddingLeft: `${14 + depth * 22}px` }}>
        <div class="row-lead">
          <span class={`pulse ${state === "running" ? "on" : ""}`} aria-hidden="true" />
        </div>
        <div class="row-main">
          <div class="row-title">
            <a class="row-name" href={linkTo("agents", id)}>
              {node.name}
            </a>
            <span class="row-side">
              <Badge tone={STATE_TONES[state] ?? "neutral"}>{t.agents.state[state]}</Badge>
            </span>
          </div>
          <div class="row-meta">
            <span>{kind}</span>
            {waiting > 0 && <span>{t.now.waits(waiting)}</span>}
            {runId && <a href={linkTo("runs", runId)}>{t.chat.runLink}</a>}
            <span>{t.agents.tokensUsed(count(tokens))}</span>
            <span>
              {t.agents.lastActive} <Time at={lastActivityAt} />
            </span>
          </div>
        </div>
      </li>
      {children.map((child) => (
        <Node key={child.id} node={child} depth={depth + 1} />
      ))}
      {more && (
        <li class="row tree-row muted" style={{ paddingLeft: `${36 + depth * 22}px` }}>
          <a href={linkTo("agents", id)}>{t.agents.moreBelow}</a>
        </li>
      )}
    </>
  );
}

function CreateAgent({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [systemPrompt, setPrompt] = useState("");
  const create = async (): Promise<void> => {
    await api.post("/api/agents", { name, description, systemPrompt });
    showDone(t.agents.created);
    onCreated();
  };
  return (
    <Dialog title={t.agents.create} action={t.agents.createAction} onClose={onClose} onAction={create}>
      <Field label={t.agents.name}>
        <input required maxLength={200} value={name} onInput={(event) => setName(inputValue(event))} />
      </Field>
      <Field label={t.agents.description}>
        <input required maxLength={2000} value={description} onInput={(event) => setDescription(inputValue(event))} />
      </Field>
      <Field label={t.agents.prompt}>
        <textarea required rows={5} value={systemPrompt} onInput={(event) => setPrompt(inputValue(event))} />
      </Field>
    </Dialog>
  );
}
