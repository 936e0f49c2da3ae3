import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import { asked, countTo, lastTo, pass, see, settle } from "./page.test-kit.ts";

const { api } = await import("./api.ts");
const { bump, changes, connection, followServer } = await import("./live.ts");
const { usePaged, useQuery, useSettled } = await import("./query.ts");
const { session } = await import("./session.ts");

const app = document.body;
let shown: unknown[] = [];
afterEach(async () => {
  render(null, app);
  shown = [];
  await settle();
});

interface One {
  readonly name: string;
}

function View({ id, pollMs }: { id: string; pollMs?: number }) {
  const { data, error, isLoading } = useQuery((signal) => api.get<One>(`/api/${id}`, {}, signal), { key: id, pollMs });
  shown.push([data?.name, error instanceof Error ? error.message : undefined, isLoading]);
  return null;
}

async function draw(id: string, pollMs?: number): Promise<void> {
  render(<View id={id} pollMs={pollMs} />, app);
  await pass(40);
}

const change = async (): Promise<void> => {
  changes.value += 1;
  await pass(40);
};

describe("a query", () => {
  it("keeps the data on the screen while it reads again", async () => {
    await draw("a");
    expect(shown.at(-1)).toEqual([undefined, undefined, true]);
    await lastTo("/api/a").answer({ name: "first" });
    await pass(40);
    await change();
    expect(shown.at(-1)).toEqual(["first", undefined, false]);
    await lastTo("/api/a").answer({ name: "second" });
    await pass(40);
    expect(shown.at(-1)).toEqual(["second", undefined, false]);
  });

  it("shows an answer that is slower than the changes, and reads once more after it", async () => {
    await draw("a");
    for (let n = 0; n < 10; n++) await change();
    expect(countTo("/api/a")).toBe(1);
    expect(lastTo("/api/a").isAborted).toBe(false);
    await lastTo("/api/a").answer({ name: "old" });
    await pass(40);
    expect(shown.at(-1)).toEqual(["old", undefined, false]);
    expect(countTo("/api/a")).toBe(2);
    await lastTo("/api/a").answer({ name: "new" });
    await pass(40);
    expect([shown.at(-1), countTo("/api/a")]).toEqual([["new", undefined, false], 2]);
  });

  it("gives up a read that gets no answer when something changes later", async () => {
    await draw("a");
    const [first] = asked;
    await pass(20_000);
    await change();
    expect([first?.isAborted, countTo("/api/a")]).toEqual([true, 2]);
    await first?.answer({ name: "too late" });
    await lastTo("/api/a").answer({ name: "now" });
    await pass(40);
    expect(shown.at(-1)).toEqual(["now", undefined, false]);
  });

  it("never shows the data of another key", async () => {
    await draw("a");
    const [first] = asked;
    await draw("b");
    expect(first?.isAborted).toBe(true);
    await lastTo("/api/b").answer({ name: "b" });
    await first?.answer({ name: "a" });
    await pass(40);
    expect(shown.at(-1)).toEqual(["b", undefined, false]);
    await draw("c");
    expect(shown.at(-1)).toEqual([undefined, undefined, true]);
  });

  it("says what is wrong, and shows the data when it is back", async () => {
    await draw("a");
    await lastTo("/api/a").refuse(403, "denied", "Not yours.");
    await pass(40);
    expect(shown.at(-1)).toEqual([undefined, "Not yours.", false]);
    await change();
    await lastTo("/api/a").answer({ name: "back" });
    await pass(40);
    expect(shown.at(-1)).toEqual(["back", undefined, false]);
  });

  it("ends the session if the login has ended", async () => {
    const me = { person: null, name: "", isOwner: true, scopes: [], login: null, version: "", timeZone: null };
    session.value = { state: "in", me };
    await draw("a");
    await lastTo("/api/a").refuse(401, "unauthorized");
    expect(session.value).toMatchObject({ state: "out", problem: expect.stringContaining("Sign in again") });
  });

  it("polls while the tab is visible, and not after it is gone", async () => {
    await draw("a", 4_000);
    await lastTo("/api/a").answer({ name: "a" });
    await pass(4_100);
    expect(countTo("/api/a")).toBe(2);
    await lastTo("/api/a").answer({ name: "a" });
    see("hidden");
    await pass(60_000);
    const before = countTo("/api/a");
    expect(before).toBeLessThanOrEqual(4);
    see("visible");
    render(null, app);
    await pass(60_000);
    expect(countTo("/api/a")).toBe(before);
  });
});

function List({ q }: { q: string }) {
  const list = usePaged<number>((limit, cursor, signal) => api.get("/api/list", { q, limit, cursor }, signal), {
    key: q,
  });
  shown.push([list.data, list.hasMore]);
  more = list.more;
  return null;
}
let more = (): void => undefined;

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);

describe("a list by pages", () => {
  it("grows by a page, reads all its pages again, and starts with one page for another search", async () => {
    render(<List q="x" />, app);
    await pass(40);
    await lastTo("/api/list").answer({ items: numbers(0, 50), next: 50 });
    await pass(40);
    expect(shown.at(-1)).toEqual([numbers(0, 50), true]);
    more();
    await pass(40);
    expect(lastTo("/api/list").query.get("limit")).toBe("100");
    await lastTo("/api/list").answer({ items: numbers(0, 60), next: 60 });
    expect(Object.fromEntries(lastTo("/api/list").query)).toEqual({ q: "x", limit: "40", cursor: "60" });
    await lastTo("/api/list").answer({ items: [60], next: null });
    await pass(40);
    expect(shown.at(-1)).toEqual([numbers(0, 61), false]);
    render(<List q="y" />, app);
    await pass(40);
    expect(Object.fromEntries(lastTo("/api/list").query)).toEqual({ q: "y", limit: "50" });
  });
});

describe("a search", () => {
  it("asks when a person stops typing", async () => {
    const Search = ({ q }: { q: string }) => {
      shown.push(useSettled(q));
      return null;
    };
    for (const q of ["f", "fi", "fic"]) {
      render(<Search q={q} />, app);
      await pass(100);
    }
    expect(shown.at(-1)).toBe("f");
    await pass(300);
    expect(shown.at(-1)).toBe("fic");
    expect(shown).not.toContain("fi");
  });
});

describe("the connection", () => {
  it("is shown, continues after the last event, and makes views read again when it is back", async () => {
    const stop = followServer();
    const stream = await lastTo("/api/events").stream();
    expect(connection.value).toBe("live");
    await pass(1_000);
    const before = changes.value;
    await stream.send(["start", {}, "5"], ["end", {}, "6"]);
    await pass(1_000);
    expect(changes.value).toBe(before + 1);
    await stream.cut();
    expect(connection.value).toBe("lost");
    for (let n = 0; n < 3; n++) {
      await pass(5_000);
      await lastTo("/api/events").lose();
    }
    await pass(5_000);
    expect(lastTo("/api/events").headers.get("last-event-id")).toBe("6");
    const missed = changes.value;
    await lastTo("/api/events").stream();
    await pass(1_000);
    expect([connection.value, changes.value]).toEqual(["live", missed + 1]);
    stop();
    expect(lastTo("/api/events").isAborted).toBe(true);
    await pass(10_000);
    expect(connection.value).toBe("live");
  });

  it("is paused while the tab is hidden, and asks for nothing", async () => {
    const stop = followServer();
    await lastTo("/api/events").stream();
    see("hidden");
    await pass(6_000);
    expect(connection.value).toBe("paused");
    const before = asked.length;
    await pass(60_000);
    expect(asked).toHaveLength(before);
    see("visible");
    await lastTo("/api/events").stream();
    expect(connection.value).toBe("live");
    stop();
  });

  it("shows many changes as few", async () => {
    await pass(1_000);
    const before = changes.value;
    for (let n = 0; n < 100; n++) {
      bump();
      await pass(10);
    }
    await pass(1_000);
    expect(changes.value - before).toBeGreaterThanOrEqual(3);
    expect(changes.value - before).toBeLessThanOrEqual(5);
  });
});
