import { describe, expect, it, test } from "vitest";
import { readDeclarations } from "./api/read-declarations.ts";
import { declarationsOf, ENTRIES, isCurrent } from "./api-pages.ts";

/** Requests that change nothing here, and streams. */
const EXEMPT = ["Rookery.fetch"];
const PARTS =
  /^(?:AgentHandle|Receipt|Rookery|RookeryClient|Agents|Runs|Outbox|Mailbox|Approvals|Schedule|Spawned|Swarms|Budgets|People|Files)$/;

describe("the pages of the API", () => {
  test.each(ENTRIES)("$page is current (else: npm run tool -- api --write)", (entry) => {
    expect(isCurrent(entry)).toBe(true);
  });

  it("document for every promise what is durable when it resolves", () => {
    const [root] = ENTRIES;
    const silent = (root ? declarationsOf(root) : [])
      .filter(({ name }) => PARTS.test(name))
      .flatMap(({ name: part, members }) => {
        // A comment of an overload is that of the method.
        const docs = new Map(members.map(({ name }) => [name, members.filter((one) => one.name === name)]));
        return [...docs].flatMap(([name, same]) => {
          const isPromise = same.some(({ signature }) => /\): Promise</.test(signature));
          const isSaid = same.some(({ doc }) => /durable|changes nothing/i.test(doc));
          return isPromise && !isSaid ? [`${part}.${name}`] : [];
        });
      });
    expect(silent.filter((name) => !EXEMPT.includes(name))).toEqual([]);
  });
});

describe("readDeclarations", () => {
  it("reads comments, members and overloads, and leaves bodies out", () => {
    const found = readDeclarations(`/** A thing. */
export interface Thing {
  /** Its name. */
  readonly name: string;
  readonly size?: {
    readonly x: number;
  };
  /**
   * Does it.
   * Twice.
   */
  run(a: string, b?: { readonly c: number }): Promise<void>;
}

export class Box<T> {
  readonly #secret: T;
  /** One. */
  get(n: string): T;
  get(n: number): T;
  get(n: string | number): T {
    return n as T;
  }
}

/** Makes one. */
export const make = (n: number): Box<number> => {
  return n;
};
export async function wait(
  ms: number,
): Promise<void> {
  await ms;
}
`);
    expect([...found.keys()]).toEqual(["Thing", "Box", "make", "wait"]);
    expect(found.get("Thing")).toMatchObject({
      doc: "A thing.",
      members: [
        { signature: "name: string", doc: "Its name." },
        { signature: "size?: { x: number; }", doc: "" },
        { signature: "run(a: string, b?: { c: number }): Promise<void>", doc: "Does it. Twice." },
      ],
    });
    expect(found.get("Box")?.members.map(({ signature }) => signature)).toEqual([
      "get(n: string): T",
      "get(n: number): T",
    ]);
    expect(found.get("make")).toMatchObject({ signature: "const make = (n: number): Box<number>", doc: "Makes one." });
    expect(found.get("wait")?.signature).toBe("function wait(ms: number): Promise<void>");
  });
});
