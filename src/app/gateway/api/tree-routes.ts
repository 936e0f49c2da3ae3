/** The tree of agents as it is, and following everything: which begin and end. A reader that comes back is told what it missed. */
import { z } from "zod";
import { DEFAULT_LIMIT, MAX_DEPTH, MAX_LIMIT } from "../../../engine/subagents/live-tree.ts";
import type { Frame } from "../events/event-stream-writer.ts";
import { openEventStream } from "../events/open-event-stream.ts";
import type { TreeEvent } from "../events/tree-feed.ts";
import { ANSWERED, defineRoute } from "../http/route.ts";
import { agentOf, limitQuery, numberQuery } from "./inputs.ts";

const LISTED = 500;

export const treeRoute = defineRoute({
  method: "GET",
  path: "/api/tree",
  access: "read",
  tag: "agents",
  summary: "Who started whom: states, what waits, what was used; below `root`, or from the top with the newest first",
  query: z.object({
    root: z.string().min(1).max(512).optional(),
    depth: numberQuery(MAX_DEPTH),
    limit: limitQuery(MAX_LIMIT, DEFAULT_LIMIT),
  }),
  answers: { status: 200, holds: "`{ at, roots: [{ id, state, waiting, tokens, children, … }], more }`" },
  async handle({ context, query: { root, depth, limit } }) {
    const top = root === undefined ? undefined : (await agentOf(context, root)).id;
    return { json: await context.agents.tree.read({ depth, limit, ...(top ? { root: top } : {}) }) };
  },
});

export const diagnosisRoute = defineRoute({
  method: "GET",
  path: "/api/diagnosis",
  access: "read",
  tag: "health",
  summary: "What is under way and what is stuck",
  answers: { status: 200, holds: "the diagnosis" },
  handle: async ({ context }) => ({ json: await context.agents.diagnose() }),
});

export const treeEventsRoute = defineRoute({
  method: "GET",
  path: "/api/events",
  access: "read",
  tag: "streams",
  summary: "Follow all agents; `Last-Event-ID` goes on where a reader left, or the tree comes anew",
  answers: { status: 200, holds: "events: tree, changed, start, step, restart, error, end", type: "text/event-stream" },
  async handle(call) {
    const { context } = call;
    const missed = context.tree.after(call.header("last-event-id"));
    // Followed from this moment on, told when the tree has been read.
    const waiting: TreeEvent[] = [...(missed ?? [])];
    let open = false;
    const frameOf = ({ n, type, data }: TreeEvent): Frame => frame(context.tree.idOf(n), type, data);
    const last = context.tree.last;
    const writer = openEventStream(call);
    writer.onClose(
      context.tree.follow((event) => {
        if (open) writer.write(frameOf(event));
        else waiting.push(event);
      }),
    );
    if (!missed) {
      const tree = await context.agents.tree.read({ limit: LISTED });
      writer.write(frame(context.tree.idOf(last), "tree", { type: "tree", ...tree }));
    }
    for (const event of waiting) writer.write(frameOf(event));
    open = true;
    return ANSWERED;
  },
});

const frame = (id: string, event: string, data: object): Frame => ({
  text: "",
  render: () => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
});
