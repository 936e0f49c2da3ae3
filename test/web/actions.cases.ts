/**
 * Every action of every view: what the sources of the page send to change something, and that the tests before have sent it. An action
 * that is added to a view without a test fails here.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../kit/needs.ts";
import type { Room } from "./room.ts";

const WEB = join(import.meta.dirname, "../../web/src");
const AGENT = "/api/agents/[^/]+";

/** By file: the requests of its actions. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  "session.ts": ["POST /api/logins", "DELETE /api/logins/[^/]+"],
  "files.ts": ["POST /api/files"],
  "conversation/conversation.tsx": [`POST ${AGENT}/branch`],
  "conversation/composer.tsx": [`POST ${AGENT}/stop`],
  "conversation/send.ts": ["POST /api/terminal/messages", `POST ${AGENT}/messages`],
  "conversation/outcomes.ts": ["POST /api/deliveries/ack"],
  "conversation/unanswered-view.tsx": [`POST ${AGENT}/messages/\\d+/drop`],
  "ui/approval-row.tsx": ["POST /api/approvals/[^/]+"],
  "views/memory.tsx": ["DELETE /api/files/[^/]+"],
  "views/notes.tsx": ["POST /api/changes", "POST /api/changes", "POST /api/changes/\\d+/undo"],
  "views/inbox.tsx": [`POST ${AGENT}/messages`, `POST ${AGENT}/messages/\\d+/drop`],
  "views/outbox.tsx": ["POST /api/outbox/[^/]+/retry", "POST /api/outbox/[^/]+/drop", "POST /api/outbox/[^/]+/edit"],
  "views/person-detail.tsx": [
    "POST /api/people/[^/]+/invitations",
    "DELETE /api/people/[^/]+/data",
    "POST /api/people/[^/]+/accounts",
    "DELETE /api/people/[^/]+/accounts",
    "POST /api/people/[^/]+/grants",
    "DELETE /api/people/[^/]+/grants",
    "PATCH /api/people/[^/]+",
  ],
  "views/agents.tsx": ["POST /api/agents"],
  "views/agent-detail.tsx": [
    `POST ${AGENT}/start`,
    `POST ${AGENT}/(?:stop-tree|reset)`,
    `POST ${AGENT}/compact`,
    `PATCH ${AGENT}/state`,
  ],
  "views/health.tsx": ["POST /api/config/reload"],
  "views/people.tsx": ["POST /api/people", "POST /api/pairings/[^/]+", "DELETE /api/logins/[^/]+"],
  "views/spend.tsx": ["POST /api/budgets/[^/]+/lift"],
  "views/run.tsx": [
    `POST ${AGENT}/branch`,
    `POST ${AGENT}/messages`,
    "POST /api/runs/[^/]+/abort",
    `POST ${AGENT}/branch`,
  ],
  "views/schedules.tsx": [
    "POST /api/cron/[^/]+/run",
    "PATCH /api/cron/[^/]+",
    "DELETE /api/cron/[^/]+",
    "POST /api/heartbeat/run",
    "POST /api/cron",
  ],
};

const SENDS = /\bapi\s*\.\s*(?:post|patch|delete)\b|method: "POST"/g;

export const actionCases = (room: () => Room) =>
  describe("every action of every view", needs("chromium"), () => {
    it("is in the table", () => {
      const files = readdirSync(WEB, { recursive: true, encoding: "utf8" }).filter(
        (name) => /\.tsx?$/.test(name) && !/\.test(?:-kit)?\.tsx?$/.test(name),
      );
      const counts = files.flatMap((name) => {
        const sent = readFileSync(join(WEB, name), "utf8").match(SENDS)?.length ?? 0;
        return sent === 0 ? [] : [[name, sent] as const];
      });
      const table = Object.entries(ACTIONS).map(([name, actions]) => [name, actions.length] as const);
      expect(Object.fromEntries(counts)).toEqual(Object.fromEntries(table));
    });

    it("was carried out in the browser, and the server did it", () => {
      const carriedOut = [...room().carriedOut];
      const missing = [...new Set(Object.values(ACTIONS).flat())].filter(
        (action) => !carriedOut.some((request) => new RegExp(`^${action}$`).test(request)),
      );
      expect(missing).toEqual([]);
    });
  });
