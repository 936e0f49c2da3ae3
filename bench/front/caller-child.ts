/** Runs in its own process: several people send one message after the other over HTTP. Prints turns per second and latencies. */
import { Agent, request } from "node:http";

const [port = "", token = "", people = "20", turns = "100", path = "/v1/chat/completions"] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(people) });
const latencies: number[] = [];

function say(user: string, text: string): Promise<void> {
  const body = JSON.stringify({
    model: "main",
    user,
    stream: path !== "/v1/chat/completions",
    messages: [{ role: "user", content: text }],
  });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () =>
        response.statusCode === 200 && text.includes("word9")
          ? resolve()
          : reject(new Error(`${response.statusCode} ${text}`)),
      );
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

async function person(name: string): Promise<void> {
  for (let turn = 0; turn < Number(turns); turn++) {
    const begun = performance.now();
    await say(name, `turn ${turn} of ${name}`);
    latencies.push(performance.now() - begun);
  }
}

const begun = performance.now();
await Promise.all(Array.from({ length: Number(people) }, (_, n) => person(`p${n}`)));
const seconds = (performance.now() - begun) / 1000;
latencies.sort((one, other) => one - other);
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
console.log(
  JSON.stringify({ perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), turns: latencies.length }),
);
agent.destroy();
