/** A chat agent on DBOS: a turn is a workflow, and calling the model and sending the answer are its steps. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { askModel, messagesOf, readTelegram, send, serveChat } from "./bot.mjs";

const url = process.env.DATABASE_URL;
const db = new pg.Pool({ connectionString: url });
await db.query(
  "CREATE TABLE IF NOT EXISTS turns (n SERIAL, id TEXT PRIMARY KEY, chat TEXT, question TEXT, answer TEXT)",
);
await db.query("CREATE INDEX IF NOT EXISTS turns_of_chat ON turns (chat, n)");

/** May run a second time for one message: then its own turn is stored already. */
async function answerOf(message) {
  const { id, chat, text } = message;
  const { rows } = await db.query("SELECT question, answer FROM turns WHERE chat = $1 AND id <> $2 ORDER BY n", [
    chat,
    id,
  ]);
  const answer = await askModel(message, messagesOf(rows, text));
  await db.query("INSERT INTO turns (id, chat, question, answer) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", [
    id,
    chat,
    text,
    answer,
  ]);
  return answer;
}

const turn = DBOS.registerWorkflow(
  async (message) => {
    const answer = await DBOS.runStep(() => answerOf(message), { name: "model" });
    if (message.isTelegram) await DBOS.runStep(() => send(message, answer), { name: "send" });
  },
  { name: "turn" },
);

DBOS.setConfig({ name: "bot", systemDatabaseUrl: url, logLevel: "error" });
await DBOS.launch();
const accept = (message) => DBOS.startWorkflow(turn, { workflowID: message.id })(message);
serveChat(async (message) => (await accept(message)).getResult());
await readTelegram(accept);
