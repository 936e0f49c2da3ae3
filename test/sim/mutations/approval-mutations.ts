/** Approvals broken around the engine: each names the law that must find it. */
import type { Op } from "../../../src/core/store/change.ts";
import { WATCHED_FILE } from "../world/approvers.ts";
import { type BreakPorts, committing } from "./break-ports.ts";
import type { Mutation } from "./mutations.ts";

/** Leaves ops out of changes, of all sites or of one. */
const without = (drop: (op: Op) => boolean, site?: string): BreakPorts =>
  committing((store, change) =>
    store.commit(
      site === undefined || change.site === site ? { ...change, ops: change.ops.filter((op) => !drop(op)) } : change,
    ),
  );

export const APPROVAL_MUTATIONS: readonly (Mutation & { readonly ports: BreakPorts })[] = [
  {
    name: "last answer wins",
    about: "an answer does not require that the question is pending",
    law: "L13",
    scenario: "approvals",
    ports: committing(async (store, change) => {
      const asked = change.ops.find((op) => op.op === "approval.decide");
      const row = change.site === "approval.decide" && asked ? await store.approval(asked.id) : undefined;
      const ops = change.ops.map((op) =>
        op.op === "approval.decide" && row ? { ...op, from: row.state as "pending" } : op,
      );
      return store.commit({ ...change, ops });
    }),
  },
  {
    name: "yes not used up",
    about: "the commit that starts a call leaves the yes as it is",
    law: "L13",
    scenario: "approvals",
    ports: without(({ op }) => op === "approval.use"),
  },
  {
    name: "yes not awaited",
    about: "a question counts as answered with yes as soon as it is asked",
    law: "L13",
    scenario: "approvals",
    ports: (ports) => {
      const { store } = ports;
      const approval: typeof store.approval = async (id) => {
        const row = await store.approval(id);
        return row && row.state === "pending" ? { ...row, state: "used" } : row;
      };
      return { ...ports, store: { ...store, approval } };
    },
  },
  {
    name: "late yes executes twice",
    about: "the message of a yes comes twice, and no run uses the yes up",
    law: "L13",
    scenario: "late-approvals",
    ports: committing((store, change) => {
      const posts = change.site === "approval.decide" ? change.ops.filter(({ op }) => op === "message.post") : [];
      const ops = change.ops.filter(({ op }) => op !== "approval.use");
      return store.commit({ ...change, ops: [...ops, ...posts] });
    }),
  },
  {
    name: "late yes only told",
    about: "the message of a yes does not name its question, so the agent is told and nothing is executed",
    law: "liveness",
    scenario: "late-approvals",
    ports: committing((store, change) => {
      const ops = change.ops.map((op): Op => {
        if (op.op !== "message.post" || op.message.body.kind !== "permission") return op;
        const { approval: _, ...body } = op.message.body;
        return { ...op, message: { ...op.message, body } };
      });
      return store.commit({ ...change, ops });
    }),
  },
  {
    name: "withdraw forgotten",
    about: "abort, stop and reset leave the questions open",
    law: "L13",
    scenario: "approvals-commands",
    from: 2,
    ports: without(({ op }) => op === "approval.withdraw"),
  },
  {
    name: "answer wakes no one",
    about: "an answer is stored, but posts no message",
    law: "liveness",
    scenario: "approvals",
    ports: without(({ op }) => op === "message.post", "approval.decide"),
  },
  {
    name: "expiry ignored",
    about: "a question that no one answers stays open",
    law: "liveness",
    scenario: "approvals",
    ports: without(() => true, "approval.expire"),
  },
  {
    name: "digest ignored",
    about: "the contents of files are not part of what is approved",
    law: "L13",
    scenario: "approvals-changed",
    from: 2,
    ports: (ports) => ({
      ...ports,
      files: {
        ...ports.files,
        read: async (path) => (path === WATCHED_FILE ? new TextEncoder().encode("same") : ports.files.read(path)),
      },
    }),
  },
];
