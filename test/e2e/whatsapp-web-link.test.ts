/**
 * A phone is linked over WhatsApp Web, as a person does it: the code in a real terminal and in a real browser, read back by a decoder that is
 * not ours. The engine is a real process; only the package that speaks with WhatsApp is scripted.
 */
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../src/app/cli/cli.test-kit.ts";
import { needs } from "../kit/needs.ts";
import { qrInPicture, qrInTerminal } from "../kit/read-qr.ts";
import { KEYS, MAIN, TestTerminal } from "../kit/terminal.ts";
import { openBrowser, signIn, startBrowser } from "../web/browser.ts";
import { fakePackages } from "../whatsapp-web/fake-package.ts";
import { ScriptedPhone } from "../whatsapp-web/scripted-phone.ts";
import { api, type FakeModel, fakeModel, type Served, serve } from "./serving.ts";

/** As long as real ones are. */
const codeOf = (n: number): string =>
  `2@${n}${"aZ09+/".repeat(12)},${"k".repeat(44)},${"i".repeat(44)},${"s".repeat(44)}`;
const PAIRING = "K7XM-2PQR";
/** Part of the session. Whoever has it can write as the phone. */
const PLANTED = "planted-session-8f3a61c2";
const ME = { id: "4915999:3@s.whatsapp.net", lid: "888:3@lid" };
const PEOPLE = { records: { ann: { name: "Ann", role: "guest" } } };

let phone: ScriptedPhone;
let packages: string;
let model: FakeModel;
let served: Served;
let browser: Browser;

beforeAll(async () => {
  phone = await new ScriptedPhone().start();
  packages = fakePackages(new URL("../whatsapp-web/scripted-baileys.mjs", import.meta.url));
  Object.assign(process.env, { ROOKERY_PACKAGES: packages, FAKE_PHONE: phone.url, PLANTED_SESSION: PLANTED });
  model = await fakeModel();
  [served, browser] = await Promise.all([
    serve(model, { gateway: { publicUrl: "http://localhost:1" }, more: { people: PEOPLE } }),
    startBrowser(),
  ]);
});
afterAll(async () => {
  await browser.close();
  await served.stop();
  await model.close();
  await phone.close();
  rmSync(packages, { recursive: true, force: true });
});

const terminal = (...args: readonly string[]): TestTerminal =>
  new TestTerminal({ args: [MAIN, ...args, "--home", served.home], cols: 200, rows: 60 });
const rookery = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [MAIN, ...args, "--home", served.home])).stdout;
const qr = (socket: number, n: number): void => phone.emit(socket, "connection.update", { qr: codeOf(n) });

describe("channels add whatsapp-web", needs("chromium"), () => {
  it("asks for the owner, shows each code in the terminal and the browser until the phone is linked, and the first message is answered", async () => {
    const connecting = terminal("channels", "add", "whatsapp-web");
    await connecting.until("Your own phone number");
    connecting.type(`+49 170 1234${KEYS.enter}`);
    await connecting.until("whatsapp-web:491701234 is you");
    await expect.poll(() => phone.sockets, { timeout: 30_000 }).toBe(1);
    qr(1, 1);
    await connecting.until("make the window higher");
    expect(qrInTerminal(connecting)).toBe(codeOf(1));
    // The same code in the control room, which follows it.
    const owner = await openBrowser(browser, served);
    owner.context.setDefaultTimeout(60_000);
    await signIn(owner, served, "health");
    const code = owner.page.getByRole("img", { name: /scan/iu });
    await code.waitFor();
    expect(await qrInPicture(await code.screenshot())).toBe(codeOf(1));
    expect(await seenBy({ scopes: ["chat", "read"], person: "ann" })).toEqual([403, false]);
    expect(await seenBy({ scopes: ["read"] })).toEqual([200, false]);
    qr(1, 2);
    await connecting.until(() => qrInTerminal(connecting) === codeOf(2));
    await expect.poll(async () => qrInPicture(await code.screenshot()), { timeout: 30_000 }).toBe(codeOf(2));
    phone.emit(1, "connection.update", { connection: "open", me: ME });
    await connecting.until("It is linked (+4915999)");
    expect(await connecting.exited).toBe(0);
    await code.waitFor({ state: "detached" });
    await owner.page.getByText("+4915999").first().waitFor();
    expect(owner.problems).toEqual([]);
    await owner.close();
    const messageTimestamp = Math.floor(Date.now() / 1_000) + 1;
    const key = { remoteJid: "491701234@s.whatsapp.net", fromMe: false, id: "3EB01" };
    const messages = [{ key, messageTimestamp, pushName: "Me", message: { conversation: "are you there?" } }];
    phone.emit(1, "messages.upsert", { messages, type: "notify" });
    await expect
      .poll(() => phone.sent)
      .toMatchObject([{ jid: "491701234@s.whatsapp.net", text: "echo: are you there?" }]);
  });

  it("with the phone's number shows a code to type, to the owner only, and no other place names it", async () => {
    const flags = ["--name", "second", "--phone", "+49 170 9999", "--owner", "+49 170 9999"];
    const connecting = terminal("channels", "add", "whatsapp-web", ...flags);
    await expect.poll(() => phone.sockets, { timeout: 30_000 }).toBe(2);
    qr(2, 4);
    await connecting.until(`and enter ${PAIRING}`);
    expect(phone.paired).toEqual(["491709999"]);
    expect(await rookery("channels", "list")).toContain(`second: On the phone, open Linked devices`);
    const places = ["/api/health", "/api/diagnosis", "/api/logs", "/api/config"];
    const seen = JSON.stringify(await Promise.all(places.map((path) => api(served, path))));
    expect(seen).toContain("waits for you to enter a code");
    expect(seen).not.toContain(PAIRING);
    phone.emit(2, "connection.update", { connection: "open", me: { id: "491709999:1@s.whatsapp.net" } });
    await connecting.until("It is linked (+491709999)");
    expect(await connecting.exited).toBe(0);
    expect(await rookery("channels", "list")).not.toContain(PAIRING);
  });

  it("shows the code again after the phone has removed the device, in rookery channels list", async () => {
    phone.emit(2, "connection.update", {
      connection: "close",
      lastDisconnect: { error: { output: { statusCode: 401 }, message: "logged out" } },
    });
    await expect.poll(() => phone.sockets, { timeout: 30_000 }).toBe(3);
    qr(3, 5);
    await expect.poll(() => rookery("channels", "list"), { timeout: 30_000 }).toContain(PAIRING);
  });

  it("with --json shows the code beside the document, which says that the phone is linked", async () => {
    const flags = ["--name", "third", "--phone", "+49 170 8888", "--owner", "+49 170 8888", "--json"];
    const connecting = runCommand(["channels", "add", "whatsapp-web", ...flags, "--home", served.home], {
      env: { ROOKERY_PACKAGES: packages },
      onError(text) {
        if (text.includes(PAIRING))
          phone.emit(4, "connection.update", { connection: "open", me: { id: "491708888:1@s.whatsapp.net" } });
      },
    });
    await expect.poll(() => phone.sockets, { timeout: 30_000 }).toBe(4);
    qr(4, 6);
    const { code, out, err } = await connecting;
    expect([code, err]).toEqual([0, expect.stringContaining(PAIRING)]);
    expect(out).not.toContain(PAIRING);
    expect(JSON.parse(out)).toMatchObject({
      name: "third",
      state: expect.stringContaining("It is linked (+491708888)"),
    });
  });
});

/** What the holder of a token gets of the route, and whether any word of the code is in it. */
async function seenBy(rights: object): Promise<readonly [status: number, hasCode: boolean]> {
  const body = { name: "reader", ...rights };
  const { token } = (await api(served, "/api/tokens", { method: "POST", body })) as { token: string };
  const response = await fetch(`${served.url}/api/connectors`, { headers: { authorization: `Bearer ${token}` } });
  return [response.status, /rows|pairingCode/u.test(await response.text())];
}
