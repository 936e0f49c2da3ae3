/** Where `rookery send` gets its text from: the command line or standard input, for the main conversation or for a name. */
import { expect, it } from "vitest";
import { cliHome, runCommand } from "./cli.test-kit.ts";
import { EXIT } from "./exit-code.ts";

const home = cliHome();
const send = (input: string | undefined, ...argv: readonly string[]) =>
  runCommand(["send", ...argv, "--home", home.dir], { input });
const inbox = async (name: string): Promise<readonly { readonly message: { readonly body: unknown } }[]> =>
  JSON.parse((await home.run("agents", "inbox", name, "--json")).out).items;

it("sends piped text as one message to the agent that --to names", async () => {
  const sent = await send("buy milk\nand bread\n", "--to", "shopping", "--receipt");
  expect([sent.code, sent.err]).toEqual([EXIT.ok, ""]);
  const messages = await inbox("agent:main:main:thread:shopping");
  expect(messages).toHaveLength(1);
  expect(JSON.stringify(messages)).toContain(JSON.stringify("buy milk\nand bread").slice(1, -1));
});

it("sends the words of the command line as one text, and reads no standard input then", async () => {
  const sent = await send("not this", "hello", "there", "--to", "shopping", "--receipt");
  expect([sent.code, sent.err]).toEqual([EXIT.ok, ""]);
  const text = JSON.stringify(await inbox("agent:main:main:thread:shopping"));
  expect(text).toContain("hello there");
  expect(text).not.toContain("not this");
});

it("answers each piped line with --lines, in order", async () => {
  const { code, out } = await send("one\ntwo\n", "--lines", "--json");
  expect(code).toBe(EXIT.ok);
  expect(JSON.parse(out).items).toHaveLength(2);
});

it("says what to write if there is neither a text nor standard input", async () => {
  const { code, out, err } = await send(undefined);
  expect([code, out]).toEqual([EXIT.usage, ""]);
  expect(err).toContain("rookery send needs a text.");
});

it.each([["--to", "x"], ["--receipt"], ["--stream"], ["--file", "x"], ["--url", "http://127.0.0.1:1"]])(
  "refuses --lines together with %s",
  async (...flag) => {
    const { code, err } = await send("one\n", "--lines", ...flag);
    expect(code).toBe(EXIT.usage);
    expect(err).toContain("--lines and --user cannot be used with");
  },
);

it("refuses an empty text and one that is too long", async () => {
  expect((await send(" \n", "--to", "x")).err).toContain("The message is empty.");
  expect((await send("x".repeat(1_000_001), "--to", "x")).err).toContain("longer than 1000000 characters");
});
