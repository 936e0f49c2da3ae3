/** The owner's mailbox: it is a route from the moment it is first opened, and what had no route is in it at once (M26). */
import { expect, it } from "vitest";
import { TestEngine } from "../../../test/kit/engine.ts";
import { apiMailbox, OWNER_MAILBOXES, personAddress } from "../../core/delivery/route.ts";
import { OWNER_READS } from "../runtime/people.ts";

/** Ann's agent says something to the owner, who can be reached nowhere. */
async function toldOwner(): Promise<TestEngine> {
  const engine = await TestEngine.open();
  await engine.tell("hello", { delivery: personAddress("owner") });
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
  return engine;
}
const page = async (engine: TestEngine, mailbox = OWNER_MAILBOXES) =>
  (await engine.system.deliveries.mailboxes.page(mailbox)).items.map(({ payload }) => payload.text);

it("has what waited for a route on the first page that is read", async () => {
  const engine = await toldOwner();
  expect(await page(engine)).toEqual(["answer to hello"]);
  expect(await engine.store.fact(OWNER_READS)).toBe("1");
});

it("is opened once, however often it is read", async () => {
  const engine = await toldOwner();
  await Promise.all([page(engine), page(engine)]);
  await page(engine);
  expect(engine.commits.filter(({ site }) => site === "mailbox.open")).toHaveLength(1);
  await engine.restart();
  expect(await page(engine)).toEqual(["answer to hello"]);
  expect(engine.commits.filter(({ site }) => site === "mailbox.open")).toHaveLength(1);
});

it("is not opened by someone who reads another one", async () => {
  const engine = await toldOwner();
  expect(await page(engine, [apiMailbox("ann")])).toEqual([]);
  expect(await engine.store.fact(OWNER_READS)).toBeUndefined();
  expect((await engine.deliveries())[0]).toMatchObject({ state: "unroutable" });
});

it("is opened by the next reader if the first could not", async () => {
  const engine = await toldOwner();
  let failed = 0;
  engine.onCommit = ({ site }) => (site === "mailbox.open" && failed++ === 0 ? "full" : "go");
  await expect(page(engine)).rejects.toThrow();
  expect(await page(engine)).toEqual(["answer to hello"]);
});
