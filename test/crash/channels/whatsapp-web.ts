/**
 * WhatsApp Web under `kill -9`. The phone counts a message as delivered when it hands it over, as the real one does; what is lost right
 * before a kill is counted. If it is asked, it gives the messages before one that it knows, as a phone does.
 */
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fakePackages } from "../../whatsapp-web/fake-package.ts";
import type { CrashTarget } from "../target.ts";
import { type ChannelWorld, crashChannel } from "./crash-channel.ts";

const USERS = 30;
/** A message that was handed over this long before a kill may be lost. */
const GAP_MS = 2_000;
const HISTORY = 50;

export const whatsappWebTarget: CrashTarget = {
  name: "whatsapp-web",
  run: (options) => crashChannel("whatsapp-web", openWorld, options),
};

interface Said {
  readonly jid: string;
  readonly mark: string;
  readonly message: { readonly key: { readonly id: string } };
  handedAt?: number;
}

async function openWorld(): Promise<ChannelWorld> {
  const packages = fakePackages(new URL("./fake-baileys.mjs", import.meta.url));
  const [said, waiting]: [Said[], { name: string; value: unknown; of?: Said }[]] = [[], []];
  const [shown, mayBeLost] = [new Map<string, string>(), new Set<string>()];
  const faults: ("cut-before" | "cut-after")[] = [];
  let [ids, histories] = [0, 0];
  let poll: ServerResponse | undefined;
  let linkedAt: number | undefined;
  const flush = (): void => {
    if (!poll || waiting.length === 0) return;
    // One at a time: each is counted as delivered when it is handed over.
    const events = waiting.splice(0, 1);
    for (const { of } of events) if (of) of.handedAt = performance.now();
    poll.end(JSON.stringify(events.map(({ name, value }) => ({ name, value }))));
    poll = undefined;
  };
  const sockets = new WeakSet<object>();
  /** The process is gone: what it was given last may be gone with it. */
  const gone = (): void => {
    poll = undefined;
    for (const one of said)
      if (one.handedAt !== undefined && performance.now() - one.handedAt < GAP_MS) mayBeLost.add(one.mark);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse((await text(request)) || "{}") as Record<string, string>;
    if (request.url === "/next") {
      poll = response;
      linkedAt ??= performance.now();
      if (!sockets.has(request.socket)) {
        sockets.add(request.socket);
        request.socket.once("close", gone);
      }
      return flush();
    }
    if (request.url === "/history") {
      histories += 1;
      const inChat = said.filter(({ jid, handedAt }) => jid === body.jid && handedAt !== undefined);
      const at = inChat.findIndex(({ message }) => message.key.id === body.id);
      const messages = inChat.slice(0, Math.max(0, at)).slice(-HISTORY);
      waiting.push({ name: "messaging-history.set", value: { messages: messages.map(({ message }) => message) } });
      response.end("{}");
      return flush();
    }
    const fault = faults.shift();
    if (fault === "cut-before") return void request.socket.destroy();
    shown.set(body.messageId ?? "", body.text ?? "");
    if (fault === "cut-after") request.socket.destroy();
    else response.end("{}");
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env.FAKE_PHONE = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env.ROOKERY_PACKAGES = packages;
  return {
    connectors: { "whatsapp-web": {} },
    act(random, token) {
      // What was said before the link is not for us.
      if (linkedAt === undefined || performance.now() < linkedAt + 1_500) return "moments before the link";
      if (random.int(0, 19) > 16 && faults.length === 0) {
        faults.push(random.int(0, 1) === 0 ? "cut-before" : "cut-after");
        return "faults";
      }
      const [jid, mark] = [`${491_000 + random.int(0, USERS - 1)}@s.whatsapp.net`, token()];
      const key = { remoteJid: jid, fromMe: false, id: `3EB0${++ids}` };
      const messageTimestamp = Math.floor(Date.now() / 1_000);
      const one = { jid, mark, message: { key, messageTimestamp, message: { conversation: `hello ${mark}` } } };
      said.push(one);
      waiting.push({
        name: "messages.upsert",
        value: { messages: [one.message], type: poll ? "notify" : "append" },
        of: one,
      });
      flush();
      return "texts";
    },
    pending: () => waiting.length,
    shown: () => [...shown.values()],
    counts: () => ({ "histories asked for": histories, "handed over right before a kill": mayBeLost.size }),
    mayBeLost: () => mayBeLost,
    async close() {
      server.closeAllConnections();
      server.close();
      rmSync(packages, { recursive: true, force: true });
    },
  };
}
