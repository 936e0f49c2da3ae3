/** Runs in its own process: several people send one message after the other over HTTP. Prints turns per second and latencies. */
import { Agent, request } from "node:http";
import { median, percentile } from "../statistics.ts";

export interface LoadOptions {
  readonly port: number;
  readonly token: string;
  readonly model: string;
  /** Begins the names of the people. */
  readonly group: string;
  readonly people: number;
  readonly turns: number;
}

export interface Load {
  readonly turns: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Milliseconds to the first word of the answer, p50. */
  readonly firstWord: number;
}

const options = JSON.parse(process.argv[2] ?? "") as LoadOptions;
const { port, token, model } = options;
const agent = new Agent({ keepAlive: true, maxSockets: options.people });
const latencies: number[] = [];
const firstWords: number[] = [];

function say(user: string, question: string): Promise<void> {
  const begun = performance.now();
  const body = JSON.stringify({ model, user, stream: true, messages: [{ role: "user", content: question }] });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const path = "/v1/chat/completions";
    const asked = request({ agent, host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        const isFirst = !text.includes("word0");
        text += piece;
        if (isFirst && text.includes("word0")) firstWords.push(performance.now() - begun);
      });
      response.on("end", () => {
        latencies.push(performance.now() - begun);
        if (response.statusCode === 200 && text.includes("word9")) resolve();
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

async function person(name: string): Promise<void> {
  for (let turn = 0; turn < options.turns; turn++) await say(name, `turn ${turn} of ${name}`);
}

const begun = performance.now();
await Promise.all(Array.from({ length: options.people }, (_, n) => person(`${options.group}${n}`)));
const load: Load = {
  turns: latencies.length,
  perSecond: latencies.length / ((performance.now() - begun) / 1000),
  p50: median(latencies),
  p99: percentile(latencies, 0.99),
  firstWord: median(firstWords),
};
console.log(JSON.stringify(load));
agent.destroy();
