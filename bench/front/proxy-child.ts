/**
 * Runs in its own process: the least that a durable turn over HTTP needs, to compare the gateway with. A question is on the
 * disk before it is accepted and its answer before it ends. There is no history, no rights and no retry.
 */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

const [path = "", modelUrl = ""] = process.argv.slice(2);
const db = new DatabaseSync(path);
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
db.exec("CREATE TABLE turns (n INTEGER PRIMARY KEY, question TEXT, answer TEXT)");
const accept = db.prepare("INSERT INTO turns (question) VALUES (?)");
const finish = db.prepare("UPDATE turns SET answer = ? WHERE n = ?");

const server = createServer(async (asked, response) => {
  let question = "";
  for await (const piece of asked.setEncoding("utf8")) question += piece;
  const { messages } = JSON.parse(question) as { messages: readonly unknown[] };
  const { lastInsertRowid } = accept.run(question);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const call = request(`${modelUrl}/chat/completions`, { method: "POST" }, async (answered) => {
    let answer = "";
    for await (const piece of answered.setEncoding("utf8")) {
      answer += piece;
      // The end is sent after the commit.
      response.write(piece.replace("data: [DONE]\n\n", ""));
    }
    finish.run(answer, lastInsertRowid);
    response.end("data: [DONE]\n\n");
  });
  call.end(JSON.stringify({ model: "fake", stream: true, messages }));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
