import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { request as requestSecure } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDocument, printsDocumentsOf } from "../../src/app/cli/command-document.test-kit.ts";
import { EXIT } from "../../src/app/cli/exit-code.ts";
import { needs } from "../kit/needs.ts";
import { type FakeModel, fakeModel, type Served, serve, TOKEN, userMessage } from "./serving.ts";

let model: FakeModel;
let served: Served;
beforeAll(async () => {
  model = await fakeModel();
  served = await serve(model);
});
afterAll(async () => {
  await served.stop();
  await model.close();
});

describe("a serving process", () => {
  it("sets its own memory limit and stays the same process", () => {
    expect(served.pid).toBe(served.process.pid);
    if (!existsSync("/proc")) return;
    const flags = readFileSync(`/proc/${served.pid}/cmdline`, "utf8").split("\0");
    expect(flags).toEqual(expect.arrayContaining(["--max-old-space-size=1024"]));
    expect(served.errors()).toBe("");
  });

  it("says with --json where it listens and where its token is, and why it does not start", async () => {
    const argv = ["serve", "--home", served.home, "--port", "0", "--json"];
    await checkDocument(argv, { code: 0, out: served.document, err: "" });
    expect(JSON.parse(served.document)).toMatchObject({ port: served.port, pid: served.pid, token: "ROOKERY_TOKEN" });
    const env = { ...process.env, ROOKERY_TOKEN: TOKEN, K: "k" };
    const second = spawnSync(process.execPath, ["src/main.ts", ...argv], { encoding: "utf8", env });
    await checkDocument(argv, { code: second.status ?? 0, out: second.stdout, err: second.stderr });
    expect([second.status, second.stdout]).toEqual([EXIT.store, ""]);
    expect(JSON.parse(second.stderr).error).toMatchObject({ code: "home_locked", retryable: true });
  });

  it("does not start on another address without TLS, with an invalid port, or without its certificate", () => {
    const home = mkdtempSync(join(tmpdir(), "rookery-process-"));
    const start = (...argv: string[]) =>
      spawnSync(process.execPath, ["src/main.ts", "serve", "--home", home, ...argv], {
        encoding: "utf8",
        env: { ...process.env, ROOKERY_TOKEN: TOKEN },
      });
    try {
      writeFileSync(join(home, "rookery.json5"), `{ models: { default: "offline" } }`);
      expect(start("--host", "0.0.0.0", "--port", "0")).toMatchObject({
        status: 3,
        stderr: expect.stringContaining("without TLS"),
      });
      expect(start("--port", "70000")).toMatchObject({ status: 2 });
      writeFileSync(join(home, "rookery.json5"), `{ gateway: { tls: { cert: "none.pem", key: "none.pem" } } }`);
      expect(start("--port", "0")).toMatchObject({ status: 3, stderr: expect.stringContaining("gateway.tls.cert") });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it("speaks TLS with the configured certificate", needs("openssl"), async () => {
    const made = mkdtempSync(join(tmpdir(), "rookery-tls-"));
    const [key, cert] = [join(made, "key.pem"), join(made, "cert.pem")];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-keyout",
        key,
        "-out",
        cert,
      ],
      { stdio: "ignore" },
    );
    const secure = await serve(model, { gateway: { tls: { cert, key } } });
    expect(secure.url).toMatch(/^https:/);
    const { port } = secure;
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      requestSecure(
        { host: "127.0.0.1", port, path: "/v1/models", headers, ca: readFileSync(cert), servername: "localhost" },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      )
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
    await secure.stop();
    rmSync(made, { recursive: true, force: true });
  });

  it("answers malformed requests with a 4xx", async () => {
    const raw = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(served.port, "127.0.0.1", () => socket.end(text));
        let read = "";
        socket.on("data", (chunk) => {
          read += chunk.toString();
        });
        socket.on("close", () => resolve(read.split("\r\n")[0] ?? ""));
        socket.on("error", () => undefined);
      });
    expect(await raw("NONSENSE\r\n\r\n")).toMatch(/400/);
    expect(await raw("GET / HTTP/1.1\r\n\r\n")).toMatch(/400/);
    expect(await raw(`GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`)).toMatch(/4\d\d/);
    const { status } = await new Promise<{ status: number }>((resolve, reject) => {
      const asked = request(
        {
          port: served.port,
          host: "127.0.0.1",
          path: "/api/cron",
          method: "POST",
          headers: {
            authorization: `Bearer ${TOKEN}`,
            "content-type": "application/json",
            "transfer-encoding": "chunked",
          },
        },
        (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0 });
        },
      );
      asked.on("error", reject);
      for (let n = 0; n < 40; n++) asked.write("x".repeat(64 * 1024));
      asked.end();
    });
    expect(status).toBe(413);
  });

  it("answers others while one person posts a word of 300,000 letters, three times", async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    model.script = (call) => {
      call.say("ok");
      call.end();
    };
    const answers: Promise<unknown>[] = [];
    for (let n = 0; n < 3; n++) {
      const body = { model: "main", user: "ann", messages: userMessage("a".repeat(300_000)) };
      const post = fetch(`${served.url}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) });
      answers.push(post.then((response) => response.json()));
    }
    let done = false;
    const all = Promise.all(answers).finally(() => {
      done = true;
    });
    while (!done) {
      const health = await fetch(`${served.url}/healthz`, { signal: AbortSignal.timeout(20_000) });
      expect(health.status).toBe(200);
    }
    await all;
  });
});

printsDocumentsOf("serve");
