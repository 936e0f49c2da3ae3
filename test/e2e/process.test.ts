import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FakeModel, fakeModel, type Served, serve, TOKEN } from "./serving.ts";

let model: FakeModel;
let served: Served | undefined;
beforeAll(async () => {
  model = await fakeModel();
});
afterEach(async () => {
  await served?.stop();
  served = undefined;
});
afterAll(() => model.close());

describe("a serving process", () => {
  it("sets its own limits, stays the same process, and hands its settings to nobody", async () => {
    served = await serve(model);
    expect(served.pid).toBe(served.process.pid);
    if (!existsSync("/proc")) return;
    const flags = readFileSync(`/proc/${served.pid}/cmdline`, "utf8").split("\0");
    expect(flags).toEqual(expect.arrayContaining(["--max-old-space-size=1024"]));
    expect(served.errors()).toBe("");
  });

  it("does not start on another address without TLS, on a port that is taken, or with a bad flag", () => {
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

  it.skipIf(spawnSync("openssl", ["version"]).status !== 0)("speaks TLS with the certificate it is given", async () => {
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
    served = await serve(model, { gateway: { tls: { cert, key } } });
    expect(served.url).toMatch(/^https:/);
    const { port } = served;
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      request(
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
    rmSync(made, { recursive: true, force: true });
  });
});
