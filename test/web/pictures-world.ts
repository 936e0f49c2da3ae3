/** The contents of the control room's pictures: an ordinary day of a few people, made by real runs of a scripted model. */
import { api, type ModelCall, type Served, TOKEN } from "../e2e/serving.ts";
import { answer, callTool, send, sendAsAnn, sendMain, type World } from "./world.ts";

const BUILD = `The build is **green** again.

| step | time |
| --- | --- |
| tests | 3 min |
| package | 20 s |

1. The flaky test waited for the clock; it now uses a virtual one.
2. \`npm run check\` is clean.
`;

/** A part of what a person says, and the answer. */
const ANSWERS: readonly (readonly [string, string])[] = [
  ["green again", BUILD],
  ["build", "Not yet: one test fails now and then. I am looking into it."],
  ["Summarise", "Three decisions:\n\n- **Release** on Thursday\n- no new server\n- Dora writes the announcement"],
  ["overdue", "Two: **1042** (12 days) and **1055** (3 days). Shall I write the reminders?"],
  ["Italian", "*Ci vediamo in stazione alle otto.*"],
  ["What is new", "Two new issues, none urgent. One pull request waits for your review."],
];

const NOTES = "# Release 2.4\n\n- faster search\n- fixes the flaky test\n";

export function pictureScript(waiting: Set<() => void>): (call: ModelCall) => void {
  return (call) => {
    const { prompt } = call;
    if (call.body.messages.at(-1)?.role === "tool")
      return answer(call, "The notes are in `release.md`: faster search, and the fix of the flaky test.", 2_310, 41);
    if (prompt.includes("release notes")) return callTool(call, "write", { path: "release.md", content: NOTES });
    if (prompt.includes("plants"))
      return callTool(call, "write", { path: "notes.md", content: "- water the plants on Monday" });
    if (prompt.includes("Publish")) return callTool(call, "exec", { command: "git push origin main" });
    if (prompt.includes("invoices of")) {
      call.say("I am going through them, the oldest first.");
      waiting.add(() => answer(call, " All of them are paid."));
      return;
    }
    const said = ANSWERS.find(([part]) => prompt.includes(part))?.[1] ?? "Done.";
    answer(call, said, 2_140 + prompt.length, Math.ceil(said.length / 4));
  };
}

/** Fills a world of `pictureScript`. Returns the views by name. */
export async function fillForPictures({ served }: World): Promise<Readonly<Record<string, string>>> {
  await sendMain(served, "Is the build green?");
  await send(served, "dora", "How do I say in Italian that we meet at the station at eight?", { waitSeconds: 60 });
  await send(served, "carla", "Which invoices are overdue?", { waitSeconds: 60 });
  await send(served, "bob", "Summarise the meeting of this morning.", { waitSeconds: 60 });
  const jobId = await addAgentsAndFiles(served);
  await sendAsAnn(served, "Please add watering the plants to my notes.");
  await api(served, `/api/cron/${jobId}/run`, { method: "POST" });
  const { message } = await sendMain(served, "Write the release notes, please.");
  await sendMain(served, "Thanks. Is the build green again?");
  await send(served, "erik", "Please check the invoices of this year.");
  await send(served, "erik", "And then the invoices of last year.");
  const body = { user: "control-room", text: "Publish my changes.", thread: "website" };
  await api(served, "/api/terminal/messages", { method: "POST", body });
  return {
    now: "now",
    conversations: `conversations/${message.agentId}`,
    run: `runs/${message.runId}`,
    approvals: "approvals",
    inbox: "inbox",
    outbox: "outbox",
    agents: "agents",
    agent: `agents/${message.agentId}`,
    schedules: `schedules/${jobId}`,
    memory: "memory",
    spend: "spend",
    people: "people",
    person: "people/ann",
    health: "health",
  };
}

/** Returns the id of a schedule. */
async function addAgentsAndFiles(served: Pick<Served, "url">): Promise<string> {
  const post = (path: string, body: object) => api(served, path, { method: "POST", body });
  const schedule = { kind: "cron", expr: "0 7 * * 1-5" };
  const { id } = (await post("/api/cron", {
    ...{ name: "Morning news", schedule, payload: { message: "What is new?" } },
  })) as { id: string };
  await post("/api/agents", {
    name: "clerk",
    description: "Files receipts and invoices.",
    systemPrompt: "You file receipts and invoices.",
  });
  await post("/api/people", { id: "carla", name: "Carla", accounts: ["telegram:77"] });
  await fetch(`${served.url}/api/files?name=plan.md`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/octet-stream" },
    body: "# Plan\n\nWater the plants on Monday.\n",
  });
  const file = "workspace/memory/plants.md";
  const text = "# Plants\n\nThe ficus wants water on Fridays.\n";
  await post("/api/changes", { file, text, why: "it was too dry" });
  return id;
}
